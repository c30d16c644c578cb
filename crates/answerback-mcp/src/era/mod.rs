//! Bridges the two eras of the protocol.
//!
//! Up to 2025-11-25 a client initializes a session, and a server may send it requests at any time. From
//! 2026-07-28 on every request is independent, and a server asks for input in its response. [`bridged`] puts an
//! adapter on a link, so that a client of either era can use any server. If both speak the same era, messages are
//! forwarded unchanged.
//!
//! The adapters are plain state machines: they take a message and return messages. Only `carry` has queues and a
//! clock.

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
