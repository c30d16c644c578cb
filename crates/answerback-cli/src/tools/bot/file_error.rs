//! Defines the reasons why a file could not be used.

use std::io::{self, ErrorKind};

use answerback::contract::tool::ErrorObject;

use crate::tools::issue::code;

/// A file that could not be used, by its path relative to the solution.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct BotFileError {
    pub(crate) path: String,
    pub(crate) kind: BotFileErrorKind,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum BotFileErrorKind {
    /// The file does not exist.
    Missing,
    /// The path, or a link in it, leads out of the solution.
    Outside,
    /// The operating system denies access.
    Denied,
    /// The path is a folder, a pipe or a device.
    NotAFile,
    /// The file is larger than the limit.
    TooLarge { limit: u64 },
    /// The content or the name is not UTF-8.
    NotText,
    /// Another process holds the lock.
    Busy,
    /// Any other error of the operating system.
    Failed(ErrorKind),
}

impl BotFileErrorKind {
    pub(crate) fn at(self, path: impl Into<String>) -> BotFileError {
        BotFileError { path: path.into(), kind: self }
    }
}

impl BotFileError {
    pub(crate) fn of(error: &io::Error, path: impl Into<String>) -> Self {
        let kind = match error.kind() {
            ErrorKind::NotFound => BotFileErrorKind::Missing,
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => BotFileErrorKind::Denied,
            kind => BotFileErrorKind::Failed(kind),
        };
        kind.at(path)
    }

    pub(crate) fn is_missing(&self) -> bool {
        self.kind == BotFileErrorKind::Missing
    }

    /// Converts the failure to an error object with a code of the catalogue.
    pub(crate) fn issue(&self) -> ErrorObject {
        let (code, message) = match &self.kind {
            BotFileErrorKind::Missing => (code::IO_ERROR, "The file does not exist".to_owned()),
            BotFileErrorKind::Outside => (
                code::UNAUTHORIZED_OPERATION,
                "The path leads out of the solution's folder and is not followed".to_owned(),
            ),
            BotFileErrorKind::Denied => (
                code::UNAUTHORIZED_OPERATION,
                "The system does not permit access to the file".to_owned(),
            ),
            BotFileErrorKind::NotAFile => {
                (code::IO_ERROR, "This is not an ordinary file".to_owned())
            }
            BotFileErrorKind::TooLarge { limit } => {
                (code::IO_ERROR, format!("The file has more than {limit} bytes and is not read"))
            }
            BotFileErrorKind::NotText => (code::IO_ERROR, "The file is not UTF-8 text".to_owned()),
            BotFileErrorKind::Busy => (
                code::IO_ERROR,
                "Another process is changing the file; try again in a moment".to_owned(),
            ),
            BotFileErrorKind::Failed(kind) => {
                (code::IO_ERROR, format!("The file system failed: {kind}"))
            }
        };
        let issue = ErrorObject::new(code, message).with_path(&*self.path);
        match self.kind {
            BotFileErrorKind::TooLarge { limit } => issue.with_detail("limit_bytes", limit),
            _ => issue,
        }
    }
}
