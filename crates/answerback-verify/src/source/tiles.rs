//! Reads a directory of C2SP tiles with our additional files `vkey`, `parts.jsonl` and
//! `checkpoints.jsonl`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{
    LogSource, SourceClaims, SourceEntry, SourceError, SourceRecord, SourceTile, StoredTiles,
    lines::{DecodedPart, PartLine, SourceCheckpointLines, SourceLines, object, size_of_note},
};
use crate::{
    checkpoint::decimal,
    hash::MerkleHash,
    tiles::{TILE_WIDTH, tiles_of},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceParts<'a> {
    #[serde(borrow)]
    index: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    parts: Vec<PartLine<'a>>,
}

/// A directory of tiles.
pub struct TileDirectory {
    root: PathBuf,
    claims: SourceClaims,
    checkpoint: String,
}

impl TileDirectory {
    /// Opens a directory of tiles.
    ///
    /// # Errors
    ///
    /// Returns an error if its checkpoint or key cannot be read.
    pub fn open(root: &Path) -> Result<Self, SourceError> {
        let text = |name: &str| {
            let path = root.join(name);
            fs::read_to_string(&path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => {
                    SourceError::not_a_ledger(root, format!("the directory has no file {name}"))
                }
                _ => SourceError::read(&path, error),
            })
        };
        let checkpoint = text("checkpoint")?;
        let vkey = text("vkey")?.trim_end_matches('\n').to_owned();
        let Some(size) = size_of_note(&checkpoint) else {
            return Err(SourceError::not_a_ledger(root, "its checkpoint has no size"));
        };
        let origin = checkpoint.split('\n').next().unwrap_or_default().to_owned();
        let claims = SourceClaims {
            origin,
            vkey,
            from: first_bundle(root, size) * TILE_WIDTH,
            size,
            missing_needs_prune: true,
            head: None,
            tiles: StoredTiles::FullAndPartial,
        };
        Ok(Self { root: root.to_owned(), claims, checkpoint })
    }

    fn path(&self, level: &str, number: u64, width: u64) -> PathBuf {
        tile_path(&self.root, level, number, width)
    }

    fn bundle(&self, number: u64, width: u64) -> Result<Vec<u8>, SourceError> {
        let path = self.path("entries", number, width);
        fs::read(&path).map_err(|error| SourceError::read(&path, error))
    }
}

/// Returns the number of the first available entry bundle, with a binary search. Pruning removes
/// bundles from the front, without gaps.
fn first_bundle(root: &Path, size: u64) -> u64 {
    let (mut low, mut high) = (0, size / TILE_WIDTH);
    while low < high {
        let middle = low + (high - low) / 2;
        if tile_path(root, "entries", middle, TILE_WIDTH).is_file() {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Returns the path `tile/LEVEL/x001/x234/067`, with `.p/WIDTH` for a partial tile.
fn tile_path(root: &Path, level: &str, number: u64, width: u64) -> PathBuf {
    let mut name = format!("{:03}", number % 1000);
    let mut rest = number / 1000;
    while rest > 0 {
        name = format!("x{:03}/{name}", rest % 1000);
        rest /= 1000;
    }
    if width < TILE_WIDTH {
        name = format!("{name}.p/{width}");
    }
    root.join("tile").join(level).join(name)
}

/// Splits a bundle into its leaves. Each leaf follows its length in two bytes.
fn leaves(mut bundle: &[u8]) -> Option<Vec<&[u8]>> {
    let mut leaves = Vec::new();
    while let Some((length, rest)) = bundle.split_first_chunk::<2>() {
        let (leaf, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        leaves.push(leaf);
        bundle = rest;
    }
    bundle.is_empty().then_some(leaves)
}

impl LogSource for TileDirectory {
    fn claims(&self) -> &SourceClaims {
        &self.claims
    }

    fn read(&mut self, visit: &mut dyn FnMut(SourceRecord<'_>)) -> Result<(), SourceError> {
        let mut checkpoints = optional(&self.root.join("checkpoints.jsonl"))?
            .map(SourceCheckpointLines::new)
            .transpose()?;
        let mut parts = PartsFile::new(optional(&self.root.join("parts.jsonl"))?)?;
        let mut emit_checkpoints = |size: u64, visit: &mut dyn FnMut(SourceRecord<'_>)| {
            let Some(checkpoints) = &mut checkpoints else { return Ok(()) };
            while let Some(note) = checkpoints.up_to(size)? {
                // The newest checkpoint is in the file `checkpoint`, which is visited last.
                if note != self.checkpoint {
                    visit(SourceRecord::Checkpoint { note: &note, filed_under: None });
                }
            }
            Ok::<_, SourceError>(())
        };
        let mut index = 0;
        emit_checkpoints(index, visit)?;
        for number in 0..self.claims.from / TILE_WIDTH {
            let path = self.path("0", number, TILE_WIDTH);
            let tile = fs::read(&path).map_err(|error| SourceError::read(&path, error))?;
            for hash in tile.chunks_exact(32).filter_map(|hash| MerkleHash::try_from(hash).ok()) {
                visit(SourceRecord::PrunedHash(hash));
                index += 1;
                emit_checkpoints(index, visit)?;
            }
        }
        for (number, width) in tiles_of(self.claims.size, 0) {
            if number * TILE_WIDTH < self.claims.from {
                continue;
            }
            let bundle = self.bundle(number, width)?;
            let leaves = leaves(&bundle).ok_or_else(|| {
                SourceError::malformed(
                    &self.path("entries", number, width),
                    "bundle",
                    "an entry is cut short",
                )
            })?;
            for leaf in leaves {
                while let Some(stray) = parts.take_before(index)? {
                    for part in stray.1.parts() {
                        visit(SourceRecord::StrayPart { index: stray.0, name: part.name });
                    }
                }
                let own = parts.take_at(index)?.unwrap_or_default();
                visit(SourceRecord::Entry(SourceEntry {
                    index,
                    leaf,
                    parts: &own.parts(),
                    columns: None,
                }));
                index += 1;
                emit_checkpoints(index, visit)?;
            }
        }
        while let Some((index, parts)) = parts.take_before(u64::MAX)? {
            for part in parts.parts() {
                visit(SourceRecord::StrayPart { index, name: part.name });
            }
        }
        emit_checkpoints(u64::MAX, visit)?;
        visit(SourceRecord::Checkpoint { note: &self.checkpoint, filed_under: None });
        Ok(())
    }

    fn read_tiles(&mut self, visit: &mut dyn FnMut(SourceTile<'_>)) -> Result<(), SourceError> {
        let mut level = 0;
        while self.claims.size >> (8 * level) > 0 {
            for (number, width) in tiles_of(self.claims.size, level) {
                let path = self.path(&level.to_string(), number, width);
                match fs::read(&path) {
                    Ok(tile) => {
                        visit(SourceTile {
                            level: u64::from(level),
                            number,
                            hashes: &tile,
                            root: None,
                        });
                    }
                    // The verifier reports a missing tile.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(SourceError::read(&path, error)),
                }
            }
            level += 1;
        }
        Ok(())
    }
}

fn optional(path: &Path) -> Result<Option<SourceLines>, SourceError> {
    path.is_file().then(|| SourceLines::open(path)).transpose()
}

/// Reads the lines of `parts.jsonl` one ahead.
struct PartsFile {
    lines: Option<SourceLines>,
    next: Option<(u64, DecodedPart)>,
}

impl PartsFile {
    fn new(lines: Option<SourceLines>) -> Result<Self, SourceError> {
        let mut parts = Self { lines, next: None };
        parts.advance()?;
        Ok(parts)
    }

    fn take_at(&mut self, index: u64) -> Result<Option<DecodedPart>, SourceError> {
        let next = self.next.take_if(|(next, _)| *next == index);
        self.taken(next).map(|taken| taken.map(|(_, parts)| parts))
    }

    fn take_before(&mut self, index: u64) -> Result<Option<(u64, DecodedPart)>, SourceError> {
        let next = self.next.take_if(|(next, _)| *next < index);
        self.taken(next)
    }

    fn taken(
        &mut self,
        taken: Option<(u64, DecodedPart)>,
    ) -> Result<Option<(u64, DecodedPart)>, SourceError> {
        if taken.is_some() {
            self.advance()?;
        }
        Ok(taken)
    }

    fn advance(&mut self) -> Result<(), SourceError> {
        let Some(lines) = &mut self.lines else { return Ok(()) };
        let Some(decoded) = lines.next()?.map(decode) else { return Ok(()) };
        self.next = Some(decoded.map_err(|reason| lines.malformed(reason))?);
        Ok(())
    }
}

fn decode(line: &[u8]) -> Result<(u64, DecodedPart), String> {
    let line: SourceParts<'_> = object(line)?;
    let index = decimal(line.index.as_bytes()).ok_or("the index is not a number")?;
    Ok((index, DecodedPart::of(&line.parts).ok_or("a part is not base64")?))
}
