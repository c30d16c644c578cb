//! Builds the `OpenAPI` 3.1 description of the HTTP API.

mod document;
mod operations;
mod parameters;

pub use document::document;
