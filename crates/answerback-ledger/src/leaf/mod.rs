//! The leaf: the canonical JSON of one log entry, in at most 8,192 bytes, without content or free
//! text.
//!
//! A caller fills a [`Draft`]. The ledger adds the time, and for a response the index of its
//! request, and seals it to a [`Leaf`]. The one table in `member` defines which members a leaf may
//! contain.

mod draft;
mod id;
mod kind;
mod member;
mod sealed;

pub use draft::{Basis, ClaimedFlags, Draft, GovernanceVerdict, Subject};
pub use id::{LeafId, LeafIdError};
pub use kind::{LeafKind, LeafKindError};
pub use member::{LARGEST_NUMBER, LeafError, time_of};
pub use sealed::{Commitment, LARGEST_LEAF, Leaf};
