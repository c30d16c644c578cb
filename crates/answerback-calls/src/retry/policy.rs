use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// The handling of valid calls while a key is blocked.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "the contract defines exactly these two")]
pub enum WhileBlocked {
    /// They get the escalation again, like failing ones.
    Block,
    /// They run, and close the escalation: a correct call is never refused because of earlier wrong ones.
    #[default]
    AllowValid,
}

/// The limit on attempts, and the consequences of reaching it.
///
/// ```
/// use answerback_calls::retry::RetryPolicy;
///
/// assert_eq!(RetryPolicy::default().max_attempts(), 3);
/// assert_eq!(RetryPolicy::from(5).max_attempts(), 5);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RetryPolicy {
    max_attempts: u8,
    /// The handling of valid calls while a key is blocked.
    pub while_blocked: WhileBlocked,
    /// Escalates at once when a call, a set of errors or an A-B-A pattern repeats.
    pub escalate_on_repetition: bool,
    /// The time in seconds for which a key stays blocked or stopped without a decision.
    pub blocked_seconds: u32,
    /// The time in seconds for which an open key is remembered without a call.
    pub idle_seconds: u32,
}

impl RetryPolicy {
    /// The numbers of attempts that can be configured.
    pub const ATTEMPTS: RangeInclusive<u8> = 1..=10;

    /// The number of failing turns after which a person decides.
    pub const fn max_attempts(&self) -> u8 {
        self.max_attempts
    }

    /// Sets how many failing turns it takes, held within [`RetryPolicy::ATTEMPTS`].
    #[must_use]
    pub fn with_max_attempts(mut self, attempts: u8) -> Self {
        self.max_attempts = attempts.clamp(*Self::ATTEMPTS.start(), *Self::ATTEMPTS.end());
        self
    }

    /// Sets what happens to valid calls while a key is blocked.
    #[must_use]
    pub fn with_while_blocked(mut self, while_blocked: WhileBlocked) -> Self {
        self.while_blocked = while_blocked;
        self
    }

    /// Sets whether a repetition is escalated at once.
    #[must_use]
    pub fn with_escalate_on_repetition(mut self, escalate: bool) -> Self {
        self.escalate_on_repetition = escalate;
        self
    }

    /// Sets how long a key stays blocked, in seconds.
    #[must_use]
    pub fn with_blocked_seconds(mut self, seconds: u32) -> Self {
        self.blocked_seconds = seconds;
        self
    }

    /// Sets how long an open key is remembered without a call, in seconds.
    #[must_use]
    pub fn with_idle_seconds(mut self, seconds: u32) -> Self {
        self.idle_seconds = seconds;
        self
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            while_blocked: WhileBlocked::AllowValid,
            escalate_on_repetition: false,
            blocked_seconds: 15 * 60,
            idle_seconds: 60 * 60,
        }
    }
}

impl From<u8> for RetryPolicy {
    fn from(max_attempts: u8) -> Self {
        Self::default().with_max_attempts(max_attempts)
    }
}

/// A policy for every tool: one for most, others by name.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Policies {
    default: RetryPolicy,
    tools: BTreeMap<String, RetryPolicy>,
}

impl Policies {
    /// Sets the policy of one tool.
    #[must_use]
    pub fn with_tool(mut self, tool: impl Into<String>, policy: impl Into<RetryPolicy>) -> Self {
        self.tools.insert(tool.into(), policy.into());
        self
    }

    /// The policy that holds for a tool.
    pub fn of(&self, tool: &str) -> &RetryPolicy {
        self.tools.get(tool).unwrap_or(&self.default)
    }
}

impl From<RetryPolicy> for Policies {
    fn from(default: RetryPolicy) -> Self {
        Self { default, tools: BTreeMap::new() }
    }
}

impl From<u8> for Policies {
    fn from(max_attempts: u8) -> Self {
        RetryPolicy::from(max_attempts).into()
    }
}
