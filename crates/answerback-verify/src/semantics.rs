//! Checks entries in relation to each other: times, requests and their responses, and the manifest
//! and lock in force.

use std::collections::BTreeMap;

use crate::{
    governance::LoggedGovernance,
    leaf::{EntryKind, LeafMember, ParsedLeaf},
    report::{FindingCollector, Level, VerifyFailure},
    source::SourceEntry,
    time,
};

const ORPHAN: &str = "request without an answer: the process may have been ended in between";

/// The name of the part with the clock's reading, if `ts` is ahead of it.
const OBSERVED: &[u8] = b"observed_ts";

const AHEAD: &str = "entry whose ts is ahead of the clock: part observed_ts has its reading";

const ADOPTED: &str =
    "entry that adopts a log restored from an older copy: what was signed after that copy is gone";

/// A request without a response so far.
struct UnansweredRequest {
    /// The id as text. A UUID has only one spelling in a leaf.
    request_id: Option<[u8; 36]>,
    /// True if a rejected response exists, so that the request is not reported as unanswered.
    rejected: bool,
}

/// The state needed from earlier entries: one bit per entry, and the unanswered requests.
pub(crate) struct Semantics {
    from: u64,
    /// The number of entries so far.
    taken: u64,
    last_ts: Option<i64>,
    /// Few requests are unanswered at a time, so a sorted map is faster than hashing.
    waiting: BTreeMap<u64, UnansweredRequest>,
    answered: Bits,
    governance: LoggedGovernance,
}

impl Semantics {
    pub(crate) fn new(from: u64) -> Self {
        Self {
            from,
            taken: 0,
            last_ts: None,
            waiting: BTreeMap::new(),
            answered: Bits::default(),
            governance: LoggedGovernance::new(from > 0),
        }
    }

    pub(crate) fn last_ts(&self) -> Option<i64> {
        self.last_ts
    }

    pub(crate) fn take(
        &mut self,
        entry: &SourceEntry<'_>,
        facts: &ParsedLeaf,
        findings: &mut FindingCollector,
    ) {
        if let Some(last) = self.last_ts
            && facts.ts <= last
        {
            let failure = VerifyFailure::new(
                Level::Semantics,
                entry.index,
                "ts is not after the entry before",
            );
            findings.fail(failure.differs(format!("more than {last}"), facts.ts));
        }
        self.last_ts = Some(facts.ts);
        self.taken += 1;
        if facts.parts.iter().any(|part| part.name.text(entry.leaf) == OBSERVED) {
            check_reading(entry, facts.ts, findings);
        }
        match facts.kind {
            EntryKind::Request => {
                let request_id = request_id(entry, facts);
                self.waiting.insert(entry.index, UnansweredRequest { request_id, rejected: false });
                self.governance.check(entry, facts, findings);
            }
            EntryKind::Response | EntryKind::Rejected => {
                self.answer(entry, facts, findings);
                self.governance.check(entry, facts, findings);
            }
            EntryKind::Config => {
                if facts.text(entry.leaf, LeafMember::Outcome) == Some(b"adopted") {
                    findings.warn(entry.index, ADOPTED);
                }
                self.governance.log(entry, facts, findings);
            }
            _ => {}
        }
    }

    fn answer(
        &mut self,
        entry: &SourceEntry<'_>,
        facts: &ParsedLeaf,
        findings: &mut FindingCollector,
    ) {
        // A reply has no index if its request did not come through the log.
        let Some(request) = facts.number(entry.leaf, LeafMember::RequestIndex) else { return };
        if request < self.from {
            return findings
                .warn(entry.index, "answer to a request that is not here: not checkable");
        }
        let fail = |what: String| VerifyFailure::new(Level::Semantics, entry.index, what);
        let Some(waiting) = self.waiting.get_mut(&request) else {
            return match self.answered.has(request - self.from) {
                // A rejected response after the accepted one was not delivered.
                true if facts.kind == EntryKind::Rejected => {}
                true => findings.fail(fail(format!("request {request} is answered a second time"))),
                false => findings.fail(fail(format!("entry {request} is not a request before it"))),
            };
        };
        let answered_id = request_id(entry, facts);
        if let (Some(request_id), Some(answered_id)) = (waiting.request_id, answered_id)
            && request_id != answered_id
        {
            findings.fail(fail(format!("request_id is not that of request {request}")));
        }
        if facts.kind == EntryKind::Rejected {
            waiting.rejected = true;
        } else {
            self.waiting.remove(&request);
            // In a valid log, the index is below the number of entries. In a tampered log it may be
            // anything, and must not determine the memory use.
            if request - self.from < self.taken {
                self.answered.set(request - self.from);
            }
        }
    }

    /// Reports requests that were never answered.
    pub(crate) fn finish(self, findings: &mut FindingCollector) {
        let orphans = self.waiting.iter().filter(|(_, waiting)| !waiting.rejected);
        for (index, _) in orphans {
            findings.warn(*index, ORPHAN);
        }
    }
}

/// Checks the clock's reading in an entry. An erased reading is not checked.
fn check_reading(entry: &SourceEntry<'_>, ts: i64, findings: &mut FindingCollector) {
    findings.warn(entry.index, AHEAD);
    let Some(part) = entry.parts.iter().find(|part| part.name == OBSERVED) else { return };
    if time::micros(part.bytes).is_none_or(|reading| reading >= ts) {
        let what = "part observed_ts: it is not a time before ts";
        findings.fail(VerifyFailure::new(Level::Semantics, entry.index, what));
    }
}

fn request_id(entry: &SourceEntry<'_>, facts: &ParsedLeaf) -> Option<[u8; 36]> {
    facts.text(entry.leaf, LeafMember::RequestId)?.try_into().ok()
}

/// A set of small numbers.
#[derive(Default)]
struct Bits {
    words: Vec<u64>,
}

impl Bits {
    fn has(&self, number: u64) -> bool {
        let word = usize::try_from(number / 64).ok().and_then(|word| self.words.get(word));
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    fn set(&mut self, number: u64) {
        let Ok(word) = usize::try_from(number / 64) else { return };
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (number % 64);
    }
}
