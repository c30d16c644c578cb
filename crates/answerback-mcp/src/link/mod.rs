//! Connects to servers.

mod child;
pub(crate) mod direct_path;
mod endpoints;
mod executable_lookup;
mod http;
mod incoming;
mod lines;
mod link_error;
mod process_group;
mod reaper;
mod server_requests;
mod streams;
mod supervisor;
mod unreadable_line;
mod upstream_health;

pub use child::{Child, Program};
pub use direct_path::{DirectPath, DirectResponse, StreamState, StreamWatcher};
pub use endpoints::{Link, ServerEnd, WAITING};
pub use http::{HeaderArguments, Remote, RemoteError, Timeouts};
pub use incoming::Incoming;
pub(crate) use incoming::trusted;
pub use lines::{read_lines, write_lines};
pub(crate) use link_error::{is_restart_error, restart_error};
pub use link_error::{is_unsent_error, link_error, link_error_reason, unsent_error};
pub use reaper::{Reaper, run_reaper};
pub use streams::connect_streams;
pub use supervisor::{Restart, StartedServer, supervise};
pub use unreadable_line::UnreadableLine;
pub use upstream_health::UpstreamHealth;
