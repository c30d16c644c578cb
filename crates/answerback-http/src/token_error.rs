use std::path::PathBuf;

use crate::PrivateFileError;

/// The error for a text that is not a token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not a token: ab_ and 43 characters of base64url")]
pub struct InvalidToken;

/// The error for an operating system that provides no random bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the operating system provides no random bytes, so no token can be created")]
pub struct NoRandomness;

/// The reason why a table of tokens cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenSourceError {
    /// The file cannot be used, or others can read or write it.
    #[error(transparent)]
    File(#[from] PrivateFileError),
    /// The file does not exist.
    #[error("the file {} does not exist", .0.display())]
    FileNotFound(PathBuf),
    /// The file contains no token.
    #[error("{} does not contain a token", .path.display())]
    Content {
        /// The path of the file.
        path: PathBuf,
        /// The parse error, which describes the form of a token.
        source: InvalidToken,
    },
    /// The environment variable is not set.
    #[error("the environment variable {0} is not set")]
    VariableNotSet(String),
    /// The environment variable contains no token.
    #[error("the environment variable {variable} does not contain a token")]
    Variable {
        /// The name of the variable.
        variable: String,
        /// The parse error, which describes the form of a token.
        source: InvalidToken,
    },
    /// Two tokens have the same name.
    #[error("two tokens have the name {0}; give each its own")]
    DuplicateName(String),
    /// Two names have the same token.
    #[error("{0} and {1} have the same token; create a separate one for each")]
    DuplicateToken(String, String),
    /// The operating system provides no random bytes.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}
