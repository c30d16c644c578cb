//! Moving a log to another store: the same origin, key, root and proofs on another engine.

use std::sync::Arc;

use answerback_ledger::leaf::Subject;
use answerback_ledger::tile::WIDTH;
use answerback_ledger::tree::{Edge, frontier_at};
use answerback_ledger::{Draft, Hash, KeyFile};

use crate::chain::examine;
use crate::engine::{Engine, Hashes, Opener};
use crate::store::OpenText;
use crate::table::{SqlCell, TABLES};
use crate::{Filter, Head, Settings, Store, StoreError};

/// How often progress is told, in rows.
const STEP: u64 = 1000;

/// Rows of `meta` that are about the source itself.
const STAYING: [&str; 3] = ["moved", "scrub_wanted", "scrub_done"];

/// Where a log is moved to: a place that holds none yet.
pub struct Target {
    opener: Arc<dyn Opener>,
    text: OpenText,
    settings: Settings,
    name: String,
}

impl Target {
    /// A schema of a PostgreSQL database, named as in [`Store::open_postgres`]. The settings are those with
    /// which the store is opened from now on: the same key, and the same anchors.
    ///
    /// # Errors
    ///
    /// When the URL is not one.
    #[cfg(feature = "postgres")]
    pub fn postgres(url: &str, settings: Settings) -> Result<Self, StoreError> {
        let opener = crate::postgres::PostgresOpener::new(url, &settings)?;
        let (text, name) = (opener.text(), opener.name().to_owned());
        Ok(Self { opener: Arc::new(opener), text, settings, name })
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Target").field("name", &self.name).finish_non_exhaustive()
    }
}

/// How far a move is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The table that is copied, or `check` while the tree is hashed anew.
    pub step: &'static str,
    /// How many rows of it are done.
    pub done: u64,
    /// How many there are, where that is known.
    pub of: Option<u64>,
}

/// Moves a log with everything beside it, and gives the store it is in now.
///
/// The source is locked for writing meanwhile. All rows are copied in one transaction of the target, and the
/// tree is hashed anew from what the target holds: root, tiles, newest checkpoint, key and anchors must
/// agree before anything counts. Then the source is marked as moved, which every writer of it reads under
/// its lock, so no one appends to both; then the target is committed, and a `config` entry with the subject
/// `migrate` is its first of its own. A copy of the source that lacks the mark is behind the anchor as soon
/// as that has taken a checkpoint of the target, and does not sign.
///
/// Whatever interrupts it leaves nothing of the log in the target. Between the mark and the commit that
/// means a source that is closed and a target that is empty: the same move again goes on from there.
///
/// # Errors
///
/// When the target holds a log, the source was moved elsewhere, or what was copied does not fit together.
pub fn migrate(
    from: &Store,
    to: Target,
    progress: &mut dyn FnMut(Progress),
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
    let Target { opener, text, settings, .. } = to;
    let store = Store::open(opener, text, settings)?;
    store.append(Draft::config(Subject::Migrate))?.wait()?;
    Ok(store)
}

fn move_log(
    source: &mut dyn Engine,
    target: &mut dyn Engine,
    to: &Target,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), StoreError> {
    let head = source.begin()?.ok_or_else(|| StoreError::Missing("log yet".to_owned()))?;
    let moved = source.moved()?;
    if let Some(elsewhere) = moved.as_ref().filter(|place| **place != to.name) {
        return Err(StoreError::Moved(elsewhere.clone()));
    }
    match target.begin()? {
        None => {}
        // Everything was done but the entry that says so.
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
    // What the log was when it moved stays to be seen.
    if let Some(note) = source.newest_checkpoint()? {
        target.keep_checkpoint(head.size, &note)?;
    }
    let anchors: Vec<_> = to.settings.anchors.iter().map(|make| make()).collect();
    examine(target, &to.settings, &KeyFile::new(&to.settings.key), &head, &anchors)?;
    // In this order: when it ends in between, no one appends to either.
    source.mark_moved(&to.name)?;
    source.commit()?;
    Ok(target.commit()?)
}

fn copy(
    source: &mut dyn Engine,
    target: &mut dyn Engine,
    head: &Head,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), StoreError> {
    for table in TABLES {
        let of = (table.name == "entry").then_some(head.size - head.minimum);
        let mut done = 0;
        let loaded = target.load(table, &mut |sink| {
            source.dump(table, &mut |row| {
                // The source may bear the mark of an earlier try, and what is to be done with its own files.
                let stays = |name: &&str| row.first() == Some(&SqlCell::Text((*name).to_owned()));
                if table.name == "meta" && STAYING.iter().any(stays) {
                    return Ok(());
                }
                sink(row)?;
                done += 1;
                if done % STEP == 0 {
                    progress(Progress { step: table.name, done, of });
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
        progress(Progress { step: table.name, done, of });
    }
    Ok(())
}

/// Hashes the tree anew from the target's own rows and holds it against the source's head.
fn check(
    target: &mut dyn Engine,
    head: &Head,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), StoreError> {
    let differs =
        |what: String| StoreError::Damaged(format!("what was copied is not the log: {what}"));
    let mut frontier = frontier_at(head.minimum, &Hashes::of(target))?;
    let mut edge = Edge::read(head.minimum, &Hashes::of(target))?;
    let mut from = head.minimum;
    while from < head.size {
        let until = head.size.min(from + WIDTH);
        let mut tiles = Vec::new();
        let leaves = target.leaves(&Filter::default(), from..until, usize::MAX)?;
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
        progress(Progress { step: "check", done, of });
    }
    let copied = target.head()?;
    if copied.as_ref() != Some(head) || frontier != head.frontier || frontier.root() != head.root {
        return Err(differs("the root".to_owned()));
    }
    Ok(())
}
