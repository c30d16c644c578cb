use std::time::Duration;

use answerback_ledger::WitnessKey;

/// The default timeout of a request to a witness, including the connection.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The URL of a witness and the key that verifies its cosignatures.
#[derive(Clone, Debug)]
pub struct Witness {
    url: String,
    key: WitnessKey,
    timeout: Duration,
}

impl Witness {
    /// Creates a witness that accepts checkpoints at `URL/add-checkpoint`.
    pub fn new(url: impl Into<String>, key: WitnessKey) -> Self {
        Self { url: url.into(), key, timeout: TIMEOUT }
    }

    /// Sets the timeout of one request, including the connection.
    #[must_use]
    pub const fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Returns the key that verifies its cosignatures.
    pub const fn key(&self) -> &WitnessKey {
        &self.key
    }

    /// Returns the base URL of the witness.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the timeout of one request, including the connection.
    pub(crate) const fn timeout(&self) -> Duration {
        self.timeout
    }
}
