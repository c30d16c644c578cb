//! The HTTP server that all HTTP interfaces of Answerback share.
//!
//! A [`HttpListener`] binds a port, [`Routes`] define the scope that each route needs, a [`Guard`] holds the accepted
//! hosts, origins and tokens, and [`serve`] joins them. Failures are reported as a [`Problem`]: an ATDF enriched error.
//! This crate knows no MCP, no ledger and no store. Requests for other hosts are always rejected.
#![warn(missing_docs)]

mod auth_failure_delay;
mod authorization_watch;
mod bearer_token;
mod browser_sessions;
mod connection_rejection;
mod connection_service;
mod connection_timer;
mod finish_response;
mod guard;
mod health_checks;
mod listener;
mod metrics;
mod not_found_page;
mod per_caller_limit;
mod principal;
pub mod private_file;
mod problem;
mod problem_kind;
mod route_guard;
mod route_metrics;
mod routes;
mod scope;
mod serve;
mod shutdown_signal;
mod timed_body;
mod token_error;
mod tokens;
mod untrusted_connections;

pub use authorization_watch::AuthorizationWatch;
pub use bearer_token::BearerToken;
pub use browser_sessions::{BrowserSessions, RedeemError, SessionInfo};
pub use connection_timer::ConnectionTimer;
pub use guard::{Guard, GuardError, cookie_name};
pub use health_checks::HealthChecks;
pub use listener::{HttpListener, ListenError, ListenSettings};
pub use metrics::{Metrics, MetricsError};
pub use per_caller_limit::{PerCallerLimit, PerCallerPermit};
pub use principal::Principal;
pub use private_file::PrivateFileError;
pub use problem::Problem;
pub use problem_kind::ProblemKind;
pub use routes::Routes;
pub use scope::{Scope, Scopes, UnknownScope};
pub use serve::serve;
pub use shutdown_signal::ShutdownSignal;
pub use token_error::{InvalidToken, NoRandomness, TokenSourceError};
pub use tokens::{TokenTable, Tokens};
