//! Sends one request to a witness and reads the response.

use std::fmt::Write;
use std::time::Duration;

use answerback_ledger::{Hash, Note, WitnessKey};
use data_encoding::BASE64;
use ureq::Agent;

use super::WitnessError;

/// The default timeout of a request to a witness, including the connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// The maximum length of a response in bytes. It contains a few signature lines.
const LONGEST: u64 = 64 << 10;

/// The URL of a witness and the key that verifies its cosignatures.
#[derive(Clone, Debug)]
pub struct Witness {
    url: String,
    key: WitnessKey,
    timeout: Duration,
}

/// A response of a witness that the caller can continue with.
pub(super) enum Answer {
    /// The signature lines.
    Signed(String),
    /// The size that the witness has seen, if it differs from the expected one.
    Seen(u64),
}

impl Witness {
    /// Creates a witness that accepts checkpoints at `URL/add-checkpoint`.
    pub fn new(url: impl Into<String>, key: WitnessKey) -> Self {
        Self { url: url.into(), key, timeout: PATIENCE }
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

    /// Sends a checkpoint with the proof that the log extends the size that the witness has seen.
    pub(super) fn add_checkpoint(
        &self,
        old: u64,
        proof: &[Hash],
        note: &Note,
    ) -> Result<Answer, WitnessError> {
        let mut body = format!("old {old}\n");
        for hash in proof {
            // Writing to a string cannot fail.
            let _ = writeln!(body, "{}", BASE64.encode(hash.as_bytes()));
        }
        let _ = write!(body, "\n{note}");
        let agent: Agent = Agent::config_builder()
            .timeout_global(Some(self.timeout))
            .http_status_as_error(false)
            // Do not follow redirects. Requests must go only to the configured URL, so a witness
            // that moved needs a new configuration.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent("answerback")
            .build()
            .into();
        let url = format!("{}/add-checkpoint", self.url.trim_end_matches('/'));
        let unreachable = |error: ureq::Error| WitnessError::Unreachable(error.to_string());
        let request = agent.post(&url).header("content-type", "text/plain; charset=utf-8");
        let mut response = request.send(&body).map_err(unreachable)?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(LONGEST).read_to_string();
        let body = body.map_err(unreachable)?;
        match status {
            200 => Ok(Answer::Signed(body)),
            409 => {
                let seen = body.strip_suffix('\n').unwrap_or(&body).parse();
                seen.map(Answer::Seen).map_err(|_| WitnessError::Answer("no size in a conflict"))
            }
            403 => Err(WitnessError::Untrusted),
            404 => Err(WitnessError::UnknownLog),
            422 => Err(WitnessError::Inconsistent { seen: old }),
            status => Err(WitnessError::Status(status)),
        }
    }
}
