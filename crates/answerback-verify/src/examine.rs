//! Checks a single entry: its form, its columns and its parts.
//!
//! These checks are most of the work. They need no other entry, so they run on all cores.

use crate::{
    hash::MerkleHash,
    leaf::{LeafMember, ParsedLeaf},
    report::{Level, VerifyFailure},
    source::{EntryColumns, SourceEntry, SourcePart},
};

/// The length of a salt in bytes.
const SALT: usize = 32;

/// The results of checking one entry.
#[derive(Debug)]
pub(crate) struct EntryCheck {
    pub(crate) leaf_hash: MerkleHash,
    /// The parsed leaf, or `None` if it is malformed.
    pub(crate) facts: Option<ParsedLeaf>,
    pub(crate) failures: Vec<VerifyFailure>,
    /// The names of parts that the leaf commits to but the source does not have.
    pub(crate) missing: Vec<String>,
    pub(crate) parts_checked: u64,
}

/// Checks one entry. Its leaf and parts were hashed before, in a batch with others.
pub(crate) fn examine(
    entry: &SourceEntry<'_>,
    leaf_hash: MerkleHash,
    commitments: &[MerkleHash],
) -> EntryCheck {
    let mut examined = EntryCheck {
        leaf_hash,
        facts: None,
        failures: Vec::new(),
        missing: Vec::new(),
        parts_checked: 0,
    };
    match ParsedLeaf::read(entry.leaf) {
        Ok(facts) => {
            examined.check_form(entry, &facts);
            examined.check_parts(entry, &facts, commitments);
            examined.facts = Some(facts);
        }
        Err(error) => {
            let what = format!("the leaf is malformed: {error}");
            examined.failures.push(VerifyFailure::new(Level::Semantics, entry.index, what));
        }
    }
    if let Some(columns) = &entry.columns {
        examined.check_columns(entry, columns);
    }
    examined
}

impl EntryCheck {
    fn check_form(&mut self, entry: &SourceEntry<'_>, facts: &ParsedLeaf) {
        let kind = facts.kind.name();
        for member in facts
            .misplaced()
            .map(|member| -> &str { member })
            .chain(facts.unknown.iter().map(String::as_str))
        {
            let what = format!("a {kind} entry has no {member}");
            self.failures.push(VerifyFailure::new(Level::Semantics, entry.index, what));
        }
        if facts.has(LeafMember::Tool) && facts.has(LeafMember::ToolSha256) {
            let what = "an entry has tool or tool_sha256, not both";
            self.failures.push(VerifyFailure::new(Level::Semantics, entry.index, what));
        }
        for member in facts.lacking(entry.leaf) {
            let what = format!("a {kind} entry needs {member}");
            self.failures.push(VerifyFailure::new(Level::Semantics, entry.index, what));
        }
    }

    fn check_parts(
        &mut self,
        entry: &SourceEntry<'_>,
        facts: &ParsedLeaf,
        commitments: &[MerkleHash],
    ) {
        for declared in facts.parts.iter() {
            let name = declared.name.text(entry.leaf);
            let mut committed = entry.parts.iter().zip(commitments);
            let Some((part, found)) = committed.find(|(part, _)| part.name == name) else {
                self.missing.push(shown(name));
                continue;
            };
            self.parts_checked += 1;
            let failure = |what: &str| {
                VerifyFailure::new(
                    Level::Content,
                    entry.index,
                    format!("part {}: {what}", shown(name)),
                )
            };
            if part.bytes.len() as u64 != declared.length {
                self.failures
                    .push(failure("its length differs").differs(declared.length, part.bytes.len()));
            }
            if part.salt.len() != SALT {
                self.failures
                    .push(failure("its salt has another length").differs(SALT, part.salt.len()));
            }
            if *found != declared.commit {
                let what = "its bytes or its salt are not those committed to";
                self.failures.push(failure(what).differs(declared.commit, found));
            }
        }
        for (place, part) in entry.parts.iter().enumerate() {
            let declared =
                facts.parts.iter().any(|declared| declared.name.text(entry.leaf) == part.name);
            let before = entry.parts[..place]
                .iter()
                .any(|earlier: &SourcePart<'_>| earlier.name == part.name);
            if !declared || before {
                let what =
                    format!("part {}: it is extra, the leaf has no such part", shown(part.name));
                self.failures.push(VerifyFailure::new(Level::Content, entry.index, what));
            }
        }
    }

    fn check_columns(&mut self, entry: &SourceEntry<'_>, columns: &EntryColumns<'_>) {
        let mut differs = |column: &str, expected: String, actual: String| {
            let what = format!("column {column} is not what the leaf says");
            self.failures
                .push(VerifyFailure::new(Level::Root, entry.index, what).differs(expected, actual));
        };
        if columns.leaf_hash != self.leaf_hash.as_bytes() {
            differs("leaf_hash", self.leaf_hash.to_string(), hex(columns.leaf_hash));
        }
        let Some(facts) = &self.facts else { return };
        if columns.ts != facts.ts {
            differs("ts", facts.ts.to_string(), columns.ts.to_string());
        }
        if columns.kind != facts.kind.name().as_bytes() {
            differs("kind", facts.kind.name().to_owned(), shown(columns.kind));
        }
        for (column, member, actual) in [
            ("agent", LeafMember::AgentId, columns.agent),
            ("tool", LeafMember::Tool, columns.tool),
            ("outcome", LeafMember::Outcome, columns.outcome),
        ] {
            let expected = facts.text(entry.leaf, member);
            if expected != actual {
                differs(column, optional(expected, shown), optional(actual, shown));
            }
        }
        for (column, member, actual) in [
            ("request_id", LeafMember::RequestId, columns.request_id),
            ("response_id", LeafMember::ResponseId, columns.response_id),
            ("reply_id", LeafMember::ReplyId, columns.reply_id),
        ] {
            let expected = facts.uuid(entry.leaf, member);
            let expected = expected.as_ref().map(<[u8; 16]>::as_slice);
            if expected != actual {
                differs(column, optional(expected, hex), optional(actual, hex));
            }
        }
    }
}

fn optional(value: Option<&[u8]>, show: fn(&[u8]) -> String) -> String {
    value.map_or_else(|| "nothing".to_owned(), show)
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// Formats untrusted bytes for a report: at most 128 bytes, with control characters escaped.
pub(crate) fn shown(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(128)].escape_ascii().to_string()
}
