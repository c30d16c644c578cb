use answerback::call::SchemaError;
use answerback::contract::Invalid;
use answerback::{UuidV4, ValidationError};
use serde_json::Value;

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Call {
    /// The tool's name, such as `solution_info`.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
    /// What links the answer to related operations.
    pub correlation_id: Option<UuidV4>,
}

impl Call {
    /// A call with these arguments.
    pub fn new(tool: impl Into<String>, arguments: impl Into<Value>) -> Self {
        Self { tool: tool.into(), arguments: arguments.into(), correlation_id: None }
    }

    /// Sets the id that a tool envelope carries in its audit.
    #[must_use]
    pub fn with_correlation_id(mut self, id: Option<UuidV4>) -> Self {
        self.correlation_id = id;
        self
    }
}

/// Why there is no answer. A tool that fails answers, with an error in its contract; this is not that.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// There is no such tool; the finding names the nearest.
    #[error("{}", .0.message)]
    UnknownTool(Box<ValidationError>),
    /// A schema of ours cannot be used.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Arguments that met their schema could not be read.
    #[error("the arguments could not be read")]
    Arguments(#[from] serde_json::Error),
    /// An answer of ours does not meet its contract.
    #[error("the answer does not meet its contract")]
    Answer(#[from] Invalid),
}
