//! The server from outside: over real sockets, with requests written by hand, since a client library would not send
//! most of them.

mod client;
mod files;
mod guards;
mod service;
mod stopping;
