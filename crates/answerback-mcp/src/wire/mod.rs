//! Reads and edits JSON-RPC messages as text. Parts that need no change are forwarded byte for byte.

mod id;
mod json_scanner;
mod line_reader;
mod message;
mod messages;
mod object;
mod reserved_members;
pub mod splice;
pub mod word;

pub use id::Id;
pub use line_reader::{LineReader, WireLine};
pub use message::{Message, MessageError, Shape};
pub use messages::Messages;
pub use object::{Object, ObjectError};
pub use reserved_members::RESERVED_PREFIX;

/// The protocol revision that begins the stateless era.
pub const MODERN_REVISION: &str = "2026-07-28";
/// The protocol revisions of the legacy era, oldest first.
pub const LEGACY_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Names the members of `_meta` that the protocol defines.
pub mod meta {
    /// In a request: the protocol revision that it uses.
    pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// In a request: the capabilities of its client.
    pub const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// In a request: the name and version of its client.
    pub const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
    /// In a result: the name and version of its server.
    pub const SERVER: &str = "io.modelcontextprotocol/serverInfo";
    /// In a request: the lowest level of log messages that its client wants.
    pub const LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// In a notification: the id of the request that subscribed to it.
    pub const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
}

/// Lists the JSON-RPC error codes that we answer with.
pub mod code {
    /// The text is not JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// The text is JSON, but not a message that we accept.
    pub const INVALID_REQUEST: i32 = -32600;
    /// The server has no such method.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters of a request are invalid. MCP also uses this code for an unknown tool.
    pub const INVALID_PARAMS: i32 = -32602;
    /// The server failed.
    pub const INTERNAL_ERROR: i32 = -32603;
}
