#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod canonical;
mod depth;
mod digest;
mod hex;
mod id;
mod limits;
mod locate;
pub mod patch;
mod pointer;
pub mod time;
mod value_path;

pub use canonical::{canonical, write_canonical, write_string};
pub use depth::{MAX_OUTPUT_DEPTH, is_deeper_than, is_readable_output};
pub use digest::{Digest, DigestError};
pub use hex::{Hex, UuidText, read_hex};
pub use id::{UuidError, UuidV4, UuidV7};
pub use limits::Limits;
pub use locate::{TextPosition, locate};
pub use pointer::{Pointer, below, find, push_token, unescape};
pub use time::Timestamp;
pub use value_path::ValuePath;
