use answerback_json::UuidV7;

use super::redactor::bounded;
use super::{Escalation, Noted, Repetition};
use crate::provider::ToolResult;

/// The action to take after an event.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AttemptOutcome {
    /// The call may run.
    Proceed(Proceed),
    /// The call does not run. The model gets the errors and may try again.
    Retry(Retry),
    /// The call waits for a person's decision, and the message says so.
    Blocked(Blocked),
    /// A person rejected the call, and the message says so.
    Stopped {
        /// Why, in the person's words.
        reason: Option<String>,
    },
    /// A delivery or a decision took effect.
    Applied,
    /// A delivery or a decision that no longer concerns the key; nothing changed.
    Ignored,
}

/// A call that may run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Proceed {
    /// True if it runs because a person waived the check, and not because it is valid.
    pub waived: bool,
    /// The number of failed attempts before it.
    pub failed_attempts: u8,
    /// A person's words for the model, to go with the result.
    pub guidance: Option<String>,
    /// That a person had corrected the call before it to other arguments, to go with the result.
    pub correction: Option<String>,
    /// The case of the escalation that this valid call closes: the model resolved it, and no person has to.
    pub resolved: Option<UuidV7>,
}

/// A call that failed and may be made again.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Retry {
    /// The number of this attempt, from 1.
    pub attempt: u8,
    /// The number of allowed attempts.
    pub max_attempts: u8,
    /// True if this call opened the attempt. Parallel calls share an attempt.
    pub is_new: bool,
    /// The way in which the model repeats failed calls.
    pub repetition: Repetition,
    /// The errors of the previous attempt. They show which errors are fixed, still failing and new.
    pub previous: Vec<Noted>,
    /// True if the previous attempt had more errors than `previous` lists.
    pub previous_is_cut: bool,
    /// A person's words for the model, to go with the message.
    pub guidance: Option<String>,
    /// The arguments that a person wants the model to send, as text. It replaces the message.
    pub correction: Option<String>,
}

/// A call that was not even looked at closely, because a person is asked.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Blocked {
    /// The question for the person.
    pub escalation: Box<Escalation>,
    /// The attempts that failed.
    pub attempt: u8,
    /// The number of allowed attempts.
    pub max_attempts: u8,
    /// True if a valid call would run in spite of the block.
    pub allows_valid: bool,
    /// True if this call caused the escalation. Its case must be opened only once.
    pub is_new: bool,
    /// The way in which this call repeats failed calls.
    pub repetition: Repetition,
}

impl AttemptOutcome {
    /// Returns true if the call may run.
    pub fn may_run(&self) -> bool {
        matches!(self, Self::Proceed(_))
    }

    /// Returns the result for the model if its text is fixed: for a blocked or a stopped key. The message of
    /// a retry depends on the findings. The text has fewer than `limit` characters, if `limit` is 500 or
    /// more.
    pub fn tool_result(&self, tool: &str, tool_call_id: &str, limit: usize) -> Option<ToolResult> {
        match self {
            Self::Blocked(Blocked { escalation, allows_valid, .. }) => {
                Some(escalation.tool_result(tool_call_id, *allows_valid, limit))
            }
            Self::Stopped { reason } => {
                let mut content = format!(
                    "A person stopped the calls to tool '{}'. Do not call it again for this task.",
                    bounded(answerback_redaction::redact(tool), 128),
                );
                if let Some(reason) = reason {
                    content.push_str(" The reason given: ");
                    let left = limit.saturating_sub(content.chars().count() + 1);
                    content.push_str(&bounded(reason, left));
                }
                Some(ToolResult::blocked(tool_call_id, content))
            }
            _ => None,
        }
    }
}
