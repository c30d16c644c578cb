//! Determines which key is in force at each size, and checks the signatures.

use std::{sync::Arc, thread};

use crate::{
    note::{NoteVerifierKey, SignatureCheck, SignedNote},
    report::{FindingCollector, Level, VerifyFailure},
};

/// The number of signatures that are checked together on all cores.
const BATCH: usize = 512;

/// A key with the entry that introduced it.
#[derive(Debug)]
struct KeyPeriod {
    entry: u64,
    key: Arc<NoteVerifierKey>,
    /// True if a checkpoint with the signatures of this key and its predecessor was already
    /// required.
    introduced: bool,
}

/// The keys of a log, oldest first.
#[derive(Debug, Default)]
pub(crate) struct KeyChain {
    links: Vec<KeyPeriod>,
}

impl KeyChain {
    /// Starts with the key of the first entry.
    pub(crate) fn start(&mut self, entry: u64, key: NoteVerifierKey) {
        self.links = vec![KeyPeriod { entry, key: Arc::new(key), introduced: true }];
    }

    /// Adds the next key.
    pub(crate) fn rotate(&mut self, entry: u64, key: NoteVerifierKey) {
        self.links.push(KeyPeriod { entry, key: Arc::new(key), introduced: false });
    }

    pub(crate) fn newest(&self) -> Option<&NoteVerifierKey> {
        self.links.last().map(|link| link.key.as_ref())
    }

    pub(crate) fn contains(&self, key: &NoteVerifierKey) -> bool {
        self.links.iter().any(|link| *link.key == *key)
    }

    /// Returns the keys that must have signed a checkpoint of this size. The log's own first
    /// checkpoint after a rotation needs the old and the new key.
    fn required(&mut self, size: u64, own: bool) -> Vec<Arc<NoteVerifierKey>> {
        let mut required: Vec<Arc<NoteVerifierKey>> = Vec::new();
        for place in 1..self.links.len() {
            if own && self.links[place].entry < size && !self.links[place].introduced {
                self.links[place].introduced = true;
                required.push(Arc::clone(&self.links[place - 1].key));
                required.push(Arc::clone(&self.links[place].key));
            }
        }
        let in_force =
            self.links.iter().rev().find(|link| link.entry < size).or(self.links.first());
        required.extend(in_force.map(|link| Arc::clone(&link.key)));
        required.dedup();
        required
    }
}

/// A checkpoint whose signatures still have to be checked.
#[derive(Debug)]
struct SignatureJob {
    size: u64,
    label: String,
    note: String,
    keys: Vec<Arc<NoteVerifierKey>>,
    key_may_be_unknown: bool,
}

/// Checks signatures in batches.
#[derive(Debug)]
pub(crate) struct Signatures {
    jobs: Vec<SignatureJob>,
    threads: usize,
}

/// A checkpoint to check, with its context.
pub(crate) struct PresentedCheckpoint<'a> {
    pub(crate) size: u64,
    /// The name of the checkpoint in reports.
    pub(crate) label: &'a str,
    pub(crate) note: &'a str,
    /// True if the checkpoint comes from the source itself.
    pub(crate) own: bool,
    /// True if its key may have been replaced before the first available entry.
    pub(crate) key_may_be_unknown: bool,
}

impl Signatures {
    pub(crate) fn new(threads: usize) -> Self {
        Self { jobs: Vec::new(), threads }
    }

    pub(crate) fn check(
        &mut self,
        presented: PresentedCheckpoint<'_>,
        keys: &mut KeyChain,
        findings: &mut FindingCollector,
    ) {
        let PresentedCheckpoint { size, label, note, own, key_may_be_unknown } = presented;
        let keys = keys.required(size, own);
        if keys.is_empty() {
            let what = format!("{label}: there is no key to check it with");
            findings.fail(VerifyFailure::new(Level::Signatures, size, what));
            return;
        }
        let (label, note) = (label.to_owned(), note.to_owned());
        self.jobs.push(SignatureJob { size, label, note, keys, key_may_be_unknown });
        if self.jobs.len() >= BATCH {
            self.finish(findings);
        }
    }

    /// Checks all remaining signatures.
    pub(crate) fn finish(&mut self, findings: &mut FindingCollector) {
        let jobs = std::mem::take(&mut self.jobs);
        let share = jobs.len().div_ceil(self.threads.max(1)).max(1);
        let verdicts: Vec<Vec<SignatureVerdict>> = thread::scope(|scope| {
            let (first, rest) = jobs.split_at(share.min(jobs.len()));
            let others: Vec<_> =
                rest.chunks(share).map(|jobs| scope.spawn(|| check_signatures(jobs))).collect();
            let first = check_signatures(first);
            let others = others.into_iter().map(|other| {
                // A thread that panicked has checked nothing. Continuing would accept unchecked
                // signatures.
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            std::iter::once(first).chain(others).collect()
        });
        findings.checked(Level::Signatures, jobs.len() as u64);
        for verdict in verdicts.into_iter().flatten() {
            match verdict {
                SignatureVerdict::Fails(failure) => findings.fail(failure),
                SignatureVerdict::UnknownKey(size) => findings
                    .warn(size, "checkpoint older than the first entry: its key is not known here"),
            }
        }
    }
}

enum SignatureVerdict {
    Fails(VerifyFailure),
    UnknownKey(u64),
}

fn check_signatures(jobs: &[SignatureJob]) -> Vec<SignatureVerdict> {
    let mut verdicts = Vec::new();
    for job in jobs {
        let Ok(note) = SignedNote::parse(&job.note) else { continue };
        for key in &job.keys {
            let what = match note.signed_by(key) {
                SignatureCheck::Yes => continue,
                SignatureCheck::No if job.key_may_be_unknown => {
                    verdicts.push(SignatureVerdict::UnknownKey(job.size));
                    continue;
                }
                SignatureCheck::No => "it is not signed by the key",
                SignatureCheck::Wrongly => "it has a wrong signature of the key",
            };
            let what = format!("{}: {what} {key}", job.label);
            verdicts.push(SignatureVerdict::Fails(VerifyFailure::new(
                Level::Signatures,
                job.size,
                what,
            )));
        }
    }
    verdicts
}
