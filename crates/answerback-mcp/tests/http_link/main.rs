//! Tests links over HTTP with local servers.
#![expect(clippy::unwrap_used, reason = "a failed test should panic where it fails")]

mod connections;
mod direct;
mod faults;
mod legacy;
mod modern;
mod server;
