use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use answerback_store::{Export, ExportProgress, ExportSummary, Store};
use anyhow::{Context, bail};
use clap::ValueEnum;

use crate::atomic_replace::replace_with;
use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;
use crate::options::number;
use crate::output::{ClosableOutput, say};
use crate::progress::ProgressLine;

/// Export the log so that others can verify it
///
/// JSON lines have entries, content and checkpoints in one file. Tiles are a directory that any web server can
/// publish (c2sp.org/tlog-tiles), with additional files for content and checkpoints. `answerback ledger verify` reads
/// both. Parquet is for analysis: a column for each member, without content.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger export --to ledger.jsonl
  answerback ledger export --to - --from 5000 --otel | zstd > rest.jsonl.zst
  answerback ledger export --to public/ --format tiles
  answerback ledger export --to ledger.parquet --format parquet

An export contains the content: publish tiles only if all content may be public, or delete parts.jsonl.")]
pub(crate) struct Arguments {
    /// The file or directory to write; '-' is standard output
    #[arg(long, value_name = "FILE|DIR")]
    to: PathBuf,

    /// The format of the export
    #[arg(long, value_enum, default_value_t = ExportLayout::Jsonl)]
    format: ExportLayout,

    /// Omit the entries before this index
    #[arg(long, value_name = "INDEX", value_parser = number)]
    from: Option<u64>,

    /// Stop at the first checkpoint with at least this many entries
    #[arg(long, value_name = "N", value_parser = number)]
    size: Option<u64>,

    /// Add the member names of OpenTelemetry's conventions for generative AI
    #[arg(long)]
    otel: bool,

    /// Replace an existing file; a link stays and its target is replaced
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum ExportLayout {
    /// One file of JSON lines
    Jsonl,
    /// A directory of C2SP tiles
    Tiles,
    /// One Parquet file, if the program was built with this feature
    Parquet,
}

pub(crate) fn run(arguments: &Arguments, location: &LedgerLocation) -> anyhow::Result<Exit> {
    let to_stdout = arguments.to.as_os_str() == "-";
    if arguments.format == ExportLayout::Tiles {
        if arguments.from.is_some() || arguments.size.is_some() || arguments.otel || to_stdout {
            bail!(
                "tiles are a directory with the whole log; --from, --size, --otel and '-' require --format jsonl"
            );
        }
    } else if arguments.format == ExportLayout::Parquet && to_stdout {
        bail!("a Parquet file cannot be written to standard output; name a file");
    } else if !to_stdout {
        arguments.check_place()?;
    }
    let store = location.read()?;
    let mut progress = ProgressLine::new("entries");
    let mut told = 0;
    let mut tell = |seen: ExportProgress| {
        progress.add(seen.done - told, 0);
        told = seen.done;
    };
    let exported = if arguments.format == ExportLayout::Tiles {
        store.export_tiles(&arguments.to, &mut tell)?
    } else if to_stdout {
        let output = ClosableOutput::ending(std::io::stdout().lock());
        let mut output = BufWriter::with_capacity(1 << 16, output);
        match store.export_jsonl(arguments.export(), &mut output, &mut tell) {
            // A consumer that stops reading early is not an error.
            Err(_) if output.get_ref().is_closed() => return Ok(Exit::Good),
            exported => exported?,
        }
    } else {
        arguments.write(&store, &mut tell)?
    };
    progress.finish();
    let ExportSummary { from, size, .. } = exported;
    say(&format!("exported entries {from} to {} of {size}", size - 1));
    Ok(Exit::Good)
}

impl Arguments {
    fn export(&self) -> Export {
        let mut export = Export::new().with_otel(self.otel);
        if let Some(from) = self.from {
            export = export.with_from(from);
        }
        if let Some(size) = self.size {
            export = export.with_size(size);
        }
        export
    }

    /// Rejects a path that cannot be written, or that needs --force, before the log is read.
    fn check_place(&self) -> anyhow::Result<()> {
        let name = self.to.display();
        let Ok(present) = fs::metadata(&self.to) else { return Ok(()) };
        if present.is_dir() {
            bail!("{name} is a directory; name a file in it");
        }
        if present.is_file() && !self.force {
            bail!("{name} already exists; name another file, or add --force");
        }
        if !present.is_file() && (self.format == ExportLayout::Parquet || !is_pipe(&present)) {
            bail!("{name} is not a regular file and was not changed; name a file");
        }
        Ok(())
    }

    /// Writes a temporary file and moves it into place once it is complete and synced. Output to a pipe is written
    /// directly.
    fn write(
        &self,
        store: &Store,
        tell: &mut dyn FnMut(ExportProgress),
    ) -> anyhow::Result<ExportSummary> {
        let cannot = || format!("cannot write {}", self.to.display());
        if fs::metadata(&self.to).is_ok_and(|present| is_pipe(&present)) {
            let mut pipe = OpenOptions::new().write(true).open(&self.to).with_context(cannot)?;
            return self.write_into(&mut pipe, store, tell);
        }
        replace_with(&self.to, |file| self.write_into(file, store, tell)).with_context(cannot)
    }

    fn write_into(
        &self,
        file: &mut File,
        store: &Store,
        tell: &mut dyn FnMut(ExportProgress),
    ) -> anyhow::Result<ExportSummary> {
        let mut output = BufWriter::with_capacity(1 << 16, file);
        let exported = match self.format {
            ExportLayout::Parquet => parquet(store, self.export(), &mut output, tell)?,
            _ => store.export_jsonl(self.export(), &mut output, tell)?,
        };
        output.flush()?;
        Ok(exported)
    }
}

/// True for a pipe or a terminal, which writing does not replace.
#[cfg(unix)]
fn is_pipe(present: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let kind = present.file_type();
    kind.is_fifo() || kind.is_char_device()
}

#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    false
}

#[cfg(feature = "parquet")]
fn parquet(
    store: &Store,
    export: Export,
    output: &mut (dyn Write + Send),
    tell: &mut dyn FnMut(ExportProgress),
) -> anyhow::Result<ExportSummary> {
    Ok(store.export_parquet(export, output, tell)?)
}

#[cfg(not(feature = "parquet"))]
fn parquet(
    _: &Store,
    _: Export,
    _: &mut (dyn Write + Send),
    _: &mut dyn FnMut(ExportProgress),
) -> anyhow::Result<ExportSummary> {
    bail!(
        "this program was built without Parquet; build it with: \
         cargo install --path crates/answerback-cli --features parquet"
    )
}
