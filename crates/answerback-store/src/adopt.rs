//! Going on with a log that was restored from an older copy.
//!
//! A writer refuses to sign behind its anchor, because that would be a second history. An operator whose backup is all
//! that is left can adopt it: an entry records what the anchor remembered, and the anchor starts anew from there.

use std::sync::Arc;

use answerback_ledger::anchor::{self, Divergence};
use answerback_ledger::leaf::Subject;
use answerback_ledger::tree::root_at;
use answerback_ledger::{Checkpoint, Draft, Note, Token};
use serde_json::json;

use crate::chain::Chain;
use crate::engine::{Hashes, Opener};
use crate::job::job;
use crate::stats::Counters;
use crate::transaction::Log;
use crate::work::RunningTransaction;
use crate::{Settings, StoreError};

/// The name of the part that records what an anchor remembered.
const ROLLBACK: &str = "rollback";

/// A log that was adopted.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Adopted {
    /// The entry that says so.
    pub index: u64,
    /// How many entries the log had.
    pub size: u64,
    /// How many entries the anchor that differed most remembered.
    pub anchored: u64,
    /// Where each anchor that differed has what it remembered, in its own words.
    pub kept: Vec<String>,
}

/// Records that the log is behind its anchors, or differs from them, and starts these anchors anew.
///
/// Whatever ends it between the two leaves a log that is not written to: the same call again goes on.
pub(crate) fn adopt(opener: &Arc<dyn Opener>, settings: &Settings) -> Result<Adopted, StoreError> {
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
            // Another log is named by mistake, and no state of this one.
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
        let adopted = Token::new("adopted").map_err(StoreError::unit)?;
        let part = work.part(ROLLBACK, bytes.clone())?;
        work.append(&Draft::config(Subject::Migrate).with_outcome(&adopted).with_part(part))
    };
    let (unit, ticket) = job(crate::engine::Foreseen::default(), unit);
    let mut jobs = [unit];
    let done =
        chain.run(&mut jobs, settings, &Counters::default()).map_err(|failed| failed.error)?;
    for (unit, outcome) in jobs.into_iter().zip(done.outcomes) {
        unit.finish(outcome.map(|()| (done.size, done.root)));
    }
    let index = ticket.wait()?.value.index;
    let text = chain.engine.newest_checkpoint()?.unwrap_or_default();
    let note = Note::parse(&text).map_err(|error| StoreError::Damaged(error.to_string()))?;
    let anchored = diverged.iter().map(|(_, anchored)| anchored.size()).max().unwrap_or_default();
    let kept = diverged.iter_mut().map(|(anchor, _)| anchor.restart(&note));
    let kept = kept.collect::<Result<_, _>>()?;
    Ok(Adopted { index, size, anchored, kept })
}

/// A checkpoint of an anchor as the entry records it.
fn line(anchored: &Checkpoint) -> serde_json::Value {
    json!({"size": anchored.size().to_string(), "root": anchored.root().to_string()})
}
