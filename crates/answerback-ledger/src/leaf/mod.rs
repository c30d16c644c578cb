//! The leaf: what an entry of the log says, in at most 8,192 bytes, without content and free text.
//!
//! A [`Draft`] is what a caller knows; the ledger adds the time, and the index of the request that a
//! response answers, and seals it to a [`Leaf`]. `member` is the one table of what may stand in it.

mod draft;
mod id;
mod kind;
mod member;
mod sealed;
mod token;

pub use draft::{Attestation, Basis, Draft, Outcome, Subject};
pub use id::{Id, IdError};
pub use kind::{Kind, KindError};
pub use member::{LARGEST_NUMBER, LeafError, time_of};
pub use sealed::{Commitment, LARGEST_LEAF, Leaf};
pub use token::{Token, TokenError};
