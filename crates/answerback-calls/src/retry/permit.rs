use answerback_json::{Digest, UuidV7};
use serde::{Deserialize, Serialize};

/// Lets the arguments that a person corrected run once.
///
/// Arguments with parts that the model may not see are sent to it with marks in place of these parts. When
/// the model sends them back, the owner of the state decrypts the sealed arguments and runs those. The
/// encryption key is never in the state.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Permit {
    /// The case that the person decided.
    pub case: UuidV7,
    /// The digest of the arguments as sent to the model.
    pub digest: Digest,
    /// The arguments that run, encrypted. It is empty if the model gets all of them.
    pub sealed: String,
}

impl Permit {
    /// The longest sealed arguments, in bytes. They come on top of what [`super::RetryState::MAX_BYTES`] bounds.
    pub const MAX_BYTES: usize = 4096;

    /// A permit; none, where the sealed arguments are too long for a state.
    pub fn new(case: UuidV7, digest: Digest, sealed: impl Into<String>) -> Option<Self> {
        let sealed = sealed.into();
        (sealed.len() <= Self::MAX_BYTES).then_some(Self { case, digest, sealed })
    }

    /// A permit for arguments of which nothing is hidden from the model: what was recorded of the decision has them.
    pub fn unsealed(case: UuidV7, digest: Digest) -> Self {
        Self { case, digest, sealed: String::new() }
    }

    /// Returns true if the model gets less than what runs.
    pub fn hides(&self) -> bool {
        !self.sealed.is_empty()
    }
}
