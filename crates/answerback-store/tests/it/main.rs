//! Tests the stores: the guarantees of every store, crashes and damage.
#![expect(clippy::unwrap_used, reason = "a panic shows where the test failed")]

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
