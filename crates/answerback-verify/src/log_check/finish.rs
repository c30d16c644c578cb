//! Checks that need the whole log.

use std::collections::HashSet;

use super::LogCheck;
use super::checkpoints::NewestCheckpoint;
use crate::cosignature::RequiredWitness;
use crate::examine::shown;
use crate::report::{KeyTrust, Level, VerifyFailure, VerifyReport};
use crate::source::{LogSource, SourceError, SourceTile, StoredTiles};
use crate::tiles::{TILE_WIDTH, TileVerdict, tiles_of};

impl LogCheck {
    /// Reports witnesses that did not sign the whole log. A witness does not vouch for entries
    /// after its last cosignature.
    fn finish_witnesses(&mut self) {
        let size = self.frontier.size();
        for RequiredWitness { key, seen } in &self.witnesses {
            let name = key.name();
            match seen {
                None => {
                    let what = format!("the witness {name} signed no checkpoint of the log");
                    self.findings.fail(VerifyFailure::new(Level::Signatures, None, what));
                }
                Some(seen) if *seen < size => {
                    let what =
                        format!("the witness {name} has signed for {seen} of {size} entries");
                    self.findings.warn(None, &what);
                }
                Some(_) => {}
            }
        }
    }

    /// Runs the checks that need the whole log.
    pub(crate) fn finish(
        mut self,
        source: &mut dyn LogSource,
    ) -> Result<VerifyReport, SourceError> {
        self.check_outside_checkpoints();
        for outside_checkpoints in std::mem::take(&mut self.outside_checkpoints) {
            self.present(
                &outside_checkpoints.checkpoint,
                &outside_checkpoints.note,
                &outside_checkpoints.label,
                false,
            );
            self.findings.checked(Level::Consistency, 1);
            if let Some(failure) =
                self.compare_root(&outside_checkpoints.checkpoint, &outside_checkpoints.label)
            {
                self.findings.fail(VerifyFailure { level: Level::Consistency, ..failure });
            }
        }
        self.finish_newest();
        self.finish_witnesses();
        self.signatures.finish(&mut self.findings);
        self.finish_head();
        self.finish_tiles(source)?;
        if self.claims.missing_needs_prune && self.claims.from > self.pruned_below {
            let what =
                format!("the entries below {} are missing without a prune entry", self.claims.from);
            self.findings.fail(VerifyFailure::new(Level::Root, self.claims.from, what));
        }
        self.finish_trust();
        let erased_parts = self.erasures.erased();
        self.erasures.finish(source, self.pruned_below, &mut self.findings)?;
        let times = (self.now, self.semantics.last_ts());
        self.states.finish(source, times, &mut self.findings)?;
        self.semantics.finish(&mut self.findings);
        let vkey = self.keys.newest().map(ToString::to_string).unwrap_or_default();
        let key_trust = if self.vkeys.is_empty() { KeyTrust::FromLog } else { KeyTrust::Given };
        let (levels, warnings) = self.findings.into_levels();
        Ok(VerifyReport {
            valid: levels.iter().all(|level| level.held),
            origin: self.origin,
            from: self.claims.from,
            size: self.frontier.size(),
            root: self.frontier.root().to_string(),
            key_trust,
            vkey,
            erased_parts,
            levels,
            warnings,
        })
    }

    fn finish_newest(&mut self) {
        match self.newest_checkpoint.take() {
            None => {
                let what = "there is no checkpoint that can be read";
                self.findings.fail(VerifyFailure::new(Level::Signatures, None, what));
            }
            Some(NewestCheckpoint { wrong: Some(failure), .. }) => self.findings.fail(failure),
            Some(NewestCheckpoint { size, wrong: None }) if size != self.frontier.size() => {
                let failure = VerifyFailure::new(
                    Level::Root,
                    size,
                    "the log is longer than its newest checkpoint",
                );
                self.findings.fail(failure.differs(size, self.frontier.size()));
            }
            Some(_) => {}
        }
    }

    fn finish_head(&mut self) {
        let size = self.frontier.size();
        let mut differs = |what: &str, expected: String, actual: String| {
            if expected != actual {
                self.findings
                    .fail(VerifyFailure::new(Level::Root, size, what).differs(expected, actual));
            }
        };
        differs("the source names another size", size.to_string(), self.claims.size.to_string());
        let Some(head) = &self.claims.head else { return };
        let hex = |bytes: &[u8]| data_encoding::HEXLOWER.encode(bytes);
        differs("head.root is another", self.frontier.root().to_string(), hex(&head.root));
        let frontier: Vec<u8> =
            self.frontier.subtrees().iter().flat_map(|hash| *hash.as_bytes()).collect();
        differs("head.frontier is another", hex(&frontier), hex(&head.frontier));
        if let Some(last_ts) = self.semantics.last_ts() {
            differs("head.last_ts is another", last_ts.to_string(), head.last_ts.to_string());
        }
        if let Some(newest) = self.keys.newest() {
            let signer = shown(head.signer.as_bytes());
            differs("meta.signer is not the key in force", newest.to_string(), signer);
        }
    }

    fn finish_tiles(&mut self, source: &mut dyn LogSource) -> Result<(), SourceError> {
        let (Some(tiles), held) = (&self.tiles, self.claims.tiles) else { return Ok(()) };
        if held == StoredTiles::None {
            return Ok(());
        }
        let mut seen = HashSet::new();
        let findings = &mut self.findings;
        source.read_tiles(&mut |SourceTile { level, number, hashes: tile, root }| {
            let partial = tile.len() as u64 != TILE_WIDTH * 32;
            let what = match tiles.check(level, number, tile) {
                TileVerdict::Right if held == StoredTiles::Full && partial => "is not full",
                TileVerdict::Right
                    if root.is_some_and(|root| {
                        tiles.above(level, number).is_none_or(|above| above.as_bytes() != root)
                    }) =>
                {
                    "is filed with another root"
                }
                TileVerdict::Right => "",
                TileVerdict::Wrong => "is not what the leaves say",
                TileVerdict::Extra => "is extra, the tree has no such tile",
            };
            seen.insert((level, number));
            if !what.is_empty() {
                let what = format!("tile {number} of level {level} {what}");
                findings.fail(VerifyFailure::new(Level::Root, None, what));
            }
        })?;
        let size = self.frontier.size();
        for level in (0..8).take_while(|level| size >> (8 * level) > 0) {
            for (number, width) in tiles_of(size, level) {
                let needed = width == TILE_WIDTH || held == StoredTiles::FullAndPartial;
                if needed && !seen.contains(&(u64::from(level), number)) {
                    let what = format!("tile {number} of level {level} is missing");
                    self.findings.fail(VerifyFailure::new(Level::Root, None, what));
                }
            }
        }
        Ok(())
    }

    /// Checks that a trusted key is among the log's keys. Level 1 has checked that these keys
    /// signed.
    fn finish_trust(&mut self) {
        if self.vkeys.is_empty() {
            let what = "the key was taken from the log itself: give --vkey to know who wrote it";
            self.findings.warn(None, what);
        } else if !self.vkeys.iter().any(|key| self.keys.contains(key)) {
            let newest = self.keys.newest().map(ToString::to_string).unwrap_or_default();
            let trusted: Vec<String> = self.vkeys.iter().map(ToString::to_string).collect();
            let failure = VerifyFailure::new(
                Level::Signatures,
                None,
                "the log is not signed by a trusted key",
            );
            self.findings.fail(failure.differs(trusted.join(" or "), newest));
        }
    }
}
