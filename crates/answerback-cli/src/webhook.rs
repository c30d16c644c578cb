//! Whom the configuration wants to be told of decisions, and how far it was told.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::output::say;
use crate::replace;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// After so many attempts whoever operates us is told.
const ATTEMPTS: u32 = 4;
/// The wait before the second attempt; it doubles with each.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// A URL that is told of every decision, in their order, each at least once.
#[derive(Clone)]
pub(crate) struct Webhook {
    url: String,
    /// Says from which entry on it was not told.
    file: PathBuf,
}

impl Webhook {
    pub(crate) const fn new(url: String, file: PathBuf) -> Self {
        Self { url, file }
    }

    /// The entry to go on from; nothing, where nobody was told yet.
    pub(crate) fn next(&self) -> Option<u64> {
        fs::read_to_string(&self.file).ok()?.trim().parse().ok()
    }

    /// Remembers the entry to go on from.
    pub(crate) fn note(&self, next: u64) {
        if let Err(error) = replace::replace(&self.file, format!("{next}\n").as_bytes()) {
            say(&format!("warning: how far the webhook was told cannot be kept: {error}"));
        }
    }

    /// Posts a decision until it was heard. Who answers that he will never take it has heard, too.
    pub(crate) async fn tell(self, decision: Value) {
        let (mut wait, mut attempt) = (FIRST_WAIT, 1);
        let case = decision["case"].as_str().unwrap_or("none").to_owned();
        let body = decision.to_string();
        loop {
            let (url, body) = (self.url.clone(), body.clone());
            let posted = tokio::task::spawn_blocking(move || post(&url, &body)).await;
            match posted {
                Ok(Ok(())) => return,
                Ok(Err(error @ ureq::Error::StatusCode(status))) if is_refusal(status) => {
                    say(&format!(
                        "error: the webhook refuses the decision about case {case}: {error}"
                    ));
                    return;
                }
                Ok(Err(error)) if attempt == ATTEMPTS => {
                    say(&format!(
                        "error: the decision about case {case} could not be told to the webhook: {error}; it is tried until it is heard"
                    ));
                }
                _ => {}
            }
            tokio::time::sleep(wait).await;
            wait = LONGEST_WAIT.min(wait * 2);
            attempt += 1;
        }
    }
}

/// Whether an answer means that the same will not be taken later either.
const fn is_refusal(status: u16) -> bool {
    status >= 400 && status < 500 && !matches!(status, 401 | 403 | 404 | 408 | 425 | 429)
}

fn post(url: &str, body: &str) -> Result<(), ureq::Error> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .max_redirects(0)
        .build()
        .into();
    let answer = agent.post(url).header("Content-Type", "application/json").send(body)?;
    // Whoever sends us elsewhere has not heard.
    if answer.status().is_success() {
        Ok(())
    } else {
        Err(ureq::Error::StatusCode(answer.status().as_u16()))
    }
}
