//! Exports: the log in forms that others can read and verify, as `docs/ledger-format.md` has them.
//!
//! An export is written from one moment of the store, entry by entry, so it needs no more memory than a
//! page of entries, and appending goes on meanwhile. While it runs, content that is erased stays in the
//! database's files; it goes when the export is done.

mod jsonl;
mod line;
mod otel;
#[cfg(feature = "parquet")]
mod parquet;
mod tiles;

use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use answerback_ledger::{Checkpoint, Kind, Leaf, Note};

use crate::engine::EngineRead;
use crate::reading;
use crate::{Filter, Store, StoreError};

/// How many entries are read at a time.
const PAGE: usize = 256;

/// What of the log an export as JSON lines has, and in which words.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[must_use]
pub struct Export {
    from: Option<u64>,
    size: Option<u64>,
    otel: bool,
}

impl Export {
    /// Everything that is kept.
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves out the entries below this index. Their hashes go along, so that the root can be computed.
    pub const fn with_from(mut self, index: u64) -> Self {
        self.from = Some(index);
        self
    }

    /// Ends with the first checkpoint over at least this many entries.
    pub const fn with_size(mut self, size: u64) -> Self {
        self.size = Some(size);
        self
    }

    /// Adds to each entry what OpenTelemetry calls its members. Verifiers pass it over.
    pub const fn with_otel(mut self, otel: bool) -> Self {
        self.otel = otel;
        self
    }
}

/// What was exported.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Exported {
    /// The index of the first entry that is in it.
    pub from: u64,
    /// The size of the tree.
    pub size: u64,
}

/// How far an export has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ExportProgress {
    /// Entries that were written.
    pub done: u64,
    /// Entries that there are to write.
    pub total: u64,
}

/// Why an export was not written, or not to its end.
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
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The Parquet file could not be made.
    #[cfg(feature = "parquet")]
    #[error("the Parquet file could not be written")]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// The directory is in use.
    #[error("{0} is not empty; name a directory that is empty or not there yet")]
    NotEmpty(PathBuf),
    /// The log has no such entries.
    #[error(
        "there is nothing to export from entry {from} to size {size}: the log keeps the entries {} to {}",
        kept.start, kept.end.saturating_sub(1)
    )]
    Range {
        /// The first entry that was asked for.
        from: u64,
        /// The size that was asked for.
        size: u64,
        /// The entries that are kept.
        kept: Range<u64>,
    },
    /// The end that was asked for leaves out why content is missing.
    #[error(
        "a part of entry {target} was erased by entry {erasure}, which lies behind the end that was \
         asked for: a verifier would miss it; export at least {} entries", erasure + 1
    )]
    ErasedLater {
        /// The entry that lost a part.
        target: u64,
        /// The entry that says so.
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
    /// When the store cannot be read, the output cannot be written, or the log has no such entries.
    pub fn export_jsonl(
        &self,
        export: Export,
        output: &mut dyn Write,
        progress: &mut dyn FnMut(ExportProgress),
    ) -> Result<Exported, ExportError> {
        self.export(export, |read, span| jsonl::write(read, span, export.otel, output, progress))
    }

    /// Exports everything that is kept as a C2SP tlog-tiles directory, with content and checkpoints beside
    /// it. Its `checkpoint` is written last: a directory without one is not complete.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or the directory is not empty or cannot be written.
    pub fn export_tiles(
        &self,
        directory: impl AsRef<Path>,
        progress: &mut dyn FnMut(ExportProgress),
    ) -> Result<Exported, ExportError> {
        let directory = directory.as_ref();
        self.export(Export::new(), |read, span| tiles::write(read, span, directory, progress))
    }

    /// Exports entries as a Parquet file, a column for each member of the leaf and each OpenTelemetry attribute.
    /// The leaf's exact bytes are in it and the checkpoint is in its metadata, so it can be verified; content is not.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, the output cannot be written, or the log has no such entries.
    #[cfg(feature = "parquet")]
    pub fn export_parquet(
        &self,
        export: Export,
        output: &mut (dyn Write + Send),
        progress: &mut dyn FnMut(ExportProgress),
    ) -> Result<Exported, ExportError> {
        self.export(export, |read, span| parquet::write(read, span, output, progress))
    }

    /// Runs an export on one moment of the store.
    fn export(
        &self,
        export: Export,
        write: impl FnOnce(&mut dyn EngineRead, &Span) -> Result<(), ExportError>,
    ) -> Result<Exported, ExportError> {
        self.read(|read| {
            let exported = Span::read(read, export).and_then(|span| {
                write(read, &span)?;
                Ok(Exported { from: span.from, size: span.size })
            });
            // Not an error of reading: the transaction ends as after any other reading.
            Ok(exported)
        })?
    }
}

/// The part of the log that is exported, and what stands above it.
struct Span {
    origin: String,
    /// The key in force at `from`.
    vkey: String,
    from: u64,
    size: u64,
    /// The checkpoint over all of it.
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

    /// Content that was erased behind the end would be missing without a reason.
    fn check_erasures(
        &self,
        read: &mut dyn EngineRead,
        behind: Range<u64>,
    ) -> Result<(), ExportError> {
        let erasures = Filter::default().with_kind(Kind::Erasure);
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

/// The key that the newest of these entries to name one brought.
fn key_at(read: &mut dyn EngineRead, entries: Range<u64>) -> Result<Option<String>, ExportError> {
    let mut key = None;
    let configs = Filter::default().with_kind(Kind::Config);
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

/// Visits the leaves of a range, a page at a time.
fn leaves(
    read: &mut dyn EngineRead,
    filter: &Filter,
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

/// Visits the checkpoints over more than `above` entries and at most `size`, oldest first.
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
