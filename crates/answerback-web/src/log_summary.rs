//! Caches the data of the lists, computed once for all open pages.
//!
//! Pages reload their lists whenever something is recorded. Entries never change, so each new entry is read once and
//! its row is stored, however many pages are open. Only an erasure removes content of an entry. It is an entry itself,
//! recorded together with the removal, and discards the rows.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use answerback_ledger::{Leaf, LeafKind};
use answerback_store::{EntryFilter, LedgerEntry, LogHead, Store, StoreError};
use serde_json::Value;

use crate::reply::{ReplyRow, ReplyView, is_passed};

/// The number of newest entries that tool outcomes are counted over.
const WINDOW: u64 = 5000;
/// The number of entries that are read at a time.
const PAGE: usize = 500;
/// The largest number of stored rows.
const MAX_ROWS: usize = 2048;
/// The largest row that is stored, in bytes. A row can name as many kinds of artifacts as its reply has.
const MAX_ROW_BYTES: usize = 8 << 10;

/// The outcomes of one tool's calls.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct ToolOutcomes {
    pub(crate) calls: u64,
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    pub(crate) rejected: u64,
    pub(crate) escalated: u64,
    pub(crate) codes: BTreeMap<String, u64>,
}

/// The outcomes by server and tool, and the index of the oldest counted entry.
pub(crate) type OutcomesByTool = (BTreeMap<(String, String), ToolOutcomes>, u64);

/// The cached data of the newest entries, for all lists.
#[derive(Debug, Default)]
pub(crate) struct LogSummary(Mutex<SummaryState>);

#[derive(Debug, Default)]
struct SummaryState {
    /// Entries below this index were read or are too old to be counted.
    read_to: u64,
    /// The newest entries.
    window: VecDeque<CallEntry>,
    kinds: Option<KindCounts>,
    rows: HashMap<u64, Arc<RowSlot>>,
    /// The indexes of the stored rows, the oldest first.
    order: VecDeque<u64>,
}

/// The slot of a row. Callers that need the same row wait for the lock instead of computing it twice.
type RowSlot = Mutex<Option<Arc<ReplyRow>>>;

/// The number of entries of each kind.
#[derive(Debug)]
struct KindCounts {
    /// The counts cover the entries from `minimum` up to, but not including, `counted_to`.
    minimum: u64,
    counted_to: u64,
    by_kind: BTreeMap<String, u64>,
}

/// The parts of an entry that matter for tool outcomes.
#[derive(Debug)]
struct CallEntry {
    index: u64,
    /// The tool's server and name. `None` for an entry about something else.
    tool: Option<(String, String)>,
    kind: LeafKind,
    outcome: Option<String>,
    codes: Vec<String>,
}

impl LogSummary {
    /// Returns the row of an entry. The parts of `entry` need not be loaded.
    pub(crate) fn row(
        &self,
        store: &Store,
        entry: &LedgerEntry,
    ) -> Result<Arc<ReplyRow>, StoreError> {
        let index = entry.index;
        let slot = Arc::clone(self.lock().rows.entry(index).or_default());
        let mut row = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(row) = &*row {
            return Ok(Arc::clone(row));
        }
        let read = store.entry(index);
        let computed = read.map(|whole| {
            let whole = whole.as_ref().unwrap_or(entry);
            Arc::new(ReplyRow::of(whole, &ReplyView::of(whole)))
        });
        let mut summary = self.lock();
        // An erasure may have discarded the slot in the meantime. Then the row is not stored.
        let is_current = summary.rows.get(&index).is_some_and(|other| Arc::ptr_eq(other, &slot));
        if is_current {
            match &computed {
                Ok(made) if made.size() <= MAX_ROW_BYTES => {
                    *row = Some(Arc::clone(made));
                    summary.mark_stored(index);
                }
                _ => drop(summary.rows.remove(&index)),
            }
        }
        computed
    }

    /// Updates the summary to the newest entry. Call it before [`Self::row`], so that rows from before an erasure are
    /// discarded.
    pub(crate) fn refresh(&self, store: &Store) -> Result<(), StoreError> {
        self.lock().refresh(store).map(drop)
    }

    /// Counts the outcomes of all tools over the newest entries.
    pub(crate) fn outcomes(&self, store: &Store) -> Result<OutcomesByTool, StoreError> {
        let mut summary = self.lock();
        let head = summary.refresh(store)?;
        while summary.window.front().is_some_and(|entry| entry.index < head.minimum) {
            summary.window.pop_front();
        }
        let mut outcomes: BTreeMap<_, ToolOutcomes> = BTreeMap::new();
        for entry in &summary.window {
            if let Some(tool) = &entry.tool {
                outcomes.entry(tool.clone()).or_default().add(entry);
            }
        }
        let since = summary.window.front().map_or(head.size, |entry| entry.index);
        Ok((outcomes, since))
    }

    /// Counts the entries of each kind.
    pub(crate) fn kinds(&self, store: &Store) -> Result<BTreeMap<String, u64>, StoreError> {
        let mut summary = self.lock();
        let head = summary.refresh(store)?;
        if let Some(counts) = summary.kinds.as_ref().filter(|counts| counts.minimum == head.minimum)
        {
            return Ok(counts.by_kind.clone());
        }
        let totals = store.totals()?.kinds.into_iter();
        let by_kind: BTreeMap<String, u64> =
            totals.map(|(kind, count)| (kind.as_str().to_owned(), count)).collect();
        // Entries may have been recorded since the head was read, so the sum of the counts tells how far they reach.
        let counted_to = head.minimum + by_kind.values().sum::<u64>();
        let counts = KindCounts { minimum: head.minimum, counted_to, by_kind: by_kind.clone() };
        summary.kinds = Some(counts);
        Ok(by_kind)
    }

    fn lock(&self) -> MutexGuard<'_, SummaryState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SummaryState {
    /// Reads the entries that are new since the last call.
    fn refresh(&mut self, store: &Store) -> Result<LogHead, StoreError> {
        let head = store.head()?;
        // If the log was replaced, or grew by more than the window, the summary starts over.
        if head.size < self.read_to || head.size - self.read_to > WINDOW {
            let read_to = head.size.saturating_sub(WINDOW).max(head.minimum);
            *self = Self { read_to, ..Self::default() };
        }
        while self.read_to < head.size {
            let before = self.read_to.checked_sub(1);
            let page = store.entries(&EntryFilter::default(), before, PAGE)?;
            // Pruned entries are skipped.
            let Some(last) = page.entries.last().map(|entry| entry.index) else {
                self.read_to = head.size;
                break;
            };
            for entry in page.entries {
                self.add_entry(entry.index, &entry.leaf);
            }
            self.read_to = last + 1;
        }
        Ok(head)
    }

    fn add_entry(&mut self, index: u64, leaf: &Leaf) {
        if leaf.kind() == LeafKind::Erasure {
            self.rows.clear();
            self.order.clear();
        }
        if let Some(counts) = self.kinds.as_mut().filter(|counts| counts.counted_to == index) {
            *counts.by_kind.entry(leaf.kind().as_str().to_owned()).or_default() += 1;
            counts.counted_to += 1;
        }
        self.window.push_back(CallEntry::of(index, leaf));
        if self.window.len() as u64 > WINDOW {
            self.window.pop_front();
        }
    }

    /// Records that a row is stored, and discards the oldest row if there are too many.
    fn mark_stored(&mut self, index: u64) {
        self.order.push_back(index);
        if self.order.len() > MAX_ROWS
            && let Some(oldest) = self.order.pop_front()
        {
            self.rows.remove(&oldest);
        }
    }
}

impl CallEntry {
    fn of(index: u64, leaf: &Leaf) -> Self {
        let text = |name: &str| leaf.text(name).map(ToOwned::to_owned);
        let codes = leaf.member("codes").and_then(Value::as_array).into_iter().flatten();
        Self {
            index,
            tool: text("upstream").zip(text("tool")),
            kind: leaf.kind(),
            outcome: text("outcome"),
            codes: codes.filter_map(Value::as_str).map(ToOwned::to_owned).collect(),
        }
    }
}

impl ToolOutcomes {
    fn add(&mut self, entry: &CallEntry) {
        let outcome = entry.outcome.as_deref();
        match entry.kind {
            LeafKind::Response => {
                self.calls += 1;
                match outcome {
                    Some("ok" | "warned" | "warning" | "partial" | "interim") => self.ok += 1,
                    _ => self.failed += 1,
                }
            }
            // A client had the call checked, and it passed.
            LeafKind::Validation if outcome.is_some_and(is_passed) => {
                self.calls += 1;
                self.ok += 1;
            }
            LeafKind::Validation => {
                self.calls += 1;
                self.rejected += 1;
                for code in &entry.codes {
                    *self.codes.entry(code.clone()).or_default() += 1;
                }
            }
            LeafKind::Escalation => self.escalated += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use answerback_ledger::leaf::Basis;
    use answerback_ledger::{Draft, LeafToken};
    use answerback_store::Settings;
    use serde_json::json;

    use super::*;

    fn store(folder: &tempfile::TempDir) -> Store {
        let settings = Settings::new(folder.path().join("key"));
        Store::open_sqlite(folder.path().join("store.db"), settings).unwrap()
    }

    fn append(store: &Store, draft: Draft) -> u64 {
        let unit = move |transaction: &mut dyn answerback_store::Transaction| {
            Ok(transaction.append(&draft)?.index)
        };
        store.write(unit).unwrap().wait().unwrap().value
    }

    /// Records a reply in the UI contract.
    fn reply(store: &Store, summary: &str) -> u64 {
        let document = json!({
            "response_type": "text", "summary": summary, "timestamp": "2026-03-12T10:02:11+00:00",
        });
        let part = store.part("response", document.to_string().into_bytes()).unwrap();
        append(store, Draft::rejected().with_part(part))
    }

    /// Returns the rows of some entries as a list loads them.
    fn rows(summary: &LogSummary, store: &Store, indexes: &[u64]) -> Vec<Arc<ReplyRow>> {
        summary.refresh(store).unwrap();
        let entries = indexes.iter().map(|index| store.entry(*index).unwrap().unwrap());
        entries.map(|entry| summary.row(store, &entry).unwrap()).collect()
    }

    #[test]
    fn a_row_is_computed_once_until_something_is_erased() {
        let folder = tempfile::tempdir().unwrap();
        let (store, summary) = (store(&folder), LogSummary::default());
        let indexes = [reply(&store, "one"), reply(&store, "two")];
        let first = rows(&summary, &store, &indexes);
        assert_eq!((first[0].summary.as_str(), first[0].erased), ("one", false));
        // Later entries do not change these rows.
        reply(&store, "three");
        let second = rows(&summary, &store, &indexes);
        assert!(first.iter().zip(&second).all(|(one, other)| Arc::ptr_eq(one, other)));
        let part = LeafToken::new("response").unwrap();
        store.erase(indexes[0], part, Basis::Request).unwrap().wait().unwrap();
        let third = rows(&summary, &store, &indexes);
        assert!(third[0].erased);
        assert!(!third[0].summary.contains("one"), "{}", third[0].summary);
        assert_eq!(third[1].summary, "two");
    }

    #[test]
    fn a_row_that_was_being_computed_while_content_was_erased_is_not_stored() {
        let folder = tempfile::tempdir().unwrap();
        let (store, summary) = (store(&folder), LogSummary::default());
        let index = reply(&store, "one");
        let slot = Arc::clone(summary.lock().rows.entry(index).or_default());
        let part = LeafToken::new("response").unwrap();
        store.erase(index, part, Basis::Request).unwrap().wait().unwrap();
        summary.refresh(&store).unwrap();
        assert!(!summary.lock().rows.contains_key(&index));
        drop(slot);
        assert!(rows(&summary, &store, &[index])[0].erased);
    }

    #[test]
    fn rows_are_bounded_in_number_and_in_size() {
        let folder = tempfile::tempdir().unwrap();
        let (store, summary) = (store(&folder), LogSummary::default());
        let document = json!({
            "response_type": "text", "summary": "s", "timestamp": "2026-03-12T10:02:11+00:00",
            "live_stream_id": "x".repeat(MAX_ROW_BYTES),
        });
        let part = store.part("response", document.to_string().into_bytes()).unwrap();
        let large = append(&store, Draft::rejected().with_part(part));
        assert_eq!(
            rows(&summary, &store, &[large])[0].live_stream_id.as_ref().unwrap().len(),
            MAX_ROW_BYTES
        );
        assert!(summary.lock().rows.is_empty());
        let mut state = summary.lock();
        for index in 0..=MAX_ROWS as u64 {
            state.rows.entry(index).or_default();
            state.mark_stored(index);
        }
        assert_eq!((state.rows.len(), state.order.len()), (MAX_ROWS, MAX_ROWS));
        assert!(!state.rows.contains_key(&0));
    }

    #[test]
    fn counts_are_those_of_all_entries_however_they_come_in() {
        let folder = tempfile::tempdir().unwrap();
        let (store, summary) = (store(&folder), LogSummary::default());
        let call = |outcome: &str| {
            let word = |text: &str| LeafToken::new(text).unwrap();
            let draft = Draft::response().with_tool("send").with_upstream(&word("mail"));
            append(&store, draft.with_outcome(&word(outcome)))
        };
        let totals = || -> BTreeMap<String, u64> {
            let kinds = store.totals().unwrap().kinds.into_iter();
            kinds.map(|(kind, count)| (kind.as_str().to_owned(), count)).collect()
        };
        let first = call("ok");
        for outcome in ["ok", "tool_error", "ok"] {
            assert_eq!(summary.kinds(&store).unwrap(), totals());
            summary.outcomes(&store).unwrap();
            reply(&store, "between");
            call(outcome);
        }
        assert_eq!(summary.kinds(&store).unwrap(), totals());
        let (outcomes, since) = summary.outcomes(&store).unwrap();
        let outcomes_of_tool = &outcomes[&("mail".to_owned(), "send".to_owned())];
        assert_eq!(
            (outcomes_of_tool.calls, outcomes_of_tool.ok, outcomes_of_tool.failed),
            (4, 3, 1)
        );
        assert!(since <= first);
        // A summary that starts later has the same counts.
        let other = LogSummary::default();
        assert_eq!(other.outcomes(&store).unwrap().0, outcomes);
        assert_eq!(other.kinds(&store).unwrap(), totals());
    }
}
