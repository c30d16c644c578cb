//! A tamper-evident log in formats that others can verify: an RFC 6962 tree over small canonical
//! [leaves](leaf). [Checkpoints](checkpoint) and [receipts](receipt) use the C2SP formats. The
//! [key] and the [anchor] are files that an operator stores outside the log.
//!
//! This crate does not depend on a database. The store holds the rows and asks this crate for their
//! content. The tree reads hashes back through [`tree::HashReader`]. Callers pass in time and
//! randomness. The crate accesses only the files of keys and of the anchor.
//!
//! `docs/reference/ledger-format.md` specifies the format. `answerback-verify` reads the same format and
//! shares no code with this crate's tree.
#![warn(missing_docs)]

pub mod anchor;
mod base64;
pub mod checkpoint;
pub mod cosignature;
mod durable;
pub mod hash;
pub mod key;
pub mod leaf;
pub mod note;
pub mod part;
pub mod receipt;
pub mod tile;
pub mod token;
pub mod tree;

pub use anchor::{Anchor, FileAnchor};
pub use checkpoint::Checkpoint;
pub use cosignature::WitnessKey;
pub use hash::Hash;
pub use key::{KeyFile, PrivateFile, SigningKey, VerifierKey};
pub use leaf::{Draft, Leaf, LeafId, LeafKind};
pub use note::Note;
pub use part::{Part, Salt};
pub use receipt::Receipt;
pub use token::LeafToken;
