//! JSON-RPC as bytes: what we do not have to change crosses as it came.

mod batch;
mod id;
mod line;
mod message;
mod object;
mod reserved;
mod scan;
pub mod splice;
pub mod word;

pub use batch::Messages;
pub use id::Id;
pub use line::{LineReader, WireLine};
pub use message::{Message, MessageError, Shape};
pub use object::{Object, ObjectError};
pub use reserved::RESERVED_PREFIX;

/// The revision that begins the stateless era.
pub const MODERN_REVISION: &str = "2026-07-28";
/// The revisions before it, the newest last.
pub const LEGACY_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Members of `_meta` that the protocol defines.
pub mod meta {
    /// Of a request: the revision that it is of.
    pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// Of a request: what its client can do.
    pub const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// Of a request: what its client calls itself.
    pub const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
    /// Of a result: what its server calls itself.
    pub const SERVER: &str = "io.modelcontextprotocol/serverInfo";
    /// Of a request: how much its client wants to hear.
    pub const LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// Of a notification: the request that subscribed to it.
    pub const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
}

/// Errors of the protocol that we answer with.
pub mod code {
    /// Not JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// JSON, but no message that we can take.
    pub const INVALID_REQUEST: i32 = -32600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters of a request are wrong; also: no tool has this name.
    pub const INVALID_PARAMS: i32 = -32602;
    /// The server failed.
    pub const INTERNAL_ERROR: i32 = -32603;
}
