//! Compares cases and retry states, which are rows outside the tree, with the entries that record
//! them.
//!
//! An entry about a case has a part `effect`, which records how its transaction changed the rows. A
//! row that differs was edited later. Rows that no entry records, such as those of older programs,
//! are counted but not checked.

use std::collections::HashMap;

use serde::Deserialize;

use crate::{
    examine::shown,
    hash::MerkleHash,
    leaf::{EntryKind, LeafMember, ParsedLeaf},
    report::{FindingCollector, Level, VerifyFailure},
    source::{LogSource, SourceEntry, SourceError, StoredAttempt, StoredCase, StoredState, object},
};

/// The name of the part that records effects.
const EFFECT: &[u8] = b"effect";

/// The margin by which a state may be missing before its expiry, in milliseconds. It allows for
/// different clocks of the store and the verifier.
const CLOCK_MARGIN: i64 = 60_000;

/// The margin by which a state may expire before its case, in milliseconds. The two are created one
/// after the other.
const EXPIRY_MARGIN: i64 = 1_000;

const UNRECORDED: &str = "case whose state no entry records (an older program wrote it, or the entry was pruned): not checkable";
const ERASED: &str =
    "case or retry state that may have lost content to a later erasure or prune: not checkable";
const NO_TIME: &str =
    "blocked retry state that is missing and may have expired: give the time to check it";

/// The content of a part `effect`.
#[derive(Deserialize)]
struct RecordedEffects {
    #[serde(default)]
    cases: Vec<RecordedCaseEffect>,
    #[serde(default)]
    attempts: Vec<RecordedAttemptEffect>,
}

#[derive(Deserialize)]
struct RecordedCaseEffect {
    id: String,
    revision: u64,
    status: RecordedStatus,
    expires: i64,
    body_sha256: String,
    content_sha256: String,
}

#[derive(Deserialize)]
struct RecordedAttemptEffect {
    case: String,
    key_sha256: String,
    phase: RecordedPhase,
    expires: i64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RecordedStatus {
    Open,
    Deferred,
    Decided,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RecordedPhase {
    Blocked,
    Stopped,
    Open,
    None,
}

/// A case according to the newest entry about it.
#[derive(Default)]
struct RecordedCase {
    /// The index of the newest entry about it.
    index: u64,
    content: Option<MerkleHash>,
    row: Option<RecordedRow>,
    /// The newest decision. It is checked only if no effect records more.
    decision: Option<String>,
    digest: Option<MerkleHash>,
    /// The SHA-256 of the retry key that the case blocks.
    key: Option<MerkleHash>,
}

struct RecordedRow {
    revision: u64,
    status: RecordedStatus,
    expires: i64,
    body: MerkleHash,
}

/// A retry state according to the newest entry about it.
struct LoggedAttempt {
    index: u64,
    case: String,
    phase: RecordedPhase,
    expires: i64,
}

/// The cases and retry states that the entries so far record.
#[derive(Default)]
pub(crate) struct RecordedStates {
    cases: HashMap<String, RecordedCase>,
    attempts: HashMap<MerkleHash, LoggedAttempt>,
    /// The newest entry that erased or pruned. It may have removed content of older rows.
    removal: Option<u64>,
}

/// The members of a stored case that are checked.
#[derive(Deserialize)]
struct CaseBody {
    id: String,
    digest: String,
    revision: u64,
    state: CaseStateBody,
}

#[derive(Deserialize)]
struct CaseStateBody {
    status: RecordedStatus,
    submission: Option<RecordedSubmission>,
}

#[derive(Deserialize)]
struct RecordedSubmission {
    decision: String,
    by: Option<String>,
    arguments: Option<serde_json::Value>,
    reason: Option<String>,
    message: Option<String>,
}

impl RecordedSubmission {
    /// True if the person's words are missing, as after an erasure.
    fn is_wordless(&self) -> bool {
        self.by.is_none()
            && self.arguments.as_ref().is_none_or(serde_json::Value::is_null)
            && self.reason.is_none()
            && self.message.as_deref().is_none_or(str::is_empty)
    }
}

/// The members of a stored retry state that are checked.
#[derive(Deserialize)]
struct AttemptBody {
    phase: AttemptPhase,
    expires: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum AttemptPhase {
    Open,
    Blocked { case: String },
    Stopped {},
}

impl RecordedStates {
    /// Processes the effects that an entry records.
    pub(crate) fn take(
        &mut self,
        entry: &SourceEntry<'_>,
        facts: &ParsedLeaf,
        findings: &mut FindingCollector,
    ) {
        match facts.kind {
            EntryKind::Erasure | EntryKind::Prune => self.removal = Some(entry.index),
            EntryKind::Escalation | EntryKind::Decision => self.take_case(entry, facts, findings),
            _ => {}
        }
    }

    fn take_case(
        &mut self,
        entry: &SourceEntry<'_>,
        facts: &ParsedLeaf,
        findings: &mut FindingCollector,
    ) {
        if facts.kind == EntryKind::Decision
            && let Some(id) = facts.text(entry.leaf, LeafMember::CaseId)
            && let Some(word) = facts.text(entry.leaf, LeafMember::Decision)
        {
            let recorded = self.cases.entry(lossy(id)).or_default();
            recorded.index = entry.index;
            recorded.decision = Some(lossy(word));
            recorded.digest = facts.hash(entry.leaf, LeafMember::Digest);
            // An entry without an effect was written by an older program, which also changed the
            // rows.
            recorded.row = None;
            if let Some(key) = recorded.key.take() {
                self.attempts.remove(&key);
            }
        }
        let is_committed = facts.parts.iter().any(|part| part.name.text(entry.leaf) == EFFECT);
        let part = entry.parts.iter().find(|part| part.name == EFFECT && is_committed);
        let Some(part) = part else { return };
        let Ok(effects) = object::<RecordedEffects>(part.bytes) else {
            let what = "part effect: it is not a record of effects";
            return fail(findings, entry.index, what.to_owned());
        };
        for case in effects.cases {
            let Some(body) = MerkleHash::from_hex(case.body_sha256.as_bytes()) else { continue };
            let recorded = self.cases.entry(case.id).or_default();
            recorded.index = entry.index;
            let (revision, status, expires) = (case.revision, case.status, case.expires);
            recorded.row = Some(RecordedRow { revision, status, expires, body });
            recorded.content = MerkleHash::from_hex(case.content_sha256.as_bytes());
        }
        for RecordedAttemptEffect { case, key_sha256, phase, expires } in effects.attempts {
            let Some(key) = MerkleHash::from_hex(key_sha256.as_bytes()) else { continue };
            if let Some(recorded) = self.cases.get_mut(&case) {
                recorded.key = Some(key);
            }
            let attempt = LoggedAttempt { index: entry.index, case, phase, expires };
            self.attempts.insert(key, attempt);
        }
    }

    /// Checks the rows of the source. `now` is in microseconds, and `last_ts` is the time of the
    /// newest entry. Without `now`, a missing state that may have expired since `last_ts` is only a
    /// warning.
    pub(crate) fn finish(
        mut self,
        source: &mut dyn LogSource,
        (now, last_ts): (Option<i64>, Option<i64>),
        findings: &mut FindingCollector,
    ) -> Result<(), SourceError> {
        let is_store = source.claims().head.is_some();
        let is_whole = source.claims().from == 0;
        let mut read = 0;
        let are_there = source.read_states(&mut |state| {
            read += 1;
            match state {
                StoredState::Case(case) => self.check_case(&case, is_whole, findings),
                StoredState::Attempt(attempt) => self.check_attempt(&attempt),
            }
        })?;
        if !are_there {
            if is_store && self.cases.values().any(|case| case.row.is_some()) {
                fail(
                    findings,
                    None,
                    "the store has no tables of cases and retry states".to_owned(),
                );
            }
            return Ok(());
        }
        findings.checked(Level::Semantics, read);
        let mut missing: Vec<_> =
            self.cases.iter().filter(|(_, case)| case.row.is_some()).collect();
        missing.sort_unstable_by_key(|(_, case)| case.index);
        for (id, case) in missing {
            let what =
                format!("case {}: the log records it and the store does not have it", text(id));
            fail(findings, case.index, what);
        }
        let mut missing: Vec<_> = self
            .attempts
            .values()
            .filter(|attempt| {
                matches!(attempt.phase, RecordedPhase::Blocked | RecordedPhase::Stopped)
            })
            .collect();
        missing.sort_unstable_by_key(|attempt| attempt.index);
        for attempt in missing {
            self.missing_attempt(attempt, now, last_ts, findings);
        }
        Ok(())
    }

    /// Reports a missing retry state that should block a tool, unless it may have expired.
    fn missing_attempt(
        &self,
        attempt: &LoggedAttempt,
        now: Option<i64>,
        last_ts: Option<i64>,
        findings: &mut FindingCollector,
    ) {
        let is_past = |time: Option<i64>| {
            time.is_some_and(|time| time / 1000 >= attempt.expires.saturating_sub(CLOCK_MARGIN))
        };
        if is_past(last_ts) || is_past(now) {
            return;
        }
        if self.is_removed_after(attempt.index) {
            return findings.warn(attempt.index, ERASED);
        }
        if now.is_none() {
            return findings.warn(attempt.index, NO_TIME);
        }
        let phase = if attempt.phase == RecordedPhase::Stopped { "stopped" } else { "blocked" };
        let what = format!(
            "the retry state that case {} left {phase} until {} is not in the store as recorded",
            text(&attempt.case),
            attempt.expires
        );
        fail(findings, attempt.index, what);
    }

    fn is_removed_after(&self, index: u64) -> bool {
        self.removal.is_some_and(|removal| removal > index)
    }

    fn check_case(
        &mut self,
        row: &StoredCase<'_>,
        is_whole: bool,
        findings: &mut FindingCollector,
    ) {
        let id = lossy(row.id);
        let recorded = self.cases.remove(&id);
        let index = recorded.as_ref().map(|recorded| recorded.index);
        let named = |what: &str| format!("case {}: {what}", text(&id));
        let Ok(body) = object::<CaseBody>(row.body) else {
            return fail(findings, index, named("its row is not a case"));
        };
        let status = body.state.status;
        let is_consistent = body.id.eq_ignore_ascii_case(&id)
            && row.revision == i64::try_from(body.revision).ok()
            && row.decided == Some(status == RecordedStatus::Decided);
        if !is_consistent {
            fail(findings, index, named("the columns of its row are not what its body says"));
        }
        let word = body.state.submission.as_ref().map(|submission| submission.decision.as_str());
        let Some(recorded) = recorded else {
            if status != RecordedStatus::Open && is_whole {
                return fail(findings, None, named("it is decided, and no entry says so"));
            }
            return findings.warn(None, UNRECORDED);
        };
        if let Some(content) = recorded.content
            && MerkleHash::of(row.content) != content
        {
            if row.content.is_empty() && self.is_removed_after(recorded.index) {
                findings.warn(index, ERASED);
            } else {
                fail(
                    findings,
                    index,
                    named("what the person is shown is not what the log records"),
                );
            }
        }
        let Some(stored) = &recorded.row else {
            let differs = recorded.decision.as_deref() != word
                || recorded.digest.is_some_and(|digest| body.digest != digest.to_string());
            if differs {
                fail(findings, index, named("its decision is not the one that the log records"));
            }
            return;
        };
        if row.expires != Some(stored.expires) {
            let what = named("its expiry is not the one that the log records");
            findings.fail(
                VerifyFailure::new(Level::Semantics, index, what)
                    .differs(stored.expires, row.expires.unwrap_or_default()),
            );
        }
        if MerkleHash::of(row.body) == stored.body {
            return;
        }
        let is_same_decision = status == stored.status && body.revision == stored.revision;
        let is_wordless =
            body.state.submission.as_ref().is_none_or(RecordedSubmission::is_wordless);
        if is_same_decision
            && is_wordless
            && status != RecordedStatus::Open
            && recorded.decision.as_deref() == word
            && recorded.digest.is_none_or(|digest| body.digest == digest.to_string())
            && self.is_removed_after(recorded.index)
        {
            return findings.warn(index, ERASED);
        }
        fail(findings, index, named("its state is not the one that the log records"));
    }

    /// Removes a retry state that matches its record from those to report. A state that differs may
    /// have been created again after it expired, so the row alone proves nothing.
    fn check_attempt(&mut self, row: &StoredAttempt<'_>) {
        let key = MerkleHash::of(row.key);
        let Some(recorded) = self.attempts.get(&key) else { return };
        let Ok(body) = object::<AttemptBody>(row.state) else { return };
        let is_phase = match &body.phase {
            AttemptPhase::Open => false,
            AttemptPhase::Blocked { case } => {
                recorded.phase == RecordedPhase::Blocked
                    && case.eq_ignore_ascii_case(&recorded.case)
            }
            AttemptPhase::Stopped {} => recorded.phase == RecordedPhase::Stopped,
        };
        let is_lasting = body.expires >= recorded.expires.saturating_sub(EXPIRY_MARGIN);
        if is_phase && is_lasting && row.blocked == Some(true) && row.expires == Some(body.expires)
        {
            self.attempts.remove(&key);
        }
    }
}

fn fail(findings: &mut FindingCollector, index: impl Into<Option<u64>>, what: String) {
    findings.fail(VerifyFailure::new(Level::Semantics, index, what));
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn text(id: &str) -> String {
    shown(id.as_bytes())
}
