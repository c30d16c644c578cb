use answerback_findings::ValidationError;
use answerback_json::{Digest, UuidV7};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::case::Decision;

/// The arguments of a call as the model sent them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a text is JSON or it is not")]
pub enum Sent<'a> {
    /// JSON.
    Value(&'a Value),
    /// A text that is not JSON.
    Text(&'a str),
}

impl Sent<'_> {
    /// The digest of what was sent: of the value in canonical form, or of the text as it is. The two
    /// never meet, since a text that is canonical JSON is a value.
    pub fn digest(self) -> Digest {
        match self {
            Self::Value(value) => Digest::of(value),
            Self::Text(text) => Digest::of_bytes(text.as_bytes()),
        }
    }
}

impl<'a> From<&'a Value> for Sent<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Value(value)
    }
}

impl<'a> From<&'a str> for Sent<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

/// The turn of a conversation that a call belongs to, by the caller's number or name for it.
///
/// Failing calls of one turn are parallel calls: the model has seen the answer to none of them, so
/// together they are one attempt.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Deserialize, Serialize)]
pub struct Turn(u64);

impl From<u64> for Turn {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl From<&str> for Turn {
    fn from(name: &str) -> Self {
        let digest = Digest::of_bytes(name.as_bytes());
        let bytes = digest.as_bytes();
        Self(u64::from_be_bytes([
            bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
        ]))
    }
}

/// A checked call: what the model sent and what was found.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TrackedCall<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The id of this very call; a retry has another.
    pub tool_call_id: &'a str,
    /// The arguments as sent.
    pub arguments: Sent<'a>,
    /// The arguments as they may be shown, where the schema hides a part of them that names and shapes
    /// do not give away. What is compared and digested is always `arguments`.
    pub displayed_arguments: Option<&'a Value>,
    /// Every finding. One error makes the call a failing one; notes alone do not.
    pub findings: &'a [ValidationError],
    /// True if the tool's schema could not be used. Such a call is forwarded and never counted.
    pub unchecked: bool,
    /// True if there is no such tool. The model invented its name, so metrics do not use it.
    pub unknown_tool: bool,
    /// The turn, where the caller knows it; otherwise failures share an attempt until its answer is
    /// delivered.
    pub turn: Option<Turn>,
    /// A reference to the record of this call, where there is one.
    pub record: Option<&'a str>,
    /// Joins log lines, records and envelopes of one request.
    pub correlation_id: Option<&'a str>,
    /// Randomness for the id of the escalation that this call may open.
    pub random: [u8; 10],
}

impl<'a> TrackedCall<'a> {
    /// A call without turn, record and correlation id.
    pub fn new(
        tool: &'a str,
        tool_call_id: &'a str,
        arguments: impl Into<Sent<'a>>,
        findings: &'a [ValidationError],
        random: [u8; 10],
    ) -> Self {
        Self {
            tool,
            tool_call_id,
            arguments: arguments.into(),
            displayed_arguments: None,
            findings,
            unchecked: false,
            unknown_tool: false,
            turn: None,
            record: None,
            correlation_id: None,
            random,
        }
    }

    /// Says whether there is no such tool.
    #[must_use]
    pub fn with_unknown_tool(mut self, unknown_tool: bool) -> Self {
        self.unknown_tool = unknown_tool;
        self
    }

    /// Sets the arguments as they may be shown.
    #[must_use]
    pub fn with_displayed_arguments(mut self, shown: &'a Value) -> Self {
        self.displayed_arguments = Some(shown);
        self
    }

    /// Sets the turn.
    #[must_use]
    pub fn with_turn(mut self, turn: impl Into<Turn>) -> Self {
        self.turn = Some(turn.into());
        self
    }

    /// Sets the reference to the record of this call.
    #[must_use]
    pub fn with_record(mut self, record: &'a str) -> Self {
        self.record = Some(record);
        self
    }

    /// Sets the correlation id.
    #[must_use]
    pub fn with_correlation_id(mut self, correlation_id: &'a str) -> Self {
        self.correlation_id = Some(correlation_id);
        self
    }

    /// Marks the call as one whose tool has no usable schema.
    #[must_use]
    pub fn with_unchecked(mut self, unchecked: bool) -> Self {
        self.unchecked = unchecked;
        self
    }

    /// Returns true if an error was found. Warnings and notes alone let a call proceed.
    pub fn is_failing(&self) -> bool {
        !self.unchecked && self.findings.iter().any(ValidationError::is_error)
    }
}

/// An event that changes the state of a key.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a caller that steps a key must handle every event")]
pub enum RetryEvent<'a> {
    /// A call was checked.
    Call(TrackedCall<'a>),
    /// The answer to the last failing call reached the model; what fails from now on is a new attempt.
    Delivered,
    /// A person decided the escalation of this id.
    Decision {
        /// The id of the escalation and its case.
        case: &'a UuidV7,
        /// The decision.
        decision: &'a Decision,
    },
}
