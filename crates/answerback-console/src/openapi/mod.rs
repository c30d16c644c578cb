//! The description of the HTTP API, `OpenAPI` 3.1.

mod document;
mod operations;
mod parameters;

pub use document::document;
