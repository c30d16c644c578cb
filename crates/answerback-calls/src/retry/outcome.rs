use answerback_json::UuidV7;

use super::redactor::bounded;
use super::{Escalation, Noted, Repetition};
use crate::provider::ToolResult;

/// What is to be done after an event.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The call may run.
    Proceed(Proceed),
    /// The model is told what is wrong and may try again.
    Retry(Retry),
    /// A person is asked; the model is told so.
    Blocked(Blocked),
    /// A person said no; the model is told so.
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
    /// Whether it runs because a person waived the check, and not because it is valid.
    pub waived: bool,
    /// How many attempts failed before it.
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
    /// How many there may be.
    pub max_attempts: u8,
    /// Whether this very call opened the attempt; parallel ones share it.
    pub is_new: bool,
    /// Whether the model is going round in circles.
    pub repetition: Repetition,
    /// What was wrong in the attempt before: from it follows what is fixed, still failing and new.
    pub previous: Vec<Noted>,
    /// Whether more was wrong in the attempt before than `previous` lists.
    pub previous_is_cut: bool,
    /// A person's words for the model, to go with the message.
    pub guidance: Option<String>,
    /// With what a person wants the call to be made again. It is told instead of the message.
    pub correction: Option<String>,
}

/// A call that was not even looked at closely, because a person is asked.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Blocked {
    /// What the person is asked.
    pub escalation: Box<Escalation>,
    /// The attempts that failed.
    pub attempt: u8,
    /// How many there may be.
    pub max_attempts: u8,
    /// Whether a valid call would run all the same.
    pub allows_valid: bool,
    /// Whether this very call caused the escalation; its case is to be opened once.
    pub is_new: bool,
    /// Whether the model was going round in circles with this call.
    pub repetition: Repetition,
}

impl Outcome {
    /// Whether the call may run.
    pub fn may_run(&self) -> bool {
        matches!(self, Self::Proceed(_))
    }

    /// What the model is told where this is settled: a blocked or a stopped key. The message of a
    /// retry is made from the findings. It has fewer than `limit` characters, if that is 500 or more.
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
