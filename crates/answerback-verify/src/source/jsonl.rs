//! Reads an export as JSON lines: a first line, entries in order, checkpoints.

use std::{borrow::Cow, fs, path::Path};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{
    LogSource, SourceClaims, SourceEntry, SourceError, SourceRecord, SourceTile, StoredTiles,
    lines::{DecodedPart, PartLine, SourceCheckpointLines, SourceLines, bytes_of, object},
};
use crate::{checkpoint::decimal, hash::MerkleHash};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceFirstLine {
    answerback_ledger: u64,
    origin: String,
    vkey: String,
    from: String,
    size: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceRangeLine {
    range: SourceRange,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceRange {
    from: String,
    hashes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceEntryLine<'a> {
    #[serde(borrow)]
    index: Cow<'a, str>,
    #[serde(borrow)]
    leaf: Cow<'a, str>,
    #[serde(borrow, default)]
    parts: Vec<PartLine<'a>>,
    /// OpenTelemetry names for data in the leaf. The verifier does not check them.
    #[serde(default, rename = "otel")]
    _otel: Option<IgnoredAny>,
}

/// The prefix of every checkpoint line, which no other line has.
const CHECKPOINT: &[u8] = b"{\"checkpoint\":";

/// An export as JSON lines.
pub struct JsonLines {
    path: std::path::PathBuf,
    claims: SourceClaims,
    subtrees: Option<Vec<MerkleHash>>,
    entries_at: u64,
    checkpoints_at: u64,
}

impl JsonLines {
    /// Opens an export and reads the lines before its entries.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or is not an export.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let mut lines = SourceLines::open(path)?;
        let first = match lines.next() {
            Ok(first) => {
                first.ok_or("it is missing".to_owned()).and_then(object::<SourceFirstLine>)
            }
            Err(SourceError::Malformed { reason, .. }) => Err(reason),
            Err(error) => return Err(error),
        };
        let first = first
            .map_err(|reason| SourceError::not_a_ledger(path, format!("first line: {reason}")))?;
        if first.answerback_ledger != 1 {
            let reason = format!("version {} of the format is unknown", first.answerback_ledger);
            return Err(SourceError::not_a_ledger(path, reason));
        }
        let number = |text: &str| {
            decimal(text.as_bytes()).ok_or_else(|| {
                SourceError::not_a_ledger(path, "first line: from or size is not a number")
            })
        };
        let (from, size) = (number(&first.from)?, number(&first.size)?);
        let mut subtrees = None;
        if from > 0 {
            let range = lines.next()?.map(object::<SourceRangeLine>);
            let Some(Ok(SourceRangeLine { range })) = range else {
                return Err(lines.malformed("an export that starts above 0 needs a range line"));
            };
            let hashes: Option<Vec<MerkleHash>> =
                range.hashes.iter().map(|hash| MerkleHash::from_base64(hash)).collect();
            let (true, Some(hashes)) = (range.from == first.from, hashes) else {
                return Err(lines.malformed(
                    "the range is not that of the first line, or has a malformed hash",
                ));
            };
            subtrees = Some(hashes);
        }
        lines.next()?;
        let entries_at = lines.offset();
        let checkpoints_at = first_checkpoint(path, &mut lines, entries_at)?;
        let claims = SourceClaims {
            origin: first.origin,
            vkey: first.vkey,
            from,
            size,
            missing_needs_prune: false,
            head: None,
            tiles: StoredTiles::None,
        };
        Ok(Self { path: path.to_owned(), claims, subtrees, entries_at, checkpoints_at })
    }
}

/// Finds the first checkpoint with a binary search, because all checkpoints follow the entries.
fn first_checkpoint(path: &Path, lines: &mut SourceLines, from: u64) -> Result<u64, SourceError> {
    let length = fs::metadata(path).map_err(|error| SourceError::read(path, error))?.len();
    let (mut low, mut high) = (from, length);
    while low < high {
        let middle = low + (high - low) / 2;
        let start = lines.line_start(middle)?;
        lines.seek(start)?;
        if start >= high || lines.next()?.is_none_or(|line| line.starts_with(CHECKPOINT)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    lines.line_start(low)
}

/// Parses the line of an entry: index, leaf, parts.
fn decode(line: &[u8]) -> Result<(u64, Vec<u8>, DecodedPart), String> {
    let entry: SourceEntryLine<'_> = object(line)?;
    let index = decimal(entry.index.as_bytes()).ok_or("the index is not a number")?;
    let leaf = bytes_of(&entry.leaf).ok_or("the leaf is not base64")?;
    let parts = DecodedPart::of(&entry.parts).ok_or("a part is not base64")?;
    Ok((index, leaf, parts))
}

impl LogSource for JsonLines {
    fn claims(&self) -> &SourceClaims {
        &self.claims
    }

    fn read(&mut self, visit: &mut dyn FnMut(SourceRecord<'_>)) -> Result<(), SourceError> {
        let mut checkpoints = SourceLines::open(&self.path)?;
        checkpoints.seek(self.checkpoints_at)?;
        let mut checkpoints = SourceCheckpointLines::new(checkpoints)?;
        let mut lines = SourceLines::open(&self.path)?.with_end(self.checkpoints_at);
        lines.seek(self.entries_at)?;
        if let Some(subtrees) = &self.subtrees {
            visit(SourceRecord::Subtrees(subtrees));
        }
        let mut size = self.claims.from;
        loop {
            while let Some(note) = checkpoints.up_to(size)? {
                visit(SourceRecord::Checkpoint { note: &note, filed_under: None });
            }
            let Some(decoded) = lines.next()?.map(decode) else { break };
            let (index, leaf, parts) = decoded.map_err(|reason| lines.malformed(reason))?;
            visit(SourceRecord::Entry(SourceEntry {
                index,
                leaf: &leaf,
                parts: &parts.parts(),
                columns: None,
            }));
            size = index.saturating_add(1);
        }
        while let Some(note) = checkpoints.up_to(u64::MAX)? {
            visit(SourceRecord::Checkpoint { note: &note, filed_under: None });
        }
        Ok(())
    }

    fn read_tiles(&mut self, _: &mut dyn FnMut(SourceTile<'_>)) -> Result<(), SourceError> {
        Ok(())
    }
}
