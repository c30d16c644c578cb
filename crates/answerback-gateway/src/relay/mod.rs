//! Relays messages between one client and one server. Calls are checked first, and other messages are forwarded.

mod call_exchange;
mod client_messages;
mod configured_server;
mod elicitation;
mod outbound_queue;
mod own_requests;
mod pending_calls;
mod pending_requests;
mod request_timeout;
mod server_messages;
mod session;
mod task_results;
mod tool_listing;
mod tools;

pub(crate) use client_messages::{cancellation, repeated_name};
pub(crate) use configured_server::ConfiguredServer;
pub(crate) use session::RelaySession;
