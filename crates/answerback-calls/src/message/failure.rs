use answerback_findings::ValidationError;
use serde_json::Value;

use super::finding_cache::{CachedFinding, FindingCache};
use super::schema::SchemaPart;
use crate::retry::{Noted, Repetition};

/// A call that failed, and all that is known about it: what a formatter is given.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallFailure<'a> {
    /// The tool's name, as the model wrote it.
    pub tool: &'a str,
    /// The findings, in any order.
    pub findings: &'a [ValidationError],
    /// The number of this attempt, starting at 1.
    pub attempt: u32,
    /// The number of allowed attempts.
    pub max_attempts: u32,
    /// The schema of the tool's arguments. With it, hints can name the fields and values that exist.
    pub schema: Option<&'a Value>,
    /// The errors of the previous attempt, if they are known.
    pub previous: Option<&'a [Noted]>,
    /// True if the previous attempt had more errors than `previous` lists. Then the message cannot say which
    /// errors are new.
    pub previous_is_cut: bool,
    /// The way in which this call repeats an earlier one.
    pub repetition: Repetition,
    /// A proposed repair in one line, such as a JSON Patch.
    pub repair: Option<&'a str>,
    /// The data computed for its findings, cached while a message is written.
    pub(super) cache: Option<&'a FindingCache<'a>>,
}

impl<'a> CallFailure<'a> {
    /// The first of three attempts, with nothing else known.
    pub const fn new(tool: &'a str, findings: &'a [ValidationError]) -> Self {
        Self {
            tool,
            findings,
            attempt: 1,
            max_attempts: 3,
            schema: None,
            previous: None,
            previous_is_cut: false,
            repetition: Repetition::None,
            repair: None,
            cache: None,
        }
    }

    /// Returns the cached data of a finding.
    pub(super) fn cached(&self, finding: &ValidationError) -> Option<&CachedFinding<'a>> {
        self.cache?.find(self, finding)
    }

    /// The part of the schema that a finding is about.
    pub(super) fn part(&self, finding: &ValidationError) -> Option<SchemaPart<'a>> {
        match self.cached(finding) {
            Some(known) => known.part,
            None => SchemaPart::of(finding, self.schema),
        }
    }

    /// Sets which attempt of how many this was.
    #[must_use]
    pub const fn with_attempt(mut self, attempt: u32, max_attempts: u32) -> Self {
        self.attempt = attempt;
        self.max_attempts = max_attempts;
        self
    }

    /// Sets the schema of the arguments.
    #[must_use]
    pub const fn with_schema(mut self, schema: &'a Value) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Sets what was wrong in the previous attempt, all of it.
    #[must_use]
    pub const fn with_previous(mut self, previous: &'a [Noted]) -> Self {
        self.previous = Some(previous);
        self
    }

    /// Sets how this call repeats an earlier one.
    #[must_use]
    pub const fn with_repetition(mut self, repetition: Repetition) -> Self {
        self.repetition = repetition;
        self
    }

    /// Sets a proposed repair, in one line. It is shown whole or not at all.
    #[must_use]
    pub const fn with_repair(mut self, repair: &'a str) -> Self {
        self.repair = Some(repair);
        self
    }
}
