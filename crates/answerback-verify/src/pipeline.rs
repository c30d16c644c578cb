//! Distributes the entries of a source to all cores, and restores their order.
//!
//! The calling thread reads entries and copies them into batches. Worker threads hash the entries
//! of a batch two at a time and check them. One thread folds the batches in the order of the log.
//! The queues are bounded, so memory use does not grow with the log.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    ops::Range,
    sync::{Arc, Mutex, mpsc},
    thread,
};

use crate::{
    examine::{EntryCheck, examine},
    hash::{LEAF_PREFIX, MerkleHash},
    log_check::LogCheck,
    progress::VerifyProgress,
    sha256_x2,
    source::{EntryColumns, LogSource, SourceEntry, SourceError, SourcePart, SourceRecord},
};

/// The size in bytes at which a batch is full.
const BATCH_BYTES: usize = 1 << 20;
/// The number of records at which a batch is full.
const BATCH_RECORDS: usize = 512;
/// The size in bytes of a batch on a single thread. It is small enough for the processor's cache.
const NEAR_BYTES: usize = 1 << 14;
/// The number of batches in flight per worker.
const AHEAD: usize = 4;
/// The number of entries between two progress reports.
const STEP: u64 = 4_096;

/// Reads a source to its end and folds all its records.
pub(crate) fn run(
    source: &mut dyn LogSource,
    mut fold: LogCheck,
    threads: NonZeroUsize,
    progress: &mut dyn FnMut(VerifyProgress),
) -> Result<LogCheck, SourceError> {
    let total = source.claims().size;
    let mut tell = |index: u64| {
        if index.is_multiple_of(STEP) {
            progress(VerifyProgress { done: index, total });
        }
    };
    if threads.get() == 1 {
        let mut batch = Batch::default();
        source.read(&mut |record| {
            if let SourceRecord::Entry(entry) = &record {
                tell(entry.index);
            }
            batch.push(&record);
            if batch.bytes.len() >= NEAR_BYTES || batch.is_full() {
                batch.fold_alone(&mut fold);
                batch.clear();
            }
        })?;
        batch.fold_alone(&mut fold);
        return Ok(fold);
    }
    thread::scope(|scope| {
        let (to_workers, batches) = mpsc::sync_channel::<(u64, Batch)>(threads.get() * AHEAD);
        let batches = Arc::new(Mutex::new(batches));
        let (to_fold, examined) = mpsc::sync_channel(threads.get() * AHEAD);
        for _ in 0..threads.get() {
            let (batches, to_fold) = (Arc::clone(&batches), to_fold.clone());
            scope.spawn(move || {
                loop {
                    // The lock is held during the wait, so the thread that holds it gets the next
                    // batch.
                    let received = match batches.lock() {
                        Ok(batches) => batches.recv(),
                        Err(_) => return,
                    };
                    let Ok((number, batch)) = received else { return };
                    let examined = batch.examine_all();
                    if to_fold.send((number, batch, examined)).is_err() {
                        return;
                    }
                }
            });
        }
        // Only the workers hold these ends now. When the last worker ends, the queues close.
        drop((batches, to_fold));
        let (to_reader, spare) = mpsc::channel::<Batch>();
        let folding = scope.spawn(move || {
            let mut early: BTreeMap<u64, (Batch, Vec<EntryCheck>)> = BTreeMap::new();
            let mut next = 0;
            for (number, batch, found) in examined {
                early.insert(number, (batch, found));
                while let Some((mut batch, found)) = early.remove(&next) {
                    batch.fold_into(&mut fold, &batch.parts(), found.into_iter());
                    next += 1;
                    // Reuse the batch, because memory that was already written causes no page
                    // faults. Drop it if one huge part has made it too large.
                    if batch.bytes.capacity() <= 4 * BATCH_BYTES {
                        batch.clear();
                        let _ = to_reader.send(batch);
                    }
                }
            }
            fold
        });
        let mut number = 0;
        let mut batch = Batch::default();
        let read = source.read(&mut |record| {
            if let SourceRecord::Entry(entry) = &record {
                tell(entry.index);
            }
            batch.push(&record);
            if batch.is_full() {
                // Sending fails only if a worker panicked, which the join below reports.
                let next = spare.try_recv().unwrap_or_default();
                let _ = to_workers.send((number, std::mem::replace(&mut batch, next)));
                number += 1;
            }
        });
        let _ = to_workers.send((number, batch));
        drop(to_workers);
        let fold = folding.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        read.map(|()| fold)
    })
}

/// A batch of records, copied from a source into one buffer.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    records: Vec<BatchRecord>,
    /// The entries as ranges of `bytes`.
    entries: Vec<BatchEntry>,
    /// The parts of all entries: name, salt and bytes.
    parts: Vec<[Range<usize>; 3]>,
}

enum BatchRecord {
    /// The next item of `entries`.
    Entry,
    PrunedHash(MerkleHash),
    Subtrees(Vec<MerkleHash>),
    Checkpoint(String, Option<u64>),
    StrayPart(u64, Vec<u8>),
}

struct BatchEntry {
    index: u64,
    /// The leaf with the prefix byte that is hashed with it.
    prefixed_leaf: Range<usize>,
    /// The range of the batch's parts that belong to this entry.
    parts: Range<usize>,
    columns: Option<BatchColumns>,
}

struct BatchColumns {
    ts: i64,
    kind: Range<usize>,
    leaf_hash: Range<usize>,
    optional: [Option<Range<usize>>; 6],
}

impl Batch {
    fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH_BYTES || self.records.len() >= BATCH_RECORDS
    }

    fn copy(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    fn push(&mut self, record: &SourceRecord<'_>) {
        let copied = match record {
            SourceRecord::Entry(entry) => {
                self.bytes.push(LEAF_PREFIX);
                let leaf = self.copy(entry.leaf);
                let prefixed_leaf = leaf.start - 1..leaf.end;
                let first = self.parts.len();
                for part in entry.parts {
                    let copied = [part.name, part.salt, part.bytes].map(|bytes| self.copy(bytes));
                    self.parts.push(copied);
                }
                let parts = first..self.parts.len();
                let columns = entry.columns.map(|columns| BatchColumns {
                    ts: columns.ts,
                    kind: self.copy(columns.kind),
                    leaf_hash: self.copy(columns.leaf_hash),
                    optional: [
                        columns.agent,
                        columns.tool,
                        columns.outcome,
                        columns.request_id,
                        columns.response_id,
                        columns.reply_id,
                    ]
                    .map(|column| column.map(|bytes| self.copy(bytes))),
                });
                self.entries.push(BatchEntry { index: entry.index, prefixed_leaf, parts, columns });
                BatchRecord::Entry
            }
            SourceRecord::PrunedHash(hash) => BatchRecord::PrunedHash(*hash),
            SourceRecord::Subtrees(hashes) => BatchRecord::Subtrees(hashes.to_vec()),
            SourceRecord::Checkpoint { note, filed_under } => {
                BatchRecord::Checkpoint((*note).to_owned(), *filed_under)
            }
            SourceRecord::StrayPart { index, name } => {
                BatchRecord::StrayPart(*index, name.to_vec())
            }
        };
        self.records.push(copied);
    }

    /// Clears the batch but retains its memory.
    fn clear(&mut self) {
        let Self { bytes, records, entries, parts } = self;
        bytes.clear();
        records.clear();
        entries.clear();
        parts.clear();
    }

    fn parts(&self) -> Vec<SourcePart<'_>> {
        let part = |[name, salt, bytes]: &[Range<usize>; 3]| SourcePart {
            name: &self.bytes[name.clone()],
            salt: &self.bytes[salt.clone()],
            bytes: &self.bytes[bytes.clone()],
        };
        self.parts.iter().map(part).collect()
    }

    fn view<'a>(&'a self, entry: &BatchEntry, parts: &'a [SourcePart<'a>]) -> SourceEntry<'a> {
        let columns = entry.columns.as_ref().map(|columns| {
            let optional = columns.optional.each_ref();
            let [agent, tool, outcome, request_id, response_id, reply_id] =
                optional.map(|column| column.as_ref().map(|column| &self.bytes[column.clone()]));
            EntryColumns {
                ts: columns.ts,
                kind: &self.bytes[columns.kind.clone()],
                leaf_hash: &self.bytes[columns.leaf_hash.clone()],
                agent,
                tool,
                outcome,
                request_id,
                response_id,
                reply_id,
            }
        });
        let parts = &parts[entry.parts.clone()];
        let leaf = &self.bytes[entry.prefixed_leaf.clone()][1..];
        SourceEntry { index: entry.index, leaf, parts, columns }
    }

    fn examine_all(&self) -> Vec<EntryCheck> {
        let parts = self.parts();
        self.examined(&parts).collect()
    }

    /// Checks and folds one entry after the other on this thread.
    fn fold_alone(&self, fold: &mut LogCheck) {
        let parts = self.parts();
        self.fold_into(fold, &parts, self.examined(&parts));
    }

    fn examined<'a>(
        &'a self,
        parts: &'a [SourcePart<'a>],
    ) -> impl Iterator<Item = EntryCheck> + 'a {
        let leaves = self.entries.iter().map(|entry| &self.bytes[entry.prefixed_leaf.clone()]);
        let leaf_hashes = sha256_x2::digests(leaves);
        let commitments = sha256_x2::commitments(parts);
        self.entries.iter().zip(leaf_hashes).map(move |(entry, leaf_hash)| {
            examine(&self.view(entry, parts), leaf_hash, &commitments[entry.parts.clone()])
        })
    }

    fn fold_into(
        &self,
        fold: &mut LogCheck,
        parts: &[SourcePart<'_>],
        examined: impl Iterator<Item = EntryCheck>,
    ) {
        let mut entries = self.entries.iter().zip(examined);
        for record in &self.records {
            match record {
                BatchRecord::Entry => {
                    if let Some((entry, examined)) = entries.next() {
                        fold.entry(&self.view(entry, parts), examined);
                    }
                }
                BatchRecord::PrunedHash(hash) => fold.pruned_hash(*hash),
                BatchRecord::Subtrees(hashes) => fold.subtrees(hashes),
                BatchRecord::Checkpoint(note, filed_under) => {
                    fold.stored_checkpoint(note, *filed_under);
                }
                BatchRecord::StrayPart(index, name) => fold.stray_part(*index, name),
            }
        }
    }
}
