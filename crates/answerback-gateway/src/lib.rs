//! Implements a gateway in front of MCP servers. It checks every call, turns failures into messages that a model
//! can act on, and records every response before it is sent.
//!
//! [`Gateway::admit`] checks a call before it is forwarded. [`Gateway::deliver`] checks the result before it is
//! returned. Both are independent of transports. [`wrap`] connects a client on standard input and output with a
//! server that is a child process. Messages are texts ([`answerback_mcp::wire`]), and the parts that need no
//! change are forwarded byte for byte.
#![warn(missing_docs)]

mod advice;
mod attest;
mod blocking;
mod call;
mod call_facts;
mod case_decision;
mod case_encryption;
mod case_private_data;
mod catalogue;
mod client;
mod client_sink;
mod decision_source;
mod elicitation_form;
mod envelope;
mod envelope_cache;
mod figures;
mod gateway;
mod gateway_message;
mod gateway_reply;
mod marker;
mod pins;
mod policy_record;
mod record_commands;
mod recorder;
mod recording_failure;
mod redaction_marks;
mod relay;
mod reply_meta;
mod result_tree;
mod running_calls;
pub mod serve;
mod servers;
mod settings;
mod silent_failure;
mod state_file;
mod task;
mod task_notes;
mod tool_call_request;
#[cfg(feature = "otel")]
mod trace;
mod truncate;
mod upstream;
pub mod wrap;

pub use advice::{Remark, Weight, remarks};
pub use attest::{AttestError, Attestor};
pub use call::{Admission, BlockedCall, CallContext, ForwardedCall};
pub use case_decision::{complete_decision, decide};
pub use catalogue::{Toolbox, ToolboxError};
pub use client::Client;
pub use decision_source::DecisionSource;
pub use envelope::codes;
pub use gateway::Gateway;
pub use pins::{PinError, Pins};
pub use record_commands::RecordCommands;
pub use recorder::Recorder;
pub use servers::{Listed, Secret, ServerSettings, ServiceSettings, TokenSettings, Variable};
pub use settings::{
    Answers, CheckMode, EnvelopeMode, GatewaySettings, ServeLimits, SettingsError, Sharing,
    ToolModes, UnknownTool,
};
pub use tool_call_request::{CallReadError, ToolCallRequest};
#[cfg(feature = "otel")]
pub use trace::Tracer;
pub use upstream::Upstream;
