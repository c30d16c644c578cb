use std::fmt::Write;

use answerback_json::{Digest, Timestamp, UuidV7};
use serde::Serialize;

use super::{Noted, OriginalCall, RetryState};
use crate::case::{Case, CaseKind, DecisionKind};
use crate::provider::{ToolResult, ToolStatus};

/// The question for a person when a model cannot make a valid call.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Escalation {
    /// The id of the escalation and of its case.
    pub id: UuidV7,
    /// The tool, in at most 128 bytes.
    pub tool: String,
    /// Always [`ToolStatus::Blocked`].
    pub status: ToolStatus,
    /// The whole story in a few lines, for people.
    pub summary: String,
    /// Every attempt, oldest first.
    pub attempts: Vec<EscalatedAttempt>,
    /// The call that began it, redacted.
    pub original_call: OriginalCall,
    /// The call that failed last, redacted, where it is another: this is what runs when the check is waived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_call: Option<OriginalCall>,
    /// The decisions that the person can make.
    pub options: Vec<DecisionKind>,
}

/// One failed attempt, for people.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EscalatedAttempt {
    /// Its number, from 1.
    pub attempt: u8,
    /// The first error in one line.
    pub summary: String,
    /// The errors, grouped by code and place, with a message each.
    pub errors: Vec<Noted>,
    /// The number of errors that are not listed.
    pub omitted: u32,
}

impl Escalation {
    pub(super) fn new(id: UuidV7, state: &RetryState) -> Self {
        let attempts: Vec<_> = (1_u8..)
            .zip(state.attempts())
            .map(|(number, attempt)| EscalatedAttempt {
                attempt: number,
                summary: attempt.summary.clone(),
                errors: attempt.described_errors(),
                omitted: attempt.omitted,
            })
            .collect();
        Self {
            id,
            tool: state.tool().to_owned(),
            status: ToolStatus::Blocked,
            summary: summary(state.tool(), &attempts),
            attempts,
            original_call: state.original_call().clone(),
            last_call: state.last_call().cloned(),
            options: CaseKind::Escalation.allowed().to_vec(),
        }
    }

    /// The digest of the record as a person sees it; a decision is bound to it.
    pub fn digest(&self) -> Digest {
        // A record of strings and numbers always becomes a value.
        Digest::of(&serde_json::to_value(self).unwrap_or_default())
    }

    /// The case to lay before a person.
    pub fn case(&self, expires: Timestamp) -> Case {
        Case::new(self.id.clone(), CaseKind::Escalation, self.digest(), expires)
    }

    /// Returns the text for the model, in fewer than `limit` characters: what it tried, without the oldest attempts where
    /// there is no room for all of them, and what it should do now. `allows_valid` says whether a valid call runs all
    /// the same.
    ///
    /// The first word is the status, because some providers' results have no other place for it.
    pub fn tool_result(
        &self,
        tool_call_id: impl Into<String>,
        allows_valid: bool,
        limit: usize,
    ) -> ToolResult {
        let advice = if allows_valid {
            "Stop calling this tool; it waits for a person. Only a call with valid arguments still runs."
        } else {
            "Stop calling this tool; it waits for a person."
        };
        let told = |left_out| {
            format!("Blocked: {}\n{advice}", history(&self.tool, &self.attempts, left_out))
        };
        let mut content = told(0);
        for left_out in 1..=self.attempts.len() {
            if content.chars().count() < limit {
                break;
            }
            content = told(left_out);
        }
        ToolResult::blocked(tool_call_id, content)
    }
}

/// The whole story for people.
fn summary(tool: &str, attempts: &[EscalatedAttempt]) -> String {
    let mut text = history(tool, attempts, 0);
    text.push_str(
        "\nThe model was unable to provide valid arguments. Please intervene or provide guidance.",
    );
    text
}

/// The attempts, a line each, without the oldest ones.
fn history(tool: &str, attempts: &[EscalatedAttempt], left_out: usize) -> String {
    let times = if attempts.len() == 1 { "attempt" } else { "attempts" };
    let mut text = format!("Tool '{tool}' validation failed after {} {times}.\n\n", attempts.len());
    for attempt in attempts.iter().skip(left_out) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "Attempt {}: {}", attempt.attempt, attempt.summary);
    }
    text
}
