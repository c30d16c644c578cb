//! The two eras of the protocol, and a bridge between them.
//!
//! Until 2025-11-25 a client initialises a session and a server may ask it something at any time; from 2026-07-28 on
//! every request stands alone, and a server that needs something says so in its answer. [`bridged`] puts an adapter on a
//! link: the client speaks the era it speaks, whatever the server does. Where both speak the same, nothing is touched.
//!
//! The adapters are plain state: they hear a message and say messages. Only `carry` has queues and a clock.

mod bridge;
mod cache;
mod cancelled;
mod capability;
mod carry;
mod completed;
mod generated_ids;
mod legacy_client;
mod listeners;
mod modern_client;
mod open_calls;
mod outbox;
mod rounds;
mod subscriptions;
mod terms;

#[cfg(test)]
mod script;

pub use cache::{Era, EraCache};
pub use carry::{bridged, bridged_on_demand};
