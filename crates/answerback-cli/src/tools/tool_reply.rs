use answerback::contract::atdf::EnrichedResponse;
use answerback::contract::tool::{EnvelopeResponse, EnvelopeStatus};
use serde_json::Value;

/// A tool's answer, in the contract that the tool uses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ToolReply {
    /// An ATDF enriched response.
    Atdf(Box<EnrichedResponse>),
    /// A tool envelope.
    Envelope(Box<EnvelopeResponse>),
}

impl ToolReply {
    /// True if the answer reports an error.
    pub(crate) fn is_error(&self) -> bool {
        match self {
            Self::Atdf(response) => response.code().is_some(),
            Self::Envelope(envelope) => envelope.status() == EnvelopeStatus::Error,
        }
    }

    /// Returns the answer as a JSON document, with keys in the contract's order.
    pub(crate) fn to_document(&self) -> Value {
        match self {
            Self::Atdf(response) => response.to_document(),
            Self::Envelope(envelope) => envelope.to_document(),
        }
    }
}

impl From<EnrichedResponse> for ToolReply {
    fn from(response: EnrichedResponse) -> Self {
        Self::Atdf(Box::new(response))
    }
}

impl From<EnvelopeResponse> for ToolReply {
    fn from(envelope: EnvelopeResponse) -> Self {
        Self::Envelope(Box::new(envelope))
    }
}
