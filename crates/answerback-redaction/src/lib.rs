#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod control_chars;
mod invisible;
mod lookahead;
mod name;
mod pairs;
mod public;
mod randomness;
mod redact;
mod scan;
mod secret;
mod secret_search;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
mod token_formats;
mod value;

#[cfg(test)]
mod linearity;
#[cfg(test)]
mod tests;

pub use control_chars::{is_blank, is_control_or_format};
pub use name::kind_of_name;
pub use pairs::{Elements, Siblings};
pub use redact::{marks, redact, redact_cut, redact_member, redact_pointer, redact_value};
#[doc(hidden)]
pub use scan::steps_to_search;
pub use scan::{find, find_cut};
pub use secret::{SecretKind, SecretSpan, can_hold_a_secret};
pub use secret_search::{holds_secret, text_holds_secret};
