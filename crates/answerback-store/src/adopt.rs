//! Adopts a log that was restored from an older copy.
//!
//! A writer refuses to sign a log that is behind its anchor, because that would create a second
//! history. If a backup is the only copy left, an operator can adopt it. An entry then records the
//! anchored checkpoints, and the anchors restart from that entry.

use std::sync::Arc;

use answerback_ledger::anchor::{self, Divergence};
use answerback_ledger::leaf::Subject;
use answerback_ledger::tree::root_at;
use answerback_ledger::{Checkpoint, Draft, LeafToken, Note};
use serde_json::json;

use crate::chain::Chain;
use crate::engine::{Hashes, Opener};
use crate::job::job;
use crate::running_transaction::RunningTransaction;
use crate::stats::StoreCounters;
use crate::transaction::Log;
use crate::{Settings, StoreError};

/// The name of the part that records the anchored checkpoints.
const ROLLBACK: &str = "rollback";

/// The result of adopting a log.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct AdoptionOutcome {
    /// The index of the entry that records the rollback.
    pub index: u64,
    /// The number of entries in the log before the adoption.
    pub size: u64,
    /// The largest anchored size among the anchors that differed.
    pub anchored: u64,
    /// One text per anchor that differed, which says where the anchor's old content is backed up.
    pub backups: Vec<String>,
}

/// Records that the log is behind its anchors or differs from them, and restarts these anchors.
///
/// If it is interrupted between the two steps, the log still rejects writes. Repeat the call to
/// complete it.
pub(crate) fn adopt(
    opener: &Arc<dyn Opener>,
    settings: &Settings,
) -> Result<AdoptionOutcome, StoreError> {
    let mut chain = Chain::open_unanchored(opener.as_ref(), settings)?;
    let mut diverged = Vec::new();
    for make in &settings.anchors {
        let anchor = make();
        let Some(anchored) = anchor.newest()? else { continue };
        let size = chain.edge.size();
        let hashes = Hashes::of(chain.engine.as_mut());
        let found = anchor::check(&anchored, &chain.origin, size, |size| root_at(size, &hashes))?;
        match found {
            Ok(()) => {}
            // The anchor belongs to another log. That is a configuration mistake, not a rollback.
            Err(stranger @ Divergence::Stranger { .. }) => return Err(stranger.into()),
            Err(_) => diverged.push((anchor, anchored)),
        }
    }
    if diverged.is_empty() {
        return Err(StoreError::Unfit(
            "the log agrees with its anchor: there is no rollback to adopt".to_owned(),
        ));
    }
    let size = chain.edge.size();
    let lines: Vec<_> = diverged.iter().map(|(_, anchored)| line(anchored)).collect();
    let record = json!({"size": size.to_string(), "root": chain.frontier.root().to_string(), "anchored": lines});
    let bytes = record.to_string().into_bytes();
    let unit = move |work: &mut RunningTransaction<'_>| {
        let adopted = LeafToken::new("adopted").map_err(StoreError::unit)?;
        let part = work.part(ROLLBACK, bytes.clone())?;
        work.append(&Draft::config(Subject::Migrate).with_outcome(&adopted).with_part(part))
    };
    let (unit, ticket) = job(crate::engine::LookupHint::default(), unit);
    let mut jobs = [unit];
    let done =
        chain.run(&mut jobs, settings, &StoreCounters::default()).map_err(|failed| failed.error)?;
    for (unit, outcome) in jobs.into_iter().zip(done.outcomes) {
        unit.finish(outcome.map(|()| (done.size, done.root)));
    }
    let index = ticket.wait()?.value.index;
    let text = chain.engine.newest_checkpoint()?.unwrap_or_default();
    let note = Note::parse(&text).map_err(|error| StoreError::Damaged(error.to_string()))?;
    let anchored = diverged.iter().map(|(_, anchored)| anchored.size()).max().unwrap_or_default();
    let backups = diverged.iter_mut().map(|(anchor, _)| anchor.restart(&note));
    let backups = backups.collect::<Result<_, _>>()?;
    Ok(AdoptionOutcome { index, size, anchored, backups })
}

/// Formats an anchored checkpoint for the entry.
fn line(anchored: &Checkpoint) -> serde_json::Value {
    json!({"size": anchored.size().to_string(), "root": anchored.root().to_string()})
}
