//! Combines several upstreams behind one endpoint. Requests are routed to the upstream that they refer to, and lists
//! are merged.

mod client_messages;
mod initialize;
mod lists;
mod member;
mod merge;
mod message_parts;
mod request_id;
mod request_route;
mod requests;
mod server_messages;
mod set;
mod subscriptions;
mod tools;

pub(crate) use set::UpstreamSet;
