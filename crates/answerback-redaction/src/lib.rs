#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod control_chars;
mod invisible;
mod lookahead;
mod makes;
mod name;
mod pairs;
mod public;
mod randomness;
mod redact;
mod scan;
mod secret;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
mod value;
mod walk;

#[cfg(test)]
mod linearity;
#[cfg(test)]
mod tests;

pub use control_chars::{is_blank, is_control_character};
pub use name::kind_of_name;
pub use pairs::{Elements, Siblings};
pub use redact::{marks, redact, redact_cut, redact_member, redact_pointer, redact_value};
#[doc(hidden)]
pub use scan::steps_to_search;
pub use scan::{find, find_cut};
pub use secret::{Secret, SecretKind, can_hold_a_secret};
pub use walk::{holds_secret, text_holds_secret};
