//! The keys of a log: the signing key, the file that stores it, and the public key that verifies its
//! signatures.

mod error;
mod key_file;
mod private_file;
mod signing_key;
mod verifier_key;

pub use error::KeyError;
pub use key_file::KeyFile;
pub use private_file::PrivateFile;
pub use signing_key::SigningKey;
pub use verifier_key::{VerifierKey, VerifierKeyError};
pub(crate) use verifier_key::{is_name, key_id, read_key, write_key};
