//! Serves many clients over HTTP, in front of several upstreams.
//!
//! 1. `routes` receives a request that `answerback_http` has authenticated, and selects the endpoint.
//! 2. `endpoint` checks the headers and reads the message.
//! 3. `client_session` finds the client's session; `shared_connection` serves clients without one.
//! 4. `client_upstream` passes the message to the relay of one upstream, or to the `upstream_set`.
//! 5. `event_stream_body` sends the messages that `response_streams` stores for the response.

mod backend;
mod call_check;
mod check_route;
mod client_session;
mod client_upstream;
mod endpoint;
mod endpoint_response;
mod event_stream_body;
mod header_validation;
mod inspection;
mod routes;
mod service;
mod service_config;
mod service_health;
mod service_metrics;
mod shared_connection;
mod upstream_set;

pub use backend::{Backend, BackendTransport, InProcessServer};
pub use inspection::InspectionReport;
pub use service::GatewayService;
pub use service_health::BackendState;
