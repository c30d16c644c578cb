//! Tests the server from outside, over real sockets. The requests are written by hand, because a client library would
//! not send most of them.
#![expect(clippy::unwrap_used, reason = "a failed unwrap in a test names its line")]

mod client;
mod files;
mod guards;
mod service;
mod stopping;
