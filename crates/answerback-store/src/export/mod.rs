//! Exports the log in formats that others can read and verify. `docs/ledger-format.md` specifies
//! them.
//!
//! An export reads one consistent state of the store, one page of entries at a time. It needs
//! little memory, and appending continues in the meantime. While an export runs, erased content
//! stays in the database's files. It is removed after the export.

mod jsonl;
mod line;
mod otel;
#[cfg(feature = "parquet")]
mod parquet;
mod tiles;

use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use answerback_ledger::{Checkpoint, Leaf, LeafKind, Note};

use crate::engine::EngineRead;
use crate::reading;
use crate::{EntryFilter, Store, StoreError};

/// The number of entries that are read at a time.
const PAGE: usize = 256;

/// The options of an export: its range, and whether it includes OpenTelemetry attributes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[must_use]
pub struct Export {
    from: Option<u64>,
    size: Option<u64>,
    otel: bool,
}

impl Export {
    /// Creates options to export all stored entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves out the entries below this index. The export includes their subtree hashes, so that
    /// the root can be computed.
    pub const fn with_from(mut self, index: u64) -> Self {
        self.from = Some(index);
        self
    }

    /// Ends the export with the first checkpoint over at least this many entries.
    pub const fn with_size(mut self, size: u64) -> Self {
        self.size = Some(size);
        self
    }

    /// Adds the OpenTelemetry attributes of each entry. Verifiers ignore them.
    pub const fn with_otel(mut self, otel: bool) -> Self {
        self.otel = otel;
        self
    }
}

/// The range that was exported.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ExportSummary {
    /// The index of the first exported entry.
    pub from: u64,
    /// The size of the tree.
    pub size: u64,
}

/// The progress of an export.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ExportProgress {
    /// The number of entries written so far.
    pub done: u64,
    /// The total number of entries to write.
    pub total: u64,
}

/// Explains why an export failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The output could not be written.
    #[error("the export could not be written")]
    Output(#[from] io::Error),
    /// A file of a directory could not be written.
    #[error("cannot write {path}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
    /// The Parquet file could not be written.
    #[cfg(feature = "parquet")]
    #[error("the Parquet file could not be written")]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// The directory is not empty.
    #[error("{0} is not empty; name a directory that is empty or not there yet")]
    NotEmpty(PathBuf),
    /// The log does not have the requested entries.
    #[error(
        "there is nothing to export from entry {from} to size {size}: the log keeps the entries {} to {}",
        kept.start, kept.end.saturating_sub(1)
    )]
    Range {
        /// The first requested entry.
        from: u64,
        /// The requested size.
        size: u64,
        /// The range of entries that are stored.
        kept: Range<u64>,
    },
    /// The export would end before an erasure entry that explains missing content.
    #[error(
        "a part of entry {target} was erased by entry {erasure}, which lies behind the end that was \
         asked for: a verifier would miss it; export at least {} entries", erasure + 1
    )]
    ErasedLater {
        /// The index of the entry whose part was erased.
        target: u64,
        /// The index of the entry that records the erasure.
        erasure: u64,
    },
}

impl Store {
    /// Exports the log as JSON lines.
    ///
    /// ```
    /// # use answerback_ledger::Draft;
    /// # use answerback_store::{Export, Settings, Store};
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open_sqlite(folder.path().join("store.db"), Settings::new(folder.path().join("key")))?;
    /// store.append(Draft::request().with_tool("read_file"))?.wait()?;
    /// let mut lines = Vec::new();
    /// let exported = store.export_jsonl(Export::new(), &mut lines, &mut |_| {})?;
    /// assert_eq!((exported.from, exported.size), (0, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read, the output cannot be written, or the log does
    /// not have such entries.
    pub fn export_jsonl(
        &self,
        export: Export,
        output: &mut dyn Write,
        progress: &mut dyn FnMut(ExportProgress),
    ) -> Result<ExportSummary, ExportError> {
        self.export(export, |read, span| jsonl::write(read, span, export.otel, output, progress))
    }

    /// Exports all stored entries as a C2SP tlog-tiles directory, with additional files for content
    /// and checkpoints. The file `checkpoint` is written last, so a directory without it is
    /// incomplete.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read, or the directory is not empty or cannot be
    /// written.
    pub fn export_tiles(
        &self,
        directory: impl AsRef<Path>,
        progress: &mut dyn FnMut(ExportProgress),
    ) -> Result<ExportSummary, ExportError> {
        let directory = directory.as_ref();
        self.export(Export::new(), |read, span| tiles::write(read, span, directory, progress))
    }

    /// Exports entries as a Parquet file, with a column for each member of the leaf and each
    /// OpenTelemetry attribute. The file contains the leaf's exact bytes, and its metadata the
    /// checkpoint, so it can be verified. It does not contain content.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read, the output cannot be written, or the log does
    /// not have such entries.
    #[cfg(feature = "parquet")]
    pub fn export_parquet(
        &self,
        export: Export,
        output: &mut (dyn Write + Send),
        progress: &mut dyn FnMut(ExportProgress),
    ) -> Result<ExportSummary, ExportError> {
        self.export(export, |read, span| parquet::write(read, span, output, progress))
    }

    /// Runs an export on one consistent state of the store.
    fn export(
        &self,
        export: Export,
        write: impl FnOnce(&mut dyn EngineRead, &Span) -> Result<(), ExportError>,
    ) -> Result<ExportSummary, ExportError> {
        self.read(|read| {
            let exported = Span::read(read, export).and_then(|span| {
                write(read, &span)?;
                Ok(ExportSummary { from: span.from, size: span.size })
            });
            // Return the export's error as a value, so that the read transaction ends normally.
            Ok(exported)
        })?
    }
}

/// The range of the log to export, with its origin, key and checkpoint.
struct Span {
    origin: String,
    /// The key in force at `from`.
    vkey: String,
    from: u64,
    size: u64,
    /// The checkpoint over the whole range.
    newest: String,
}

impl Span {
    fn read(read: &mut dyn EngineRead, export: Export) -> Result<Self, ExportError> {
        let head = reading::head(read)?;
        let from = export.from.unwrap_or(head.minimum);
        let wanted = export.size.unwrap_or(head.size);
        if from < head.minimum || from >= wanted || wanted > head.size {
            let kept = head.minimum..head.size;
            return Err(ExportError::Range { from, size: wanted, kept });
        }
        let notes = reading::checkpoints(read, wanted - 1, 1)?;
        let missing = || StoreError::Damaged("it has no newest checkpoint".to_owned());
        let newest = notes.into_iter().next().ok_or_else(missing)?;
        let (size, newest) = (size_of(&newest)?, newest.to_string());
        let damaged = |what: &str| StoreError::Damaged(what.to_owned());
        let mut meta = |key: &str| {
            let value = read.meta(key).map_err(StoreError::from)?;
            value.ok_or_else(|| damaged("it has no origin or key"))
        };
        let (origin, first_key) = (meta("origin")?, meta("vkey")?);
        let span = Self { origin, vkey: first_key, from, size, newest };
        span.check_erasures(read, size..head.size)?;
        let vkey = key_at(read, head.minimum..from)?;
        Ok(match vkey {
            Some(vkey) => Self { vkey, ..span },
            None => span,
        })
    }

    /// Fails if an entry after the end erased content in the range. A verifier would find content
    /// missing without an explanation.
    fn check_erasures(
        &self,
        read: &mut dyn EngineRead,
        behind: Range<u64>,
    ) -> Result<(), ExportError> {
        let erasures = EntryFilter::default().with_kind(LeafKind::Erasure);
        leaves(read, &erasures, behind, &mut |erasure, leaf, _| match parsed(erasure, &leaf)?
            .index("target_index")
        {
            Some(target) if (self.from..self.size).contains(&target) => {
                Err(ExportError::ErasedLater { target, erasure })
            }
            _ => Ok(()),
        })
    }
}

/// Returns the key that the newest key entry in this range introduces, if there is one.
fn key_at(read: &mut dyn EngineRead, entries: Range<u64>) -> Result<Option<String>, ExportError> {
    let mut key = None;
    let configs = EntryFilter::default().with_kind(LeafKind::Config);
    leaves(read, &configs, entries, &mut |index, leaf, _| {
        let leaf = parsed(index, &leaf)?;
        if leaf.text("subject") == Some("key") {
            key = leaf.text("vkey").map(ToOwned::to_owned);
        }
        Ok(())
    })?;
    Ok(key)
}

type EntryVisitor<'a> =
    dyn FnMut(u64, Vec<u8>, &mut dyn EngineRead) -> Result<(), ExportError> + 'a;

/// Visits the leaves of a range, one page at a time.
fn leaves(
    read: &mut dyn EngineRead,
    filter: &EntryFilter,
    mut range: Range<u64>,
    visit: &mut EntryVisitor<'_>,
) -> Result<(), ExportError> {
    while !range.is_empty() {
        let page = read.leaves(filter, range.clone(), PAGE).map_err(StoreError::from)?;
        let Some((last, _)) = page.last() else { break };
        range.start = last + 1;
        for (index, leaf) in page {
            visit(index, leaf, read)?;
        }
    }
    Ok(())
}

/// Visits the checkpoints over more than `above` and at most `size` entries, oldest first.
fn checkpoints(
    read: &mut dyn EngineRead,
    mut above: u64,
    size: u64,
    visit: &mut dyn FnMut(&str) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    while above < size {
        let notes = reading::checkpoints(read, above, PAGE)?;
        if notes.is_empty() {
            break;
        }
        for note in notes {
            above = size_of(&note)?;
            if above > size {
                break;
            }
            visit(&note.to_string())?;
        }
    }
    Ok(())
}

fn size_of(note: &Note) -> Result<u64, StoreError> {
    let damaged = |error| StoreError::Damaged(format!("a checkpoint: {error}"));
    Checkpoint::read(note).map(|checkpoint| checkpoint.size()).map_err(damaged)
}

fn parsed(index: u64, bytes: &[u8]) -> Result<Leaf, StoreError> {
    Leaf::parse(bytes)
        .map_err(|error| StoreError::Damaged(format!("the entry at {index}: {error}")))
}
