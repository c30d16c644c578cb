//! Implements a gateway in front of MCP servers. It checks every call, turns failures into messages that a model
//! can act on, and records every response before it is sent. [`serve`] is the gateway over HTTP; [`wrap`] connects one
//! client with one server process. Messages are texts ([`answerback_mcp::wire`]) and stay unchanged where possible.
#![warn(missing_docs)]

mod advice;
mod attest;
mod blocking;
mod call;
mod call_facts;
mod case_decision;
mod case_encryption;
mod case_private_data;
mod client;
mod client_sink;
mod decision_source;
mod elicitation_form;
mod envelope;
mod envelope_cache;
mod gateway;
mod gateway_message;
mod gateway_reply;
mod gateway_settings;
mod list_page;
mod marker;
mod pins;
mod policy_record;
mod record_commands;
mod recorder;
mod recording_failure;
mod redaction_marks;
mod relay;
mod reply_meta;
mod response_streams;
mod result_tree;
mod running_calls;
pub mod serve;
mod service_settings;
mod settings_reader;
mod silent_failure;
mod state_file;
mod task;
mod task_notes;
mod tool_call_request;
mod tool_metrics;
mod tool_naming;
mod toolbox;
#[cfg(feature = "otel")]
mod tracer;
mod truncate;
mod upstream;
pub mod wrap;

pub use advice::{Remark, Weight, remarks};
pub use attest::{AttestError, Attestor};
pub use call::{Admission, BlockedCall, CallContext, ForwardedCall};
pub use case_decision::{complete_decision, decide};
pub use client::Client;
pub use decision_source::DecisionSource;
pub use envelope::codes;
pub use gateway::Gateway;
pub use gateway_settings::{
    CheckMode, EnvelopeMode, GatewaySettings, ResponseMode, ServeLimits, Sharing, ToolModes,
    UnknownTool,
};
pub use pins::{PinError, Pins};
pub use record_commands::RecordCommands;
pub use recorder::Recorder;
pub use service_settings::{
    EnvironmentValue, SecretSource, ServerSettings, ServiceSettings, TokenSettings,
    TransportSettings,
};
pub use settings_reader::SettingsError;
pub use tool_call_request::{CallReadError, ToolCallRequest};
pub use toolbox::{Toolbox, ToolboxError};
#[cfg(feature = "otel")]
pub use tracer::Tracer;
pub use upstream::Upstream;
