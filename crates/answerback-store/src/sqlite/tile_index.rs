//! The index of the agents and tools that each full tile of entries contains.
//!
//! An index over entries would write one more page at a random place for every entry. This index is
//! written once per 256 entries. A search for a tool reads the tiles that contain it, and the
//! entries to the right of the last full tile.

use std::collections::BTreeSet;
use std::ops::Range;

use answerback_ledger::tile::WIDTH;
use rusqlite::params;

use super::{SqliteConnection, int, uint};
use crate::EntryFilter;
use crate::engine::EngineResult;

impl SqliteConnection {
    /// Adds the agents and tools of a full tile, whose entries are all written.
    pub(super) fn append_facets(&self, tile: u64) -> EngineResult<()> {
        let within = params![int(tile), int(tile * WIDTH), int((tile + 1) * WIDTH)];
        self.execute(
            "INSERT INTO facet(name, value, n)
             SELECT DISTINCT 'agent', agent, ?1 FROM entry WHERE seq >= ?2 AND seq < ?3 AND agent IS NOT NULL
             UNION ALL
             SELECT DISTINCT 'tool', tool, ?1 FROM entry WHERE seq >= ?2 AND seq < ?3 AND tool IS NOT NULL",
            within,
        )?;
        Ok(())
    }

    /// Removes the tiles to the left of an entry.
    pub(super) fn prune_facets(&self, below: u64) -> EngineResult<()> {
        self.execute("DELETE FROM facet WHERE n < ?1", [int(below / WIDTH)])?;
        Ok(())
    }

    /// Returns the parts of a range, in order, that can contain the filter's agent and tool.
    pub(super) fn stretches(
        &self,
        filter: &EntryFilter,
        within: &Range<u64>,
    ) -> EngineResult<Vec<Range<u64>>> {
        let wanted = [("agent", &filter.agent), ("tool", &filter.tool)];
        let mut tiles: Option<BTreeSet<u64>> = None;
        for (name, value) in wanted {
            let Some(value) = value else { continue };
            let having = self.rows(
                "SELECT n FROM facet WHERE name = ?1 AND value = ?2 AND n >= ?3 AND n <= ?4",
                params![name, value, int(within.start / WIDTH), int(within.end / WIDTH)],
                |row| Ok(uint(row.get(0)?)),
            )?;
            let having = BTreeSet::from_iter(having);
            tiles = Some(match tiles {
                Some(tiles) => &tiles & &having,
                None => having,
            });
        }
        let Some(tiles) = tiles else { return Ok(vec![within.clone()]) };
        let full: Option<i64> =
            self.column("SELECT coalesce(max(n) + 1, 0) FROM tile WHERE level = 0", [])?;
        let rest = full.map_or(0, uint) * WIDTH;
        let spans = tiles.into_iter().map(|tile| tile * WIDTH..(tile + 1) * WIDTH);
        let mut stretches: Vec<Range<u64>> = Vec::new();
        for span in spans.chain(std::iter::once(rest..u64::MAX)) {
            let span = span.start.max(within.start)..span.end.min(within.end);
            match stretches.last_mut() {
                _ if span.is_empty() => {}
                Some(last) if last.end == span.start => last.end = span.end,
                _ => stretches.push(span),
            }
        }
        Ok(stretches)
    }
}
