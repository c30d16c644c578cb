//! Links to servers behind URLs, against servers on this machine.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod connections;
mod direct;
mod faults;
mod legacy;
mod modern;
mod server;
