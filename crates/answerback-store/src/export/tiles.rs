use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use answerback_ledger::tile::{TilePath, WIDTH, bundle};
use answerback_ledger::tree::HashReader;

use super::line::{self, CheckpointLine, PartOf, PartsLine};
use super::range::ExportRange;
use super::visit::{checkpoints, leaves, parsed};
use super::{ExportError, ExportProgress};
use crate::engine::{EngineRead, Hashes};
use crate::{EntryFilter, StoreError};

/// Writes the log as a C2SP tlog-tiles directory.
pub(super) fn write(
    read: &mut dyn EngineRead,
    span: &ExportRange,
    directory: &Path,
    progress: &mut dyn FnMut(ExportProgress),
) -> Result<(), ExportError> {
    let directory = Directory::create(directory)?;
    directory.file("vkey", format!("{}\n", span.vkey).as_bytes())?;
    hash_tiles(read, span.size, &directory)?;
    entries(read, span, &directory, progress)?;
    let mut output = directory.output("checkpoints.jsonl")?;
    // Write all checkpoints: the tiles reach back to the first entry even after pruning.
    checkpoints(read, 0, span.size, &mut |note| {
        Ok(line::write(&mut output, &CheckpointLine { checkpoint: note })?)
    })?;
    output.flush()?;
    directory.file("checkpoint", span.newest.as_bytes())
}

/// Writes every hash tile of the tree, including the partial tiles at its right edge.
fn hash_tiles(
    read: &mut dyn EngineRead,
    size: u64,
    directory: &Directory<'_>,
) -> Result<(), ExportError> {
    let hashes = Hashes::of(read);
    let mut level = 0;
    let mut count = size;
    while count > 0 {
        for index in 0..count.div_ceil(WIDTH) {
            let width = (count - index * WIDTH).min(WIDTH);
            let tile = hashes.hashes(level, index * WIDTH, width).map_err(StoreError::from)?;
            let bytes: Vec<u8> = tile.iter().flat_map(|hash| *hash.as_bytes()).collect();
            directory.tile(TilePath::hashes(level, index, narrow(width)), &bytes)?;
        }
        level += 1;
        count /= WIDTH;
    }
    Ok(())
}

/// Writes the bundles of entries, and their content to `parts.jsonl`.
fn entries(
    read: &mut dyn EngineRead,
    span: &ExportRange,
    directory: &Directory<'_>,
    progress: &mut dyn FnMut(ExportProgress),
) -> Result<(), ExportError> {
    let mut output = directory.output("parts.jsonl")?;
    let mut waiting: Vec<Vec<u8>> = Vec::new();
    let total = span.size - span.from;
    leaves(read, &EntryFilter::default(), span.from..span.size, &mut |index, bytes, read| {
        if parsed(index, &bytes)?.member("parts").is_some() {
            let parts = PartOf::all(&read.parts(index).map_err(StoreError::from)?);
            if !parts.is_empty() {
                line::write(&mut output, &PartsLine { index, parts })?;
            }
        }
        waiting.push(bytes);
        let done = index + 1;
        if done.is_multiple_of(WIDTH) || done == span.size {
            let bytes = bundle(waiting.iter().map(Vec::as_slice)).map_err(StoreError::unit)?;
            let path = TilePath::entries(index / WIDTH, narrow(waiting.len() as u64));
            directory.tile(path, &bytes)?;
            waiting.clear();
            progress(ExportProgress { done: done - span.from, total });
        }
        Ok(())
    })?;
    Ok(output.flush()?)
}

/// Converts a tile's width, which is at most 256.
fn narrow(width: u64) -> u16 {
    u16::try_from(width).unwrap_or(u16::MAX)
}

struct Directory<'a> {
    root: &'a Path,
}

impl<'a> Directory<'a> {
    /// Creates the directory, which must be empty if it exists.
    fn create(root: &'a Path) -> Result<Self, ExportError> {
        let failed = |source| ExportError::File { path: root.to_owned(), source };
        fs::create_dir_all(root).map_err(failed)?;
        if fs::read_dir(root).map_err(failed)?.next().is_some() {
            return Err(ExportError::NotEmpty(root.to_owned()));
        }
        Ok(Self { root })
    }

    fn tile(&self, path: TilePath, bytes: &[u8]) -> Result<(), ExportError> {
        self.file(&path.to_string(), bytes)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> Result<(), ExportError> {
        let path = self.root.join(name);
        let write = || {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(&path, bytes)
        };
        write().map_err(|source| failed(&path, source))
    }

    fn output(&self, name: &str) -> Result<BufWriter<File>, ExportError> {
        let path = self.root.join(name);
        let file = File::create(&path).map_err(|source| failed(&path, source))?;
        Ok(BufWriter::with_capacity(1 << 16, file))
    }
}

fn failed(path: &Path, source: io::Error) -> ExportError {
    ExportError::File { path: path.to_owned(), source }
}
