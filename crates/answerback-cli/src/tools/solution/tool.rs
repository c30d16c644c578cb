//! Lists the tools for solutions, with their shared behavior: rejected arguments and missing solutions.

use answerback::contract::Invalid;
use answerback::contract::atdf::EnrichedResponse;
use answerback::contract::tool::{EnvelopeResponse, ErrorObject, Intent};
use serde_json::Value;

use super::{
    EnvelopeDraft, ToolRun, health_check, info, project_register, standards_list, structure,
};
use crate::tools::bot::folder::{BotFolder, SolutionRoot};
use crate::tools::call::BuiltinCallError;
use crate::tools::definition::BuiltinToolDefinition;
use crate::tools::issue::code;

/// A tool for a solution.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SolutionTool {
    Info,
    Structure,
    StandardsList,
    ProjectRegister,
    HealthCheck,
}

impl SolutionTool {
    /// Returns the tool's name in envelopes.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Info => "solution.info",
            Self::Structure => "solution.structure",
            Self::StandardsList => "solution.standards.list",
            Self::ProjectRegister => "solution.project.register",
            Self::HealthCheck => "solution.health.check",
        }
    }

    /// Returns the source file, for the envelope's `source`.
    const fn source(self) -> &'static str {
        match self {
            Self::Info => "answerback-cli/src/tools/solution/info.rs",
            Self::Structure => "answerback-cli/src/tools/solution/structure.rs",
            Self::StandardsList => "answerback-cli/src/tools/solution/standards_list.rs",
            Self::ProjectRegister => "answerback-cli/src/tools/solution/project_register.rs",
            Self::HealthCheck => "answerback-cli/src/tools/solution/health_check.rs",
        }
    }

    /// Returns the tool's purpose, for the message "Failed to …".
    pub(super) const fn aim(self) -> &'static str {
        match self {
            Self::Info => "retrieve solution info",
            Self::Structure => "read the solution's structure",
            Self::StandardsList => "list the standards",
            Self::ProjectRegister => "register project",
            Self::HealthCheck => "check the solution",
        }
    }

    pub(crate) fn definition(self) -> BuiltinToolDefinition {
        match self {
            Self::Info => info::definition(),
            Self::Structure => structure::definition(),
            Self::StandardsList => standards_list::definition(),
            Self::ProjectRegister => project_register::definition(),
            Self::HealthCheck => health_check::definition(),
        }
    }

    /// True if the tool changes the folder.
    pub(crate) const fn writes(self) -> bool {
        matches!(self, Self::ProjectRegister)
    }

    /// Answers a call whose arguments match their schema.
    pub(crate) fn run(
        self,
        arguments: &Value,
        root: &SolutionRoot,
        run: &ToolRun<'_>,
    ) -> Result<EnvelopeResponse, BuiltinCallError> {
        let draft = match BotFolder::find(root) {
            Ok(Some(folder)) => match self {
                Self::Info => info::run(arguments, &folder)?,
                Self::Structure => structure::run(arguments, &folder)?,
                Self::StandardsList => standards_list::run(arguments, &folder)?,
                Self::ProjectRegister => project_register::run(arguments, &folder, run)?,
                Self::HealthCheck => health_check::run(arguments, &folder)?,
            },
            Ok(None) => {
                let message = "There is no .bot folder where the server looks for it; start the server in the \
                               solution, or name the solution's folder with --root";
                let error = ErrorObject::new(code::DOTBOT_NOT_FOUND, message);
                EnvelopeDraft::failed(
                    format!("Failed to {}: not in a dotbot solution.", self.aim()),
                    error,
                )
            }
            Err(trouble) => {
                let summary = format!("Failed to {}: the .bot folder cannot be used.", self.aim());
                EnvelopeDraft::failed(summary, trouble.issue())
            }
        };
        Ok(run.finish(self.name(), self.source(), draft)?)
    }

    /// Answers a call whose arguments break their schema, based on the ATDF error.
    pub(crate) fn refused(
        self,
        refusal: &EnrichedResponse,
        run: &ToolRun<'_>,
    ) -> Result<EnvelopeResponse, Invalid> {
        let document = refusal.to_document();
        let mut error = ErrorObject::new(code::INVALID_PARAMETER, refusal.message());
        if let Some(Value::Object(details)) = document.pointer("/data/details") {
            error.details.clone_from(details);
        }
        let summary = format!("Failed to {}: the arguments are not valid.", self.aim());
        let reason = "Call it again with the arguments put right, as details.solution says.";
        let draft =
            EnvelopeDraft::failed(summary, error).with_intent(Intent::new(self.name(), reason));
        run.finish(self.name(), self.source(), draft)
    }
}
