//! Checks checkpoints, which come from the source or from outside the log.

use super::LogCheck;
use crate::checkpoint::LogCheckpoint;
use crate::examine::shown;
use crate::keys::PresentedCheckpoint;
use crate::note::{SignatureCheck, SignedNote};
use crate::report::{Level, VerifyFailure};

/// The newest of the log's own checkpoints so far.
pub(super) struct NewestCheckpoint {
    pub(super) size: u64,
    /// The failure of its root, if any. The level depends on whether a newer checkpoint follows.
    pub(super) wrong: Option<VerifyFailure>,
}

impl LogCheck {
    /// Processes a checkpoint of the source.
    pub(crate) fn stored_checkpoint(&mut self, note: &str, filed_under: Option<u64>) {
        self.check_outside_checkpoints();
        let checkpoint = match LogCheckpoint::parse(note) {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                let what = format!("stored checkpoint: {error}");
                return self.findings.fail(VerifyFailure::new(
                    Level::Signatures,
                    filed_under,
                    what,
                ));
            }
        };
        let size = checkpoint.size;
        let fail = |what: &str| VerifyFailure::new(Level::Signatures, size, what);
        if let Some(filed_under) = filed_under.filter(|filed_under| *filed_under != size) {
            self.findings.fail(
                fail("stored checkpoint: filed under another size").differs(size, filed_under),
            );
        } else if self.newest_checkpoint.as_ref().is_some_and(|held| size < held.size) {
            self.findings.fail(fail("stored checkpoint: they are not in the order of their sizes"));
        }
        self.present(&checkpoint, note, "stored checkpoint", true);
        let wrong = self.compare_root(&checkpoint, "stored checkpoint");
        if let Some(older) = self.newest_checkpoint.replace(NewestCheckpoint { size, wrong }) {
            self.findings.checked(Level::Consistency, 1);
            if let Some(failure) = older.wrong {
                self.findings.fail(VerifyFailure { level: Level::Consistency, ..failure });
            }
        }
    }

    /// Processes the checkpoints from outside whose size the tree has reached.
    pub(super) fn check_outside_checkpoints(&mut self) {
        while let Some(outside_checkpoints) =
            self.outside_checkpoints.pop_front_if(|outside_checkpoints| {
                outside_checkpoints.checkpoint.size <= self.frontier.size()
            })
        {
            self.present(
                &outside_checkpoints.checkpoint,
                &outside_checkpoints.note,
                &outside_checkpoints.label,
                false,
            );
            if outside_checkpoints.checkpoint.size < self.frontier.size() {
                self.findings.warn(
                    outside_checkpoints.checkpoint.size,
                    "given checkpoint older than the first entry: not checkable",
                );
                continue;
            }
            self.findings.checked(Level::Consistency, 1);
            if let Some(failure) =
                self.compare_root(&outside_checkpoints.checkpoint, &outside_checkpoints.label)
            {
                self.findings.fail(VerifyFailure { level: Level::Consistency, ..failure });
            }
        }
    }

    /// Checks a checkpoint's origin, cosignatures and signatures.
    pub(super) fn present(
        &mut self,
        checkpoint: &LogCheckpoint,
        note: &str,
        label: &str,
        own: bool,
    ) {
        let size = checkpoint.size;
        if checkpoint.origin != self.origin {
            let what = format!("{label}: it is of another log");
            let failure = VerifyFailure::new(Level::Signatures, size, what);
            self.findings.fail(failure.differs(&self.origin, shown(checkpoint.origin.as_bytes())));
        }
        let key_may_be_unknown = self.claims.from > 0 && size <= self.claims.from;
        self.present_to_witnesses(size, note, label);
        let presented = PresentedCheckpoint { size, label, note, own, key_may_be_unknown };
        self.signatures.check(presented, &mut self.keys, &mut self.findings);
    }

    /// Records which required witnesses signed a checkpoint.
    pub(super) fn present_to_witnesses(&mut self, size: u64, note: &str, label: &str) {
        if self.witnesses.is_empty() {
            return;
        }
        let Ok(note) = SignedNote::parse(note) else { return };
        for witness in &mut self.witnesses {
            match witness.key.signed(&note) {
                SignatureCheck::Yes => witness.seen = witness.seen.max(Some(size)),
                SignatureCheck::Wrongly => {
                    let what = format!(
                        "{label}: it has a wrong signature of the witness {}",
                        witness.key.name()
                    );
                    self.findings.fail(VerifyFailure::new(Level::Signatures, size, what));
                }
                SignatureCheck::No => {}
            }
        }
    }

    /// Compares a checkpoint with the current tree.
    pub(super) fn compare_root(
        &mut self,
        checkpoint: &LogCheckpoint,
        label: &str,
    ) -> Option<VerifyFailure> {
        let (size, found) = (checkpoint.size, self.frontier.size());
        let fail = |what: String| Some(VerifyFailure::new(Level::Root, size, what));
        if size < found {
            // The checkpoint is older than the first entry of a partial export. Any other mismatch
            // was already reported.
            if self.claims.from > 0 && size < self.claims.from {
                self.findings
                    .warn(size, "stored checkpoint older than the first entry: not checkable");
                return None;
            }
            return fail(format!("{label}: it does not stand where its tree ends"));
        }
        if size > found {
            return fail(format!("{label}: the log is shorter than it says"))
                .map(|failure| failure.differs(size, found));
        }
        let root = self.frontier.root();
        if self.broken || root != checkpoint.root {
            let what = format!(
                "{label}: the tree of this size has another root; what differs is at or after entry {}",
                self.last_good
            );
            return fail(what).map(|failure| failure.differs(checkpoint.root, root));
        }
        self.last_good = size;
        None
    }
}
