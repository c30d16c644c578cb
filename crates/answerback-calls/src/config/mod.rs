//! Reads the configuration `.agent/config.yml`. Every file can set the checks of calls (`tools.validation`).
//! A trusted file can also set `gateway`, `store`, `ledger`, `governance` and `console`.
//!
//! ```yaml
//! tools:
//!   validation:
//!     retry:
//!       max_attempts: 3
//!     formatting:
//!       max_message_length: 2000
//!     overrides:
//!       write_file:
//!         retry:
//!           max_attempts: 5
//! ```
//!
//! Each setting is defined once, in a table that the reader, the ranges and the JSON Schema share. The
//! exception is `gateway`: its own crate reads it, and this one describes it. The caller finds and opens the
//! file, and decides if it is trusted.

mod console;
mod error;
mod file;
mod gateway;
mod governance;
mod keys;
mod ledger;
mod reader;
mod setting;
mod settings;
mod store;
#[cfg(test)]
mod tests;
mod validation;
#[cfg(feature = "yaml")]
mod written;
#[cfg(feature = "yaml")]
mod yaml;

pub use console::{ConsoleConfig, EventsConfig};
pub use error::{ConfigError, ConfigWarning};
pub use file::{Config, Trust, schema};
pub use governance::GovernanceConfig;
pub use ledger::{LedgerConfig, OnFailure, WitnessConfig};
pub use settings::{RepairMode, ToolSettings};
pub use store::StoreConfig;
pub use validation::ValidationConfig;
