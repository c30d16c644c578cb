//! The options of a verification: trusted keys, checkpoints from outside the log, and the number of
//! threads.

use std::num::NonZeroUsize;

use serde::de::IgnoredAny;

use crate::{
    checkpoint::{LogCheckpoint, LogCheckpointError},
    cosignature::CosignerKey,
    note::NoteVerifierKey,
    source::{SourceCheckpointLine, object},
};

/// A checkpoint from outside the log.
#[derive(Clone, Debug)]
pub(crate) struct OutsideCheckpoint {
    pub(crate) label: String,
    pub(crate) note: String,
    pub(crate) checkpoint: LogCheckpoint,
}

/// Configures a verification.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct VerifyOptions {
    pub(crate) vkeys: Vec<NoteVerifierKey>,
    pub(crate) witnesses: Vec<CosignerKey>,
    pub(crate) outside_checkpoints: Vec<OutsideCheckpoint>,
    pub(crate) threads: Option<NonZeroUsize>,
    pub(crate) now: Option<i64>,
}

impl VerifyOptions {
    /// Creates options that trust the key in the log itself, without checkpoints from outside.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts a key. One of the trusted keys must be among the log's keys, at its start or after a
    /// rotation.
    pub fn with_vkey(mut self, key: NoteVerifierKey) -> Self {
        self.vkeys.push(key);
        self
    }

    /// Requires a cosignature of this witness under a checkpoint, from the log or from outside.
    pub fn with_witness(mut self, key: CosignerKey) -> Self {
        self.witnesses.push(key);
        self
    }

    /// Sets the time, in microseconds since 1970. Retry states expire, so a missing one is a
    /// failure only if the time is set.
    pub fn with_time(self, micros: i64) -> Self {
        Self { now: Some(micros), ..self }
    }

    /// Sets the number of threads. The default is the number of cores.
    pub fn with_threads(self, threads: NonZeroUsize) -> Self {
        Self { threads: Some(threads), ..self }
    }

    /// Adds checkpoints from outside the log: one note, or the lines of an anchor file. `label`
    /// names them in the report, for example the file's name.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is neither.
    pub fn with_checkpoints(
        mut self,
        label: &str,
        text: &str,
    ) -> Result<Self, OutsideCheckpointError> {
        if !text.starts_with('{') {
            let checkpoint = LogCheckpoint::parse(text).map_err(|source| {
                OutsideCheckpointError::Checkpoint { label: label.to_owned(), source }
            })?;
            self.outside_checkpoints.push(OutsideCheckpoint {
                label: label.to_owned(),
                note: text.to_owned(),
                checkpoint,
            });
            return Ok(self);
        }
        for (number, line) in (1_u64..).zip(text.split_inclusive('\n')) {
            // A line that is not JSON was truncated by a crash, so it never protected any entry.
            if serde_json::from_str::<IgnoredAny>(line).is_err() {
                continue;
            }
            let label = format!("{label} line {number}");
            let line: SourceCheckpointLine = object(line.as_bytes())
                .map_err(|reason| OutsideCheckpointError::Line { label: label.clone(), reason })?;
            let checkpoint = LogCheckpoint::parse(&line.checkpoint).map_err(|source| {
                OutsideCheckpointError::Checkpoint { label: label.clone(), source }
            })?;
            self.outside_checkpoints.push(OutsideCheckpoint {
                label,
                note: line.checkpoint,
                checkpoint,
            });
        }
        Ok(self)
    }
}

/// Explains why a text contains no checkpoint to verify against.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutsideCheckpointError {
    /// The text is not a checkpoint.
    #[error("{label} is not a checkpoint")]
    Checkpoint {
        /// The label of the text.
        label: String,
        /// The reason.
        #[source]
        source: LogCheckpointError,
    },
    /// A line is not a line of an anchor file.
    #[error("{label} is not a line of an anchor: {reason}")]
    Line {
        /// The label of the line.
        label: String,
        /// The reason.
        reason: String,
    },
}
