//! Moves a log to another store. Origin, key, root and proofs stay the same.

use std::sync::Arc;

use answerback_ledger::leaf::Subject;
use answerback_ledger::tile::WIDTH;
use answerback_ledger::tree::{Edge, frontier_at};
use answerback_ledger::{Draft, Hash, KeyFile};

use crate::chain::examine;
use crate::engine::OpenTextIndex;
use crate::engine::{Engine, Hashes, Opener};
use crate::tables::{SqlCell, TABLES};
use crate::{EntryFilter, LogHead, Settings, Store, StoreError};

/// The number of rows between two progress reports.
const STEP: u64 = 1000;

/// The rows of `meta` that describe the source store itself and are not copied.
const STAYING: [&str; 3] = ["moved", "scrub_wanted", "scrub_done"];

/// The store that a log is moved to. It must not contain a log.
pub struct MoveTarget {
    opener: Arc<dyn Opener>,
    text: OpenTextIndex,
    settings: Settings,
    name: String,
}

impl MoveTarget {
    /// Creates a target in a schema of a PostgreSQL database, which the URL names as in
    /// [`Store::open_postgres`]. Pass the settings that the store uses from now on: the same key
    /// and the same anchors.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL is invalid.
    #[cfg(feature = "postgres")]
    pub fn postgres(url: &str, settings: Settings) -> Result<Self, StoreError> {
        let opener = crate::postgres::PostgresOpener::new(url, &settings)?;
        let (text, name) = (opener.text(), opener.name().to_owned());
        Ok(Self { opener: Arc::new(opener), text, settings, name })
    }
}

impl std::fmt::Debug for MoveTarget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Target").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The progress of a move.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct MoveProgress {
    /// The name of the table that is being copied, or `check` while the tree is hashed again.
    pub step: &'static str,
    /// The number of rows done in this step.
    pub done: u64,
    /// The total number of rows in this step, if known.
    pub of: Option<u64>,
}

/// Moves a log with all its tables, and returns the new store.
///
/// The source is locked for writing during the move. All rows are copied in one transaction of the
/// target. The tree is then hashed again from the target's rows. Root, tiles, newest checkpoint,
/// key and anchors must match before the target is committed.
///
/// The source is marked as moved first. Every writer of the source reads this mark under its lock,
/// so the log never grows in both stores. Then the target is committed, and its first new entry is
/// a `config` entry with the subject `migrate`. A copy of the source without the mark is behind the
/// anchor once the anchor has a checkpoint of the target. It then refuses to sign.
///
/// An interruption leaves no log in the target. Between the mark and the commit, it leaves the
/// source closed and the target empty. Repeat the same move to complete it.
///
/// # Errors
///
/// Returns an error if the target contains a log, the source was moved elsewhere, or the copied
/// data is inconsistent.
pub fn migrate(
    from: &Store,
    to: MoveTarget,
    progress: &mut dyn FnMut(MoveProgress),
) -> Result<Store, StoreError> {
    let mut source = from.opener().writer()?;
    let mut target = to.opener.writer()?;
    let moved = move_log(source.as_mut(), target.as_mut(), &to, progress);
    if moved.is_err() {
        source.rollback();
        target.rollback();
    }
    moved?;
    drop((source, target));
    let MoveTarget { opener, text, settings, .. } = to;
    let store = Store::open(opener, text, settings)?;
    store.append(Draft::config(Subject::Migrate))?.wait()?;
    Ok(store)
}

fn move_log(
    source: &mut dyn Engine,
    target: &mut dyn Engine,
    to: &MoveTarget,
    progress: &mut dyn FnMut(MoveProgress),
) -> Result<(), StoreError> {
    let head = source.begin()?.ok_or_else(|| StoreError::Missing("log yet".to_owned()))?;
    let moved = source.moved()?;
    if let Some(elsewhere) = moved.as_ref().filter(|place| **place != to.name) {
        return Err(StoreError::Moved(elsewhere.clone()));
    }
    match target.begin()? {
        None => {}
        // An earlier move did everything except appending the `migrate` entry.
        Some(there) if moved.is_some() && (there.size, there.root) == (head.size, head.root) => {
            source.rollback();
            target.rollback();
            return Ok(());
        }
        Some(_) => {
            return Err(StoreError::Unfit(format!(
                "there is a log in {} already; name another schema, or drop that one",
                to.name
            )));
        }
    }
    copy(source, target, &head, progress)?;
    check(target, &head, progress)?;
    // Store the last checkpoint before the move permanently.
    if let Some(note) = source.newest_checkpoint()? {
        target.store_checkpoint(head.size, &note)?;
    }
    let anchors: Vec<_> = to.settings.anchors.iter().map(|make| make()).collect();
    examine(target, &to.settings, &KeyFile::new(&to.settings.key), &head, &anchors)?;
    // This order ensures that an interruption leaves no store that accepts entries.
    source.mark_moved(&to.name)?;
    source.commit()?;
    Ok(target.commit()?)
}

fn copy(
    source: &mut dyn Engine,
    target: &mut dyn Engine,
    head: &LogHead,
    progress: &mut dyn FnMut(MoveProgress),
) -> Result<(), StoreError> {
    for table in TABLES {
        let of = (table.name == "entry").then_some(head.size - head.minimum);
        let mut done = 0;
        let loaded = target.load(table, &mut |sink| {
            source.dump(table, &mut |row| {
                // The source may contain the mark of an earlier attempt, and scrub requests for its
                // own files.
                let stays = |name: &&str| row.first() == Some(&SqlCell::Text((*name).to_owned()));
                if table.name == "meta" && STAYING.iter().any(stays) {
                    return Ok(());
                }
                sink(row)?;
                done += 1;
                if done % STEP == 0 {
                    progress(MoveProgress { step: table.name, done, of });
                }
                Ok(())
            })
        })?;
        if loaded != done {
            return Err(StoreError::Damaged(format!(
                "{done} rows of {} were sent and {loaded} arrived",
                table.name
            )));
        }
        progress(MoveProgress { step: table.name, done, of });
    }
    Ok(())
}

/// Hashes the tree again from the target's rows and compares it with the source's head.
fn check(
    target: &mut dyn Engine,
    head: &LogHead,
    progress: &mut dyn FnMut(MoveProgress),
) -> Result<(), StoreError> {
    let differs =
        |what: String| StoreError::Damaged(format!("what was copied is not the log: {what}"));
    let mut frontier = frontier_at(head.minimum, &Hashes::of(target))?;
    let mut edge = Edge::read(head.minimum, &Hashes::of(target))?;
    let mut from = head.minimum;
    while from < head.size {
        let until = head.size.min(from + WIDTH);
        let mut tiles = Vec::new();
        let leaves = target.leaves(&EntryFilter::default(), from..until, usize::MAX)?;
        let stored = target.leaf_hashes(from..until)?;
        let hashes: Vec<Hash> = leaves.iter().map(|(_, leaf)| Hash::of_leaf(leaf)).collect();
        if hashes.len() as u64 != until - from || hashes != stored {
            return Err(differs(format!("entries {from} to {until}")));
        }
        for hash in hashes {
            frontier.append(hash);
            edge.append(hash, &mut |tile| tiles.push(tile));
        }
        for tile in tiles {
            let (level, index) = (tile.level(), tile.index());
            if target.hashes(level, index * WIDTH, WIDTH)? != tile.hashes() {
                return Err(differs(format!("tile {index} of level {level}")));
            }
        }
        from = until;
        let (done, of) = (from - head.minimum, Some(head.size - head.minimum));
        progress(MoveProgress { step: "check", done, of });
    }
    let copied = target.head()?;
    if copied.as_ref() != Some(head) || frontier != head.frontier || frontier.root() != head.root {
        return Err(differs("the root".to_owned()));
    }
    Ok(())
}
