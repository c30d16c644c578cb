//! The lines of export files.

use std::io::{self, Write};

use answerback_ledger::Part;
use data_encoding::BASE64;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// The first line of an export.
#[derive(Serialize)]
pub(super) struct FirstLine<'a> {
    pub(super) answerback_ledger: u8,
    pub(super) origin: &'a str,
    pub(super) vkey: &'a str,
    #[serde(serialize_with = "decimal")]
    pub(super) from: u64,
    #[serde(serialize_with = "decimal")]
    pub(super) size: u64,
}

/// The line with the subtree hashes to the left of the first entry.
#[derive(Serialize)]
pub(super) struct RangeLine {
    pub(super) range: RangeOf,
}

#[derive(Serialize)]
pub(super) struct RangeOf {
    #[serde(serialize_with = "decimal")]
    pub(super) from: u64,
    pub(super) hashes: Vec<String>,
}

/// The line of an entry.
#[derive(Serialize)]
pub(super) struct EntryLine {
    #[serde(serialize_with = "decimal")]
    pub(super) index: u64,
    pub(super) leaf: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<PartOf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) otel: Option<Map<String, Value>>,
}

/// The content of an entry, which a tiles export writes to a separate file.
#[derive(Serialize)]
pub(super) struct PartsLine {
    #[serde(serialize_with = "decimal")]
    pub(super) index: u64,
    pub(super) parts: Vec<PartOf>,
}

#[derive(Serialize)]
pub(super) struct PartOf {
    name: String,
    salt: String,
    bytes: String,
}

impl PartOf {
    pub(super) fn all(parts: &[Part]) -> Vec<Self> {
        let line = |part: &Part| Self {
            name: part.name().to_string(),
            salt: BASE64.encode(part.salt().as_bytes()),
            bytes: BASE64.encode(part.bytes()),
        };
        parts.iter().map(line).collect()
    }
}

/// The line of a checkpoint.
#[derive(Serialize)]
pub(super) struct CheckpointLine<'a> {
    pub(super) checkpoint: &'a str,
}

/// Writes one line.
pub(super) fn write(output: &mut dyn Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, line)?;
    output.write_all(b"\n")
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires this signature")]
fn decimal<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}
