//! Missing parts, and the entries that record their erasure.

use std::collections::{HashMap, HashSet};

use crate::{
    leaf::{LeafMember, ParsedLeaf},
    report::{FindingCollector, Level, VerifyFailure},
    source::{LogSource, SourceEntry, SourceError, SourceRecord},
};

/// An erasure whose part was not among the missing ones when it was read.
struct UnresolvedPart {
    by: u64,
    name: u32,
}

/// Collects the missing parts and the erasures.
#[derive(Default)]
pub(crate) struct Erasures {
    /// The number of each part name. There are few names, so storing numbers saves memory.
    names: HashMap<String, u32>,
    missing: HashSet<(u64, u32)>,
    unresolved: HashMap<u64, Vec<UnresolvedPart>>,
    erased: u64,
}

impl Erasures {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.names.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.insert(name.to_owned(), number);
        number
    }

    /// Returns the number of missing parts that have an erasure entry.
    pub(crate) fn erased(&self) -> u64 {
        self.erased
    }

    /// Records a missing part.
    pub(crate) fn miss(&mut self, index: u64, name: &str) {
        let name = self.number(name);
        self.missing.insert((index, name));
    }

    /// Processes an erasure entry.
    pub(crate) fn take(
        &mut self,
        entry: &SourceEntry<'_>,
        facts: &ParsedLeaf,
        from: u64,
        findings: &mut FindingCollector,
    ) {
        let (Some(target), Some(name)) = (
            facts.number(entry.leaf, LeafMember::TargetIndex),
            facts.text(entry.leaf, LeafMember::TargetPart),
        ) else {
            return;
        };
        if target >= entry.index {
            let what = format!("it erases a part of entry {target}, which is not before it");
            return findings.fail(VerifyFailure::new(Level::Semantics, entry.index, what));
        }
        if target < from {
            return findings.warn(
                entry.index,
                "erasure of a part of an entry that is not here: not checkable",
            );
        }
        let name = self.number(&String::from_utf8_lossy(name));
        if self.missing.remove(&(target, name)) {
            self.erased += 1;
        } else {
            self.unresolved
                .entry(target)
                .or_default()
                .push(UnresolvedPart { by: entry.index, name });
        }
    }

    /// Reports parts that are missing without an erasure entry, and erasures whose part is not
    /// missing. For the latter it reads the log a second time, which a valid log never needs.
    pub(crate) fn finish(
        self,
        source: &mut dyn LogSource,
        below: u64,
        findings: &mut FindingCollector,
    ) -> Result<(), SourceError> {
        let names: HashMap<u32, &str> =
            self.names.iter().map(|(name, number)| (*number, name.as_str())).collect();
        let mut missing: Vec<_> =
            self.missing.iter().filter(|(index, _)| *index >= below).collect();
        missing.sort_unstable();
        for (index, name) in missing {
            let what = format!(
                "part {}: it is missing, and no entry says that it was erased",
                names[name]
            );
            findings.fail(VerifyFailure::new(Level::Content, *index, what));
        }
        if self.unresolved.is_empty() {
            return Ok(());
        }
        source.read(&mut |record| {
            let SourceRecord::Entry(entry) = record else { return };
            let Some(erasures) = self.unresolved.get(&entry.index) else { return };
            let Ok(facts) = ParsedLeaf::read(entry.leaf) else { return };
            for UnresolvedPart { by, name } in erasures {
                let name = names[name];
                let committed =
                    facts.parts.iter().any(|part| part.name.text(entry.leaf) == name.as_bytes());
                let present = entry.parts.iter().any(|part| part.name == name.as_bytes());
                if !committed {
                    let what =
                        format!("it erases part {name} of entry {}, which had none", entry.index);
                    findings.fail(VerifyFailure::new(Level::Semantics, *by, what));
                } else if present {
                    let what = format!(
                        "part {name}: it is there, though entry {by} says that it was erased"
                    );
                    findings.fail(VerifyFailure::new(Level::Content, entry.index, what));
                }
            }
        })
    }
}
