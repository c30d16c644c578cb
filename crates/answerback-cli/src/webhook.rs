//! Sends decisions to the configured webhook, and stores its position in the log.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::atomic_replace::replace;
use crate::output::say;

/// The time limit for a response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The number of failed attempts after which an error is reported.
const ATTEMPTS: u32 = 4;
/// The wait before the second attempt. It doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait.
const MAX_WAIT: Duration = Duration::from_mins(1);

/// A URL that receives every decision, in order, each at least once.
#[derive(Clone)]
pub(crate) struct Webhook {
    url: String,
    /// The file with the index of the next entry to send.
    file: PathBuf,
}

impl Webhook {
    pub(crate) const fn new(url: String, file: PathBuf) -> Self {
        Self { url, file }
    }

    /// Returns the entry to continue from, or `None` before the first delivery.
    pub(crate) fn next(&self) -> Option<u64> {
        fs::read_to_string(&self.file).ok()?.trim().parse().ok()
    }

    /// Stores the entry to continue from.
    pub(crate) fn save_position(&self, next: u64) {
        if let Err(error) = replace(&self.file, format!("{next}\n").as_bytes()) {
            say(&format!(
                "warning: the webhook's position cannot be stored: {error}; decisions may be sent twice after a restart"
            ));
        }
    }

    /// Posts a decision until the webhook accepts it, or rejects it for good.
    pub(crate) async fn send(self, decision: Value) {
        let (mut wait, mut attempt) = (FIRST_WAIT, 1);
        let case = decision["case"].as_str().unwrap_or("none").to_owned();
        let body = decision.to_string();
        loop {
            let (url, body) = (self.url.clone(), body.clone());
            let posted = tokio::task::spawn_blocking(move || post(&url, &body)).await;
            match posted {
                Ok(Ok(())) => return,
                Ok(Err(error @ ureq::Error::StatusCode(status))) if is_final_rejection(status) => {
                    say(&format!(
                        "error: the webhook rejected the decision about case {case}: {error}; it is not sent again"
                    ));
                    return;
                }
                Ok(Err(error)) if attempt == ATTEMPTS => {
                    say(&format!(
                        "error: the decision about case {case} could not be sent to the webhook: {error}; sending is retried until it succeeds"
                    ));
                }
                _ => {}
            }
            tokio::time::sleep(wait).await;
            wait = MAX_WAIT.min(wait * 2);
            attempt += 1;
        }
    }
}

/// True if the status means that a retry would be rejected, too.
const fn is_final_rejection(status: u16) -> bool {
    status >= 400 && status < 500 && !matches!(status, 401 | 403 | 404 | 408 | 425 | 429)
}

fn post(url: &str, body: &str) -> Result<(), ureq::Error> {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).max_redirects(0).build().into();
    let answer = agent.post(url).header("Content-Type", "application/json").send(body)?;
    // A redirect does not count as accepted.
    if answer.status().is_success() {
        Ok(())
    } else {
        Err(ureq::Error::StatusCode(answer.status().as_u16()))
    }
}
