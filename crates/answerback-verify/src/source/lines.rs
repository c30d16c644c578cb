//! Reads the lines of exports, anchors and parts files.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use data_encoding::BASE64;
use serde::Deserialize;

use super::{SourceError, SourcePart};
use crate::checkpoint::decimal;

/// The maximum length of a line in bytes. The store does not write entries with more content.
const LONGEST_LINE: u64 = 1 << 28;

/// A part in a line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartLine<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    salt: Cow<'a, str>,
    #[serde(borrow)]
    bytes: Cow<'a, str>,
}

/// A line with a checkpoint.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceCheckpointLine {
    pub(crate) checkpoint: String,
}

/// The decoded parts of one entry.
#[derive(Default)]
pub(super) struct DecodedPart {
    names: Vec<String>,
    bytes: Vec<(Vec<u8>, Vec<u8>)>,
}

impl DecodedPart {
    pub(super) fn of(parts: &[PartLine<'_>]) -> Option<Self> {
        let mut decoded = Self::default();
        for part in parts {
            decoded.names.push(part.name.clone().into_owned());
            decoded.bytes.push((bytes_of(&part.salt)?, bytes_of(&part.bytes)?));
        }
        Some(decoded)
    }

    pub(super) fn parts(&self) -> Vec<SourcePart<'_>> {
        let parts = self.names.iter().zip(&self.bytes);
        parts
            .map(|(name, (salt, bytes))| SourcePart { name: name.as_bytes(), salt, bytes })
            .collect()
    }
}

/// Parses a line that contains an object. (Serde would also accept a list for a struct.)
pub(crate) fn object<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, String> {
    if line.first() != Some(&b'{') {
        return Err("it is not an object".to_owned());
    }
    serde_json::from_slice(line).map_err(|error| error.to_string())
}

pub(super) fn bytes_of(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text.as_bytes()).ok()
}

/// Returns the size in a checkpoint's note, if there is one. It determines the note's position
/// among the entries.
pub(super) fn size_of_note(note: &str) -> Option<u64> {
    decimal(note.split('\n').nth(1)?.as_bytes())
}

/// Reads a file line by line into one buffer.
pub(super) struct SourceLines {
    path: PathBuf,
    reader: BufReader<File>,
    line: Vec<u8>,
    number: u64,
    offset: u64,
    end: u64,
}

impl SourceLines {
    pub(super) fn open(path: &Path) -> Result<Self, SourceError> {
        let file = File::open(path).map_err(|error| SourceError::read(path, error))?;
        let reader = BufReader::with_capacity(1 << 17, file);
        Ok(Self {
            path: path.to_owned(),
            reader,
            line: Vec::new(),
            number: 0,
            offset: 0,
            end: u64::MAX,
        })
    }

    /// Stops before the first line that starts at or after this offset.
    pub(super) fn with_end(self, end: u64) -> Self {
        Self { end, ..self }
    }

    /// Returns the next line without its line feed, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, SourceError> {
        self.offset += self.line.len() as u64;
        self.line.clear();
        if self.offset >= self.end {
            return Ok(None);
        }
        let read = (&mut self.reader).take(LONGEST_LINE).read_until(b'\n', &mut self.line);
        if read.map_err(|error| SourceError::read(&self.path, error))? == 0 {
            return Ok(None);
        }
        self.number += 1;
        match self.line.split_last() {
            Some((b'\n', line)) => Ok(Some(line)),
            _ => Err(self.malformed("the line has no end")),
        }
    }

    /// Returns the offset of the last line that was read.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn seek(&mut self, offset: u64) -> Result<(), SourceError> {
        self.line.clear();
        self.offset = offset;
        let sought = self.reader.seek(SeekFrom::Start(offset));
        sought.map(drop).map_err(|error| SourceError::read(&self.path, error))
    }

    /// Returns the first offset at or after `offset` at which a line starts.
    pub(super) fn line_start(&mut self, offset: u64) -> Result<u64, SourceError> {
        // A line starts at offset 0 or after a line feed, so look from one byte before.
        let Some(before) = offset.checked_sub(1) else { return Ok(0) };
        self.seek(before)?;
        let skipped =
            skip_line(&mut self.reader).map_err(|error| SourceError::read(&self.path, error))?;
        Ok(before + skipped)
    }

    /// Creates the error for the last line that was read.
    pub(super) fn malformed(&self, reason: impl ToString) -> SourceError {
        SourceError::malformed(&self.path, format!("line {}", self.number), reason)
    }
}

fn skip_line(reader: &mut impl BufRead) -> io::Result<u64> {
    reader.skip_until(b'\n').map(|skipped| skipped as u64)
}

/// Reads checkpoint lines one ahead, so that they can be merged with entries.
pub(super) struct SourceCheckpointLines {
    lines: SourceLines,
    next: Option<(u64, String)>,
}

impl SourceCheckpointLines {
    pub(super) fn new(lines: SourceLines) -> Result<Self, SourceError> {
        let mut checkpoints = Self { lines, next: None };
        checkpoints.advance()?;
        Ok(checkpoints)
    }

    /// Takes the next checkpoint if its tree has at most `size` entries.
    pub(super) fn up_to(&mut self, size: u64) -> Result<Option<String>, SourceError> {
        if self.next.as_ref().is_none_or(|(next, _)| *next > size) {
            return Ok(None);
        }
        let taken = self.next.take();
        self.advance()?;
        Ok(taken.map(|(_, note)| note))
    }

    fn advance(&mut self) -> Result<(), SourceError> {
        let Some(line) = self.lines.next()?.map(object::<SourceCheckpointLine>) else {
            return Ok(());
        };
        let note = line.map_err(|reason| self.lines.malformed(reason))?.checkpoint;
        // A note without a size is malformed. Pass it on immediately, so that the verifier reports
        // it.
        self.next = Some((size_of_note(&note).unwrap_or(0), note));
        Ok(())
    }
}
