//! The server from outside: over real sockets, with requests written by hand, since a client library would not send
//! most of them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod client;
mod files;
mod guards;
mod service;
mod stopping;
