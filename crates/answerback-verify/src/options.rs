//! What a caller brings: keys and checkpoints from outside the log, and how many cores to use.

use std::num::NonZeroUsize;

use serde::de::IgnoredAny;

use crate::{
    checkpoint::{Checkpoint, CheckpointError},
    cosignature::WitnessKey,
    note::VerifierKey,
    source::{CheckpointLine, object},
};

/// A checkpoint that came from outside the log.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) label: String,
    pub(crate) note: String,
    pub(crate) checkpoint: Checkpoint,
}

/// What to trust, and how to work.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Options {
    pub(crate) vkeys: Vec<VerifierKey>,
    pub(crate) witnesses: Vec<WitnessKey>,
    pub(crate) given: Vec<Given>,
    pub(crate) threads: Option<NonZeroUsize>,
    pub(crate) now: Option<i64>,
}

impl Options {
    /// Trusts the key that the log itself names, and knows no older checkpoint.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts a key. The log must have been signed by one of those given, at its start or after a change of keys.
    pub fn with_vkey(mut self, key: VerifierKey) -> Self {
        self.vkeys.push(key);
        self
    }

    /// Demands that this witness signed a checkpoint of the log, its own or one that is given.
    pub fn with_witness(mut self, key: WitnessKey) -> Self {
        self.witnesses.push(key);
        self
    }

    /// Sets the time, in microseconds since 1970. Retry states expire, so only with it is one that is missing a failure.
    pub fn with_time(self, micros: i64) -> Self {
        Self { now: Some(micros), ..self }
    }

    /// Uses so many threads; without it, as many as there are cores.
    pub fn with_threads(self, threads: NonZeroUsize) -> Self {
        Self { threads: Some(threads), ..self }
    }

    /// Adds checkpoints that were kept outside the log: one note, or the lines of an anchor file. `label` is what
    /// the report calls them, such as the file's name.
    ///
    /// # Errors
    ///
    /// When the text is neither.
    pub fn with_checkpoints(mut self, label: &str, text: &str) -> Result<Self, GivenError> {
        if !text.starts_with('{') {
            let checkpoint = Checkpoint::parse(text)
                .map_err(|source| GivenError::Checkpoint { label: label.to_owned(), source })?;
            self.given.push(Given { label: label.to_owned(), note: text.to_owned(), checkpoint });
            return Ok(self);
        }
        for (number, line) in (1_u64..).zip(text.split_inclusive('\n')) {
            // A line that is not JSON was cut off by a crash, and was never promised to anybody.
            if serde_json::from_str::<IgnoredAny>(line).is_err() {
                continue;
            }
            let label = format!("{label} line {number}");
            let line: CheckpointLine = object(line.as_bytes())
                .map_err(|reason| GivenError::Line { label: label.clone(), reason })?;
            let checkpoint = Checkpoint::parse(&line.checkpoint)
                .map_err(|source| GivenError::Checkpoint { label: label.clone(), source })?;
            self.given.push(Given { label, note: line.checkpoint, checkpoint });
        }
        Ok(self)
    }
}

/// Why a text is no checkpoint to verify against.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GivenError {
    /// It is not a checkpoint.
    #[error("{label} is not a checkpoint")]
    Checkpoint {
        /// Which one.
        label: String,
        /// Why.
        #[source]
        source: CheckpointError,
    },
    /// It is not a line of an anchor file.
    #[error("{label} is not a line of an anchor: {reason}")]
    Line {
        /// Which one.
        label: String,
        /// Why.
        reason: String,
    },
}
