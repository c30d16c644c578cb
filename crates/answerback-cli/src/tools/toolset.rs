use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use answerback::ValidationError;
use answerback::call::check;
use answerback::contract::atdf::{EnrichSource, enrich};
use answerback::message;
use serde_json::Value;

use crate::tools::bot::folder::SolutionRoot;
use crate::tools::call::{BuiltinCall, BuiltinCallError};
use crate::tools::definition::BuiltinToolDefinition;
use crate::tools::environment::ToolEnvironment;
use crate::tools::solution::{SolutionTool, ToolRun};
use crate::tools::tool_reply::ToolReply;
use crate::tools::validators::Validator;

/// The tools for one folder.
#[derive(Debug)]
pub(crate) struct Toolset {
    root: SolutionRoot,
    environment: ToolEnvironment,
    offered: Vec<(ToolId, BuiltinToolDefinition)>,
    /// Makes the writers of this process take turns, even on file systems without locks.
    writing: Mutex<()>,
}

/// Identifies one of the tools.
#[derive(Clone, Copy, Debug)]
enum ToolId {
    Validator(Validator),
    Solution(SolutionTool),
}

impl ToolId {
    const ALL: [Self; 8] = [
        Self::Validator(Validator::DateRange),
        Self::Validator(Validator::Email),
        Self::Validator(Validator::PasswordStrength),
        Self::Solution(SolutionTool::Info),
        Self::Solution(SolutionTool::Structure),
        Self::Solution(SolutionTool::StandardsList),
        Self::Solution(SolutionTool::ProjectRegister),
        Self::Solution(SolutionTool::HealthCheck),
    ];

    fn definition(self) -> BuiltinToolDefinition {
        match self {
            Self::Validator(validator) => validator.definition(),
            Self::Solution(tool) => tool.definition(),
        }
    }
}

impl Toolset {
    /// Creates the tools for the solution at or above a folder. Every call searches for the solution again, so one that
    /// is created later is found.
    pub(crate) fn new(root: SolutionRoot, environment: ToolEnvironment) -> Self {
        let offered = ToolId::ALL.map(|which| (which, which.definition())).into();
        Self { root, environment, offered, writing: Mutex::new(()) }
    }

    /// Returns the definitions of the tools.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = &BuiltinToolDefinition> {
        self.offered.iter().map(|(_, definition)| definition)
    }

    /// Calls a tool. If the arguments break the tool's schema, the answer is an error in the tool's contract.
    ///
    /// # Errors
    ///
    /// If the tool does not exist, or if an internal step fails. A tool that fails still returns an [`ToolReply`].
    pub(crate) fn call(&self, call: &BuiltinCall) -> Result<ToolReply, BuiltinCallError> {
        let found = self.offered.iter().find(|(_, definition)| definition.name == call.tool);
        let Some((which, definition)) = found else {
            return Err(BuiltinCallError::UnknownTool(Box::new(self.unknown(call))));
        };
        let run = ToolRun::start(&self.environment, call.correlation_id.as_ref());
        let schema = definition.schema()?;
        let arguments = match which {
            ToolId::Validator(validator) => validator.repeatable(&call.arguments),
            ToolId::Solution(_) => Cow::Borrowed(&call.arguments),
        };
        let findings = check(schema, &arguments, ())?;
        // In both contracts the library provides the message, the expectations and the examples.
        let source = EnrichSource::Call { schema: schema.source(), arguments: &arguments };
        let refusal = enrich(&findings, &source, self.environment.now());
        match (which, refusal) {
            (ToolId::Validator(_), Some(refusal)) => Ok(refusal.into()),
            (ToolId::Validator(validator), None) => {
                Ok(validator.run(&arguments, self.environment.now())?.into())
            }
            (ToolId::Solution(tool), Some(refusal)) => Ok(tool.refused(&refusal, &run)?.into()),
            (ToolId::Solution(tool), None) => {
                let _turn = tool.writes().then(|| {
                    // A poisoned lock is safe to use, because files are replaced atomically.
                    self.writing.lock().unwrap_or_else(PoisonError::into_inner)
                });
                Ok(tool.run(&arguments, &self.root, &run)?.into())
            }
        }
    }

    fn unknown(&self, call: &BuiltinCall) -> ValidationError {
        let schemas: Vec<(&str, Value)> = self
            .definitions()
            .map(|definition| (definition.name, Value::Object(definition.input_schema.clone())))
            .collect();
        let tools: Vec<message::CandidateTool<'_>> =
            schemas.iter().map(|(name, schema)| message::CandidateTool { name, schema }).collect();
        message::unknown_tool(&call.tool, &call.arguments, &tools)
    }
}
