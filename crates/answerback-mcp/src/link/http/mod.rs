//! Connects to servers over Streamable HTTP, in either era of the protocol.
//!
//! A request whose `_meta` names the protocol version is modern: one POST with headers that repeat parts of the
//! message. All other requests are legacy: they use a session, a stream for messages from the server, and
//! resumable streams. The era is detected for each message, so it need not be configured.

mod annotations;
mod connections;
mod dial;
mod direct;
mod events;
mod exchange;
mod fault;
mod header_params;
mod listening;
mod remote;
mod server;
mod task;

pub use annotations::HeaderArguments;
pub use remote::{Remote, RemoteError, Timeouts};
