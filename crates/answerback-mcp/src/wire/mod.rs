//! JSON-RPC as bytes: what we do not have to change crosses as it came.

mod id;
mod line;
mod message;
mod object;

pub use id::Id;
pub use line::{Line, LineReader};
pub use message::{Message, MessageError, Shape};
pub use object::{Object, ObjectError};

/// Errors of the protocol that we answer with.
pub mod code {
    /// Not JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// JSON, but no message that we can take.
    pub const INVALID_REQUEST: i32 = -32600;
    /// The parameters of a request are wrong; also: no tool has this name.
    pub const INVALID_PARAMS: i32 = -32602;
    /// The server failed.
    pub const INTERNAL_ERROR: i32 = -32603;
}
