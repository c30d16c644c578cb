//! Sends one request to a witness and reads the response.

use std::fmt::Write;

use answerback_ledger::{Hash, Note};
use data_encoding::BASE64;
use ureq::Agent;

use super::WitnessError;
use crate::Witness;

/// The maximum length of a response in bytes. It contains a few signature lines.
const LONGEST: u64 = 64 << 10;

/// A response of a witness that the caller can continue with.
pub(super) enum WitnessReply {
    /// The signature lines.
    Signed(String),
    /// The size that the witness has seen, if it differs from the expected one.
    Seen(u64),
}

/// Sends a checkpoint with the proof that the log extends the size that the witness has seen.
pub(super) fn add_checkpoint(
    witness: &Witness,
    old: u64,
    proof: &[Hash],
    note: &Note,
) -> Result<WitnessReply, WitnessError> {
    let mut body = format!("old {old}\n");
    for hash in proof {
        // Writing to a string cannot fail.
        let _ = writeln!(body, "{}", BASE64.encode(hash.as_bytes()));
    }
    let _ = write!(body, "\n{note}");
    let agent: Agent = Agent::config_builder()
        .timeout_global(Some(witness.timeout()))
        .http_status_as_error(false)
        // Do not follow redirects. Requests must go only to the configured URL, so a witness
        // that moved needs a new configuration.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent("answerback")
        .build()
        .into();
    let url = format!("{}/add-checkpoint", witness.url().trim_end_matches('/'));
    let unreachable = |error: ureq::Error| WitnessError::Unreachable(error.to_string());
    let request = agent.post(&url).header("content-type", "text/plain; charset=utf-8");
    let mut response = request.send(&body).map_err(unreachable)?;
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(LONGEST).read_to_string();
    let body = body.map_err(unreachable)?;
    match status {
        200 => Ok(WitnessReply::Signed(body)),
        409 => {
            let seen = body.strip_suffix('\n').unwrap_or(&body).parse();
            seen.map(WitnessReply::Seen).map_err(|_| WitnessError::Answer("no size in a conflict"))
        }
        403 => Err(WitnessError::Untrusted),
        404 => Err(WitnessError::UnknownLog),
        422 => Err(WitnessError::Inconsistent { seen: old }),
        status => Err(WitnessError::Status(status)),
    }
}
