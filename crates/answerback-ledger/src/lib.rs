//! A tamper-evident log in formats that others can verify: an RFC 6962 tree over small canonical
//! [leaves](leaf), [checkpoints](checkpoint) and [receipts](receipt) in the C2SP forms, and what an
//! operator keeps outside the log: the [key] and the [anchor].
//!
//! Nothing here knows a database. The store keeps rows and asks this crate what to write into them;
//! the tree reads hashes back through [`tree::HashReader`]. Time and randomness are handed in. The only
//! files it touches are those of keys and the anchor.
//!
//! The format is written down in `docs/ledger-format.md`. `answerback-verify` reads the same format
//! and shares no code of the tree with this crate.
#![warn(missing_docs)]

pub mod anchor;
mod base64;
pub mod checkpoint;
pub mod commitment;
pub mod cosignature;
mod durable;
pub mod hash;
pub mod key;
pub mod leaf;
pub mod note;
mod private_file;
pub mod receipt;
pub mod tile;
pub mod tree;

pub use anchor::{Anchor, FileAnchor};
pub use checkpoint::Checkpoint;
pub use commitment::{Part, Salt};
pub use cosignature::WitnessKey;
pub use hash::Hash;
pub use key::{KeyFile, SigningKey};
pub use leaf::{Draft, Id, Kind, Leaf, Token};
pub use note::{Note, VerifierKey};
pub use private_file::PrivateFile;
pub use receipt::Receipt;
