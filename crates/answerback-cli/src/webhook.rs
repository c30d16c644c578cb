//! Whom the configuration wants to be told of decisions.

use std::time::Duration;

use serde_json::Value;

use crate::output::say;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is tried.
const ATTEMPTS: u32 = 4;
/// The wait before the second attempt; it doubles with each.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// Posts a decision. What cannot be told is told to whoever operates us: the record has it all the same.
pub(crate) async fn tell(url: String, decision: Value) {
    let mut wait = FIRST_WAIT;
    for attempt in 1..=ATTEMPTS {
        let (url, body) = (url.clone(), decision.to_string());
        match tokio::task::spawn_blocking(move || post(&url, &body)).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) if attempt == ATTEMPTS => {
                say(&format!(
                    "error: the decision about case {} could not be told to the webhook: {error}",
                    decision["case"].as_str().unwrap_or("none")
                ));
            }
            _ => tokio::time::sleep(wait).await,
        }
        wait *= 2;
    }
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
