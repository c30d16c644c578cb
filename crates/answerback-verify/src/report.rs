//! The results of a verification.

use std::fmt;

use serde::Serialize;

/// The maximum number of failures listed per level, and of entries per warning. Further ones are
/// only counted.
const LISTED: usize = 20;

/// The levels of a verification, in order.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Every checkpoint is well formed, has this origin, and is signed by the key in force.
    Signatures = 1,
    /// The root over all leaves matches the newest checkpoint, and all data derived from leaves
    /// matches them.
    Root,
    /// Each part matches its commitment. No part is missing or extra.
    Content,
    /// The tree extends every known older checkpoint.
    Consistency,
    /// The entries are consistent in meaning.
    Semantics,
}

impl Level {
    /// All levels, lowest first.
    pub const ALL: [Self; 5] =
        [Self::Signatures, Self::Root, Self::Content, Self::Consistency, Self::Semantics];

    /// Returns the level's number, 1 to 5.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Returns a program's exit code if this is the lowest level that fails.
    pub fn exit_code(self) -> u8 {
        10 + self.number()
    }

    fn name(self) -> &'static str {
        match self {
            Self::Signatures => "signatures",
            Self::Root => "root",
            Self::Content => "content",
            Self::Consistency => "consistency",
            Self::Semantics => "semantics",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.number(), self.name())
    }
}

/// One failed check.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VerifyFailure {
    /// The level that fails.
    pub level: Level,
    /// The index of the entry, or the size of the checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The description of the failure.
    pub what: String,
    /// The expected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The actual value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
}

impl VerifyFailure {
    pub(crate) fn new(
        level: Level,
        index: impl Into<Option<u64>>,
        what: impl Into<String>,
    ) -> Self {
        Self { level, index: index.into(), what: what.into(), expected: None, actual: None }
    }

    pub(crate) fn differs(self, expected: impl fmt::Display, actual: impl fmt::Display) -> Self {
        Self { expected: Some(expected.to_string()), actual: Some(actual.to_string()), ..self }
    }
}

impl fmt::Display for VerifyFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(index) = self.index {
            write!(formatter, "{index}: ")?;
        }
        write!(formatter, "{}", self.what)?;
        if let (Some(expected), Some(actual)) = (&self.expected, &self.actual) {
            write!(formatter, ": expected {expected}, found {actual}")?;
        }
        Ok(())
    }
}

/// The results of one level.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LevelReport {
    /// The level.
    pub level: Level,
    /// True if all checks passed.
    pub held: bool,
    /// The number of checked objects: checkpoints, entries, parts, older checkpoints or entries.
    pub checked: u64,
    /// The number of failures.
    pub failed: u64,
    /// The first failures.
    pub failures: Vec<VerifyFailure>,
}

/// A notable fact that is not a failure.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Warning {
    /// The description of the warning.
    pub what: String,
    /// The number of occurrences.
    pub count: u64,
    /// The first entries with this warning.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<u64>,
}

/// The origin of the trust in the first key.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum KeyTrust {
    /// The caller provided the key.
    Given,
    /// The key was taken from the log itself, so the writer of the log chose it.
    FromLog,
}

/// The complete result of a verification.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VerifyReport {
    /// True if all levels passed.
    pub valid: bool,
    /// The origin of the log.
    pub origin: String,
    /// The index of the first available entry.
    pub from: u64,
    /// The size of the tree.
    pub size: u64,
    /// The root over all leaves, in hexadecimal.
    pub root: String,
    /// The origin of the trust in the key.
    pub key_trust: KeyTrust,
    /// The key in force at the end.
    pub vkey: String,
    /// The number of missing parts that have an erasure entry.
    pub erased_parts: u64,
    /// The levels, lowest first.
    pub levels: Vec<LevelReport>,
    /// The warnings.
    pub warnings: Vec<Warning>,
}

impl VerifyReport {
    /// Returns a program's exit code: 0, or the code of the lowest level that failed.
    pub fn exit_code(&self) -> u8 {
        self.levels.iter().find(|level| !level.held).map_or(0, |level| level.level.exit_code())
    }

    /// Returns the levels that failed, lowest first.
    pub fn failed_levels(&self) -> Vec<Level> {
        self.levels.iter().filter(|level| !level.held).map(|level| level.level).collect()
    }
}

impl fmt::Display for VerifyReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "log     {}", self.origin)?;
        writeln!(
            formatter,
            "entries {} to {} of {}",
            self.from,
            self.size.saturating_sub(1),
            self.size
        )?;
        writeln!(formatter, "root    {}", self.root)?;
        match self.key_trust {
            KeyTrust::Given => writeln!(formatter, "key     as given")?,
            KeyTrust::FromLog => writeln!(
                formatter,
                "key     taken from the log itself, which proves nothing about who wrote it: {}",
                self.vkey
            )?,
        }
        for level in &self.levels {
            let verdict = if level.held { "holds" } else { "FAILS" };
            writeln!(formatter, "{verdict}   {} ({} checked)", level.level, level.checked)?;
            for failure in &level.failures {
                writeln!(formatter, "        {failure}")?;
            }
            let unlisted = level.failed - level.failures.len() as u64;
            if unlisted > 0 {
                writeln!(formatter, "        and {unlisted} more")?;
            }
        }
        for warning in &self.warnings {
            write!(formatter, "warning {}", warning.what)?;
            if !warning.indexes.is_empty() {
                let indexes: Vec<String> = warning.indexes.iter().map(u64::to_string).collect();
                let more = if warning.count > indexes.len() as u64 { ", …" } else { "" };
                write!(formatter, ": {} ({}{more})", warning.count, indexes.join(", "))?;
            }
            writeln!(formatter)?;
        }
        Ok(())
    }
}

/// Collects failures and warnings, up to a limit each.
#[derive(Debug, Default)]
pub(crate) struct FindingCollector {
    levels: [CollectedFindings; 5],
    warnings: Vec<Warning>,
}

#[derive(Debug, Default)]
struct CollectedFindings {
    checked: u64,
    failed: u64,
    failures: Vec<VerifyFailure>,
}

impl FindingCollector {
    pub(crate) fn checked(&mut self, level: Level, count: u64) {
        self.levels[level as usize - 1].checked += count;
    }

    pub(crate) fn fail(&mut self, failure: VerifyFailure) {
        let found = &mut self.levels[failure.level as usize - 1];
        found.failed += 1;
        if found.failures.len() < LISTED {
            found.failures.push(failure);
        }
    }

    pub(crate) fn warn(&mut self, index: impl Into<Option<u64>>, what: &str) {
        let place = match self.warnings.iter().position(|warning| warning.what == what) {
            Some(place) => place,
            None => {
                self.warnings.push(Warning {
                    what: what.to_owned(),
                    count: 0,
                    indexes: Vec::new(),
                });
                self.warnings.len() - 1
            }
        };
        let warning = &mut self.warnings[place];
        warning.count += 1;
        if let Some(index) = index.into()
            && warning.indexes.len() < LISTED
        {
            warning.indexes.push(index);
        }
    }

    pub(crate) fn into_levels(self) -> (Vec<LevelReport>, Vec<Warning>) {
        let levels = Level::ALL.into_iter().zip(self.levels).map(|(level, mut found)| {
            found.failures.sort_by_key(|failure| failure.index);
            LevelReport {
                level,
                held: found.failed == 0,
                checked: found.checked,
                failed: found.failed,
                failures: found.failures,
            }
        });
        (levels.collect(), self.warnings)
    }
}
