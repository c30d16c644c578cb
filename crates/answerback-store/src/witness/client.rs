//! One request to a witness, and its answer.

use std::fmt::Write;
use std::time::Duration;

use answerback_ledger::{Hash, Note, WitnessKey};
use data_encoding::BASE64;
use ureq::Agent;

use super::WitnessError;

/// How long a witness may take for everything, unless somebody says otherwise.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest answer: a few signature lines.
const LONGEST: u64 = 64 << 10;

/// Where a witness is, and the key by which its cosignatures are known.
#[derive(Clone, Debug)]
pub struct Witness {
    url: String,
    key: WitnessKey,
    timeout: Duration,
}

/// What a witness answers, as far as there is a way on.
pub(super) enum Answer {
    /// Signature lines.
    Signed(String),
    /// It has seen another size than we thought.
    Seen(u64),
}

impl Witness {
    /// The witness that takes checkpoints at `URL/add-checkpoint`.
    pub fn new(url: impl Into<String>, key: WitnessKey) -> Self {
        Self { url: url.into(), key, timeout: PATIENCE }
    }

    /// How long one request may take, connecting included.
    #[must_use]
    pub const fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The key by which its cosignatures are known.
    pub const fn key(&self) -> &WitnessKey {
        &self.key
    }

    /// Where it takes checkpoints.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Hands a checkpoint over, with the proof that the log goes on from the size that the witness has seen.
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
            // A witness that moved is configured anew: what it is asked may not go just anywhere.
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
