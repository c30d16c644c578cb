//! Checks a `format` by its RFC, or by what common parsers accept.
//!
//! JSON Schema 2020-12 treats `format` as an annotation, and most servers accept more than the RFC of a format
//! permits: a date-time without a time zone, a URL with unescaped letters, a UUID without hyphens. A call with such a
//! value runs on those servers, so rejecting it would be wrong; it gets a warning instead. Only values that no common
//! parser accepts are errors.

mod addresses;
mod dates;
mod mode;
mod readable;
#[cfg(test)]
mod tests;

pub use mode::FormatMode;
pub(super) use readable::{difference, is_readable, with_readable_formats};
