//! Parses a model's tool call and checks it against the tool's schema.
//!
//! [`answerback_parse::parse_arguments()`] and [`answerback_parse::parse()`] turn the model's text into arguments, or name the mistake in it. [`Schema`] is compiled
//! once; [`check()`] lists all findings for one call. The `jsonschema` crate decides if a call is valid. The intended
//! branch of a union, unknown names and secret values are found with an outline of the schema.

mod argument_preview;
mod bounded;
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
mod schema_cache;
mod schema_error;
mod types;
mod union;
mod unknown;
mod usable;
mod wording;

pub(crate) use argument_preview::preview_argument;
pub use check::{CheckOptions, check, misfit};
pub use documents::Documents;
pub(crate) use expected::permitted_by_not;
pub use formats::FormatMode;
pub(crate) use omission::says_nothing;
pub(crate) use outline::calls_secrets;
pub use schema::Schema;
pub use schema_cache::Schemas;
pub use schema_error::{SchemaError, SchemaErrorKind};
pub(crate) use types::Types;
pub use usable::SchemaProblem;
pub(crate) use usable::has_check;
