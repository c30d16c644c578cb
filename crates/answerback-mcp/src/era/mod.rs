//! Bridges the two eras of the protocol.
//!
//! Up to 2025-11-25 a client initializes a session, and a server may send it requests at any time. From
//! 2026-07-28 on every request is independent, and a server asks for input in its response. [`bridge_link`] puts an
//! adapter on a link, so that a client of either era can use any server. If both speak the same era, messages are
//! forwarded unchanged.
//!
//! The adapters are plain state machines: they take a message and return messages. Only `bridged_link` has queues and a
//! clock.

mod bridge;
mod bridged_link;
mod cancellation;
mod capability;
mod era_cache;
mod era_detection;
mod generated_ids;
mod ignored_responses;
mod input_rounds;
mod legacy_client;
mod listen_subscriptions;
mod modern_client;
mod open_calls;
mod outbox;
mod request_state;
mod response_completion;
#[cfg(test)]
mod script;
mod subscriptions;
mod terms;

pub use bridged_link::{bridge_link, bridge_link_on_demand};
pub use era_cache::{Era, EraCache};
