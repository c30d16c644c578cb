//! The embedded store, held to the promises of every store, to crashes and to damage.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod conformance;
mod crash;
mod damage;
mod export;
mod processes;
mod scene;
mod verified;
