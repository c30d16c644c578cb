use std::io::Write;
use std::path::Path;

#[cfg(feature = "parquet")]
use super::parquet;
use super::range::ExportRange;
use super::{Export, ExportError, ExportProgress, ExportSummary, jsonl, tiles};
use crate::Store;
use crate::engine::EngineRead;

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
        self.export(export, |read, range| jsonl::write(read, range, export.otel, output, progress))
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
        self.export(Export::new(), |read, range| tiles::write(read, range, directory, progress))
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
        self.export(export, |read, range| parquet::write(read, range, output, progress))
    }

    /// Runs an export on one consistent state of the store.
    fn export(
        &self,
        export: Export,
        write: impl FnOnce(&mut dyn EngineRead, &ExportRange) -> Result<(), ExportError>,
    ) -> Result<ExportSummary, ExportError> {
        self.read(|read| {
            let exported = ExportRange::read(read, export).and_then(|range| {
                write(read, &range)?;
                Ok(ExportSummary { from: range.from, size: range.size })
            });
            // Return the export's error as a value, so that the read transaction ends normally.
            Ok(exported)
        })?
    }
}
