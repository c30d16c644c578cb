//! Parses an entry of the log from its exact bytes.
//!
//! One pass over the leaf checks its form and records the position of each value. It copies no
//! value.

mod commitments;
mod kind;
mod member;
mod parsed_leaf;
mod span;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use kind::EntryKind;
pub(crate) use member::LeafMember;
pub(crate) use parsed_leaf::ParsedLeaf;
