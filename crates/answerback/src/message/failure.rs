use serde_json::Value;

use crate::finding::ValidationError;

/// A call that failed, and all that is known about it: what a formatter is given.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Failure<'a> {
    /// The tool's name, as the model wrote it.
    pub tool: &'a str,
    /// What is wrong, in any order.
    pub findings: &'a [ValidationError],
    /// Which attempt this was, from 1.
    pub attempt: u32,
    /// How many attempts there are.
    pub max_attempts: u32,
    /// The schema of the tool's arguments. With it, hints can name the fields and values that exist.
    pub schema: Option<&'a Value>,
    /// Code and path of the previous attempt's findings.
    pub previous: Option<&'a [(&'a str, &'a str)]>,
    /// How this call repeats an earlier one.
    pub repetition: Repetition,
    /// A proposed repair in one line, such as a JSON Patch.
    pub repair: Option<&'a str>,
}

/// How a failing call repeats what failed before. Whoever counts attempts finds it out; the message
/// then says it first, because a model that is told the same thing twice does the same thing twice.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Repetition {
    /// It does not.
    #[default]
    None,
    /// The same arguments as in the attempt named, value for value.
    IdenticalCall {
        /// The earlier attempt.
        attempt: u32,
    },
    /// Other arguments, but exactly the same findings as in the attempt before.
    SameErrors,
    /// The arguments of the attempt before the last one: the model goes back and forth.
    BackAndForth {
        /// The earlier attempt with these arguments.
        attempt: u32,
    },
}

impl<'a> Failure<'a> {
    /// The first of three attempts, with nothing else known.
    pub const fn new(tool: &'a str, findings: &'a [ValidationError]) -> Self {
        Self {
            tool,
            findings,
            attempt: 1,
            max_attempts: 3,
            schema: None,
            previous: None,
            repetition: Repetition::None,
            repair: None,
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

    /// Sets code and path of the previous attempt's findings.
    #[must_use]
    pub const fn with_previous(mut self, previous: &'a [(&'a str, &'a str)]) -> Self {
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
