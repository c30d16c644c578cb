//! The stores, held to the promises of every store, to crashes and to damage.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod adopt;
mod conformance;
mod crash;
mod damage;
mod export;
#[cfg(feature = "postgres")]
mod migrate;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "postgres")]
mod postgres;
mod processes;
#[cfg(feature = "postgres")]
mod proxy;
mod scene;
#[cfg(feature = "postgres")]
mod server;
mod states;
#[cfg(feature = "postgres")]
mod tables;
mod verified;
#[cfg(feature = "witness")]
mod witness;
#[cfg(feature = "witness")]
mod witness_server;
