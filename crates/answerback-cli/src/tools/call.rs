use answerback::call::SchemaError;
use answerback::contract::Invalid;
use answerback::{UuidV4, ValidationError};
use serde_json::Value;

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BuiltinCall {
    /// The tool's name, such as `solution_info`.
    pub(crate) tool: String,
    /// The arguments.
    pub(crate) arguments: Value,
    /// The id that links the answer to related operations.
    pub(crate) correlation_id: Option<UuidV4>,
}

impl BuiltinCall {
    /// Creates a call with these arguments.
    pub(crate) fn new(tool: impl Into<String>, arguments: impl Into<Value>) -> Self {
        Self { tool: tool.into(), arguments: arguments.into(), correlation_id: None }
    }

    /// Sets the id that a tool envelope includes in its audit.
    #[must_use]
    pub(crate) fn with_correlation_id(mut self, id: Option<UuidV4>) -> Self {
        self.correlation_id = id;
        self
    }
}

/// The reason why a call has no answer. A tool that fails still answers, with an error in its contract.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BuiltinCallError {
    /// The tool does not exist. The finding suggests the nearest name.
    #[error("{}", .0.message)]
    UnknownTool(Box<ValidationError>),
    /// One of our schemas cannot be compiled.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The arguments match their schema but cannot be deserialized.
    #[error("the arguments could not be read")]
    Arguments(#[from] serde_json::Error),
    /// Our answer does not meet its contract.
    #[error("the answer does not meet its contract")]
    ToolReply(#[from] Invalid),
}
