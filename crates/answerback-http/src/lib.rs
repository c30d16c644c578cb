//! The HTTP server that all HTTP interfaces of Answerback share.
//!
//! A [`Listener`] binds a port, [`Routes`] define the scope that each route needs, a [`Guard`] holds the accepted
//! hosts, origins and tokens, and [`serve`] joins them. Failures are reported as a [`Problem`]: an ATDF enriched error.
//! This crate knows no MCP, no ledger and no store. Requests for other hosts are always rejected.
#![warn(missing_docs)]

mod allowance;
mod answer;
mod authorization_watch;
mod body_timeout;
mod closing;
mod connection_timer;
mod figures;
mod front;
mod gate;
mod guard;
mod health;
mod held_back;
mod listener;
mod metrics;
mod not_found_page;
pub mod private_file;
mod problem;
mod routes;
mod scope;
mod serve;
mod sessions;
mod token;
mod tokens;
mod untrusted;

pub use allowance::{Allowance, Held};
pub use authorization_watch::Standing;
pub use closing::Closing;
pub use connection_timer::Alarm;
pub use guard::{Guard, GuardError, cookie_name};
pub use health::Health;
pub use listener::{ListenError, ListenSettings, Listener};
pub use metrics::{Metrics, MetricsError};
pub use private_file::PrivateFileError;
pub use problem::{Problem, ProblemKind};
pub use routes::Routes;
pub use scope::{Scope, Scopes, UnknownScope};
pub use serve::serve;
pub use sessions::{RedeemError, SessionInfo, Sessions};
pub use token::{NoRandomness, NotAToken, Token};
pub use tokens::{Principal, TokenTable, Tokens, TokensError};
