//! A gateway in front of MCP servers: every call is checked, every failure is something a model can act on, every
//! answer is recorded before it is given.
//!
//! [`Gateway::admit`] looks at a call before it is forwarded, [`Gateway::deliver`] at its result before it is
//! answered. Both know nothing of transports; [`wrap`] carries them between a client on standard input and output
//! and a server that is a child process. Messages are texts ([`answerback_mcp::wire`]): what does not have to change
//! crosses byte for byte.
#![warn(missing_docs)]

mod admit;
mod advice;
mod aside;
mod ask;
mod attempt;
mod attest;
mod beside;
mod call;
mod catalogue;
mod client;
mod counting;
mod cut;
mod decide;
mod deliver;
mod envelope;
mod figures;
mod gateway;
mod opening;
mod original;
mod outlet;
mod own_answer;
mod permitted;
mod pins;
mod policy;
mod record;
mod relay;
mod routine;
mod seal;
pub mod serve;
mod servers;
mod settings;
mod silence;
mod surface;
mod task_notes;
mod tasks;
mod told;
#[cfg(feature = "otel")]
mod trace;
mod tree;
pub mod wrap;

pub use admit::{Admission, Asked, Forwarded, Running};
pub use advice::{Remark, Weight, remarks};
pub use attest::{AttestError, Attestor};
pub use call::{CallError, ToolCall};
pub use catalogue::{Toolbox, ToolboxError};
pub use client::Client;
pub use decide::{as_given, decide};
pub use envelope::codes;
pub use gateway::{Gateway, Upstream};
pub use pins::{PinError, Pins};
pub use record::Recorder;
pub use servers::{Listed, Secret, ServerSettings, ServiceSettings, TokenSettings, Variable};
pub use settings::{
    Answers, CheckMode, EnvelopeMode, GatewaySettings, SettingsError, ToolModes, UnknownTool,
};
pub use surface::Surface;
#[cfg(feature = "otel")]
pub use trace::Tracer;
