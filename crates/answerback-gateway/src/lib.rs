//! Implements a gateway in front of MCP servers. It checks every call, turns failures into messages that a model
//! can act on, and records every response before it is sent.
//!
//! [`Gateway::admit`] checks a call before it is forwarded. [`Gateway::deliver`] checks the result before it is
//! returned. Both are independent of transports. [`wrap`] connects a client on standard input and output with a
//! server that is a child process. Messages are texts ([`answerback_mcp::wire`]), and the parts that need no
//! change are forwarded byte for byte.
#![warn(missing_docs)]

mod admit;
mod advice;
mod approved_correction;
mod ask;
mod attempt;
mod attest;
mod beside;
mod blocking;
mod call;
mod catalogue;
mod client;
mod client_sink;
mod counting;
mod cut;
mod decide;
mod decision_source;
mod deliver;
mod envelope;
mod envelope_cache;
mod figures;
mod gateway;
mod gateway_reply;
mod marker;
mod open_case;
mod original;
mod pins;
mod policy;
mod record;
mod record_commands;
mod rejection;
mod relay;
mod result_tree;
mod seal;
pub mod serve;
mod servers;
mod settings;
mod silent_failure;
mod task_notes;
mod tasks;
#[cfg(feature = "otel")]
mod trace;
mod unrecorded;
pub mod wrap;

pub use admit::{Admission, Asked, Forwarded, Running};
pub use advice::{Remark, Weight, remarks};
pub use attest::{AttestError, Attestor};
pub use call::{CallReadError, ToolCallRequest};
pub use catalogue::{Toolbox, ToolboxError};
pub use client::Client;
pub use decide::{as_given, decide};
pub use decision_source::Surface;
pub use envelope::codes;
pub use gateway::{Gateway, Upstream};
pub use pins::{PinError, Pins};
pub use record::Recorder;
pub use record_commands::RecordCommands;
pub use servers::{Listed, Secret, ServerSettings, ServiceSettings, TokenSettings, Variable};
pub use settings::{
    Answers, CheckMode, EnvelopeMode, GatewaySettings, ServeLimits, SettingsError, Sharing,
    ToolModes, UnknownTool,
};
#[cfg(feature = "otel")]
pub use trace::Tracer;
