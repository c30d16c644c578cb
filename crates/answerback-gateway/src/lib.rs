//! Implements a gateway in front of MCP servers. It checks every call, turns failures into messages that a model
//! can act on, and records every response before it is sent. [`serve`] is the gateway over HTTP; [`wrap`] connects one
//! client with one server process. Messages are texts ([`answerback_mcp::wire`]) and stay unchanged where possible.
#![warn(missing_docs)]

mod admit;
mod advice;
mod approved_correction;
mod ask;
mod attempt;
mod attest;
mod blocking;
mod call;
mod client;
mod client_sink;
mod counting;
mod cut;
mod decide;
mod decision_source;
mod deliver;
mod envelope;
mod envelope_cache;
mod gateway;
mod gateway_reply;
mod gateway_settings;
mod list_page;
mod marker;
mod open_case;
mod original;
mod pins;
mod policy_record;
mod record;
mod record_commands;
mod recording_failure;
mod rejection;
mod relay;
mod response_streams;
mod result_tree;
mod seal;
pub mod serve;
mod service_settings;
mod settings_reader;
mod silent_failure;
mod state_file;
mod task_notes;
mod tasks;
mod tool_metrics;
mod tool_naming;
mod toolbox;
#[cfg(feature = "otel")]
mod tracer;
mod upstream;
pub mod wrap;

pub use admit::{Admission, Asked, Forwarded, Running};
pub use advice::{Remark, Weight, remarks};
pub use attest::{AttestError, Attestor};
pub use call::{CallReadError, ToolCallRequest};
pub use client::Client;
pub use decide::{as_given, decide};
pub use decision_source::Surface;
pub use envelope::codes;
pub use gateway::Gateway;
pub use gateway_settings::{
    CheckMode, EnvelopeMode, GatewaySettings, ResponseMode, ServeLimits, Sharing, ToolModes,
    UnknownTool,
};
pub use pins::{PinError, Pins};
pub use record::Recorder;
pub use record_commands::RecordCommands;
pub use service_settings::{
    EnvironmentValue, SecretSource, ServerSettings, ServiceSettings, TokenSettings,
    TransportSettings,
};
pub use settings_reader::SettingsError;
pub use toolbox::{Toolbox, ToolboxError};
#[cfg(feature = "otel")]
pub use tracer::Tracer;
pub use upstream::Upstream;
