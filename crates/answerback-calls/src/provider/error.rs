use answerback_json::Pointer;

use super::Provider;

/// A word that names no provider.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "no provider is called {0:?}; there are mcp, openai, openai-responses, anthropic, gemini and bedrock"
)]
pub struct UnknownProvider(pub(super) String);

/// Something that has not its provider's shape.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not {provider}'s shape: expected {expected} at {place:?}", place = .place.as_str())]
#[non_exhaustive]
pub struct ShapeError {
    /// The expected provider.
    pub provider: Provider,
    /// The place of the difference.
    pub place: Pointer,
    /// The expected content.
    pub expected: &'static str,
}

/// A result that answers none of the turn's calls.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a result answers call {0:?}, which is not among the turn's open calls")]
pub struct TurnError(pub(super) String);
