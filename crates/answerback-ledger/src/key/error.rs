use std::io;
use std::path::PathBuf;

/// Explains why a key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is not a key.
    #[error("not a key PRIVATE+KEY+NAME+ID+SECRET of type Ed25519")]
    Form,
    /// The file does not contain a key.
    #[error("{} holds no key PRIVATE+KEY+NAME+ID+SECRET of type Ed25519", .0.display())]
    NotAKey(PathBuf),
    /// Other users can read the file.
    #[error("others can read the key {path}; change it with: chmod 600 {path}", path = .0.display())]
    OpenToOthers(PathBuf),
    /// The log is signed by another key.
    #[error("the log is signed by {named}, and {} holds another key; put that key there", .path.display())]
    Other {
        /// The path of the key file.
        path: PathBuf,
        /// The public key that the log names.
        named: String,
    },
    /// The log has a key, but the key file is missing.
    #[error("the log is signed by {named}, and there is no key file {}; restore it from a backup", .path.display())]
    Missing {
        /// The path of the key file.
        path: PathBuf,
        /// The public key that the log names.
        named: String,
    },
    /// The file cannot be read or written.
    #[error("the key file {} cannot be used", .path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
}
