//! A server behind a URL: the protocol's Streamable HTTP, as either era speaks it.
//!
//! A request whose `_meta` names the protocol's version is modern: a POST with the headers that mirror it, and nothing
//! besides. Anything else is legacy: a session, a stream for what the server says by itself, broken streams taken up
//! again. Nobody has to say beforehand which one a server speaks.

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
