//! A model's call: heard, then judged against the tool's schema.
//!
//! [`hear`] and [`parse()`] turn the model's text into arguments, or name the mistake in it. [`Schema`] is
//! compiled once, [`check()`] lists everything that is wrong with one call. Whether the call is valid is the
//! validator's word (the `jsonschema` crate); which branch of a union was meant, which names are unknown and
//! what is secret is read from an outline of the schema.

mod check;
mod documents;
mod effort;
mod expected;
mod formats;
mod keywords;
mod omission;
mod outline;
mod pattern_guard;
mod patterns;
mod schema;
mod shown;
mod types;
mod union;
mod unknown;
mod usable;
mod wording;

pub use check::{Options, check, misfit};
pub use documents::Documents;
pub(crate) use expected::permitted_by_not;
pub use formats::FormatMode;
pub(crate) use omission::says_nothing;
pub(crate) use outline::calls_secrets;
pub use schema::{Schema, SchemaError, SchemaErrorKind, Schemas};
pub(crate) use shown::shown;
pub(crate) use types::Types;
pub use usable::SchemaProblem;
pub(crate) use usable::has_check;
