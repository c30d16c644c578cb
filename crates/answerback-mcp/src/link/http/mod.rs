//! Connects to servers over Streamable HTTP, in either era of the protocol.
//!
//! A request whose `_meta` names the protocol version is modern: one POST with headers that repeat parts of the
//! message. All other requests are legacy: they use a session, a stream for messages from the server, and
//! resumable streams. The era is detected for each message, so it need not be configured.

mod connection_pool;
mod dialer;
mod direct_requests;
mod event_reader;
mod exchange;
mod fault;
mod header_arguments;
mod header_params;
mod http_upstream;
mod link_task;
mod remote;
mod server_stream;

pub use header_arguments::HeaderArguments;
pub use remote::{Remote, RemoteError, Timeouts};
