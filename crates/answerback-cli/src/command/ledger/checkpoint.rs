use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use answerback_ledger::{Checkpoint, Note};
use anyhow::{Context, bail};

use super::witness;
use crate::atomic_replace::replace;
use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;
use crate::output::ClosableOutput;
use crate::plural::count_noun;

/// Print the newest signed checkpoint
///
/// With a checkpoint you can later detect changes to any earlier entry. Store it where writers of the log have no
/// access.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger checkpoint > 2026-11-15.note
  answerback ledger checkpoint --publish /srv/www/checkpoint
  answerback ledger --config audit.yml checkpoint --witness

A witness remembers the size of the log and signs that it only grew (c2sp.org/tlog-witness). In the configuration:
  ledger:
    witness:
      - url: https://witness.example/w1
        key: witness.example/w1+5c5e0b9d+BG1v...
Exit codes: 0 done, 1 a witness did not sign, 2 it failed.")]
pub(crate) struct Arguments {
    /// Write the checkpoint to this file atomically, unless the file has a newer one
    #[arg(long, value_name = "FILE")]
    publish: Option<PathBuf>,

    /// Print the verification key instead
    #[arg(long, conflicts_with = "publish")]
    vkey: bool,

    /// Ask the configured witnesses to sign first; their signatures are stored with the checkpoint
    #[arg(long, conflicts_with = "vkey")]
    witness: bool,
}

pub(crate) fn run(arguments: &Arguments, location: &LedgerLocation) -> anyhow::Result<Exit> {
    if arguments.vkey {
        writeln!(ClosableOutput::new(std::io::stdout()), "{}", location.read()?.verifier_key()?)?;
        return Ok(Exit::Good);
    }
    let (note, exit) = if arguments.witness {
        witness::sign(location)?
    } else {
        (location.read()?.checkpoint()?, Exit::Good)
    };
    match &arguments.publish {
        None => write!(ClosableOutput::new(std::io::stdout()), "{note}")?,
        Some(path) => {
            publish(&note, path).with_context(|| format!("cannot publish {}", path.display()))?;
        }
    }
    Ok(exit)
}

/// Replaces a published checkpoint with a newer one. Readers see either the old one or the new one.
fn publish(note: &Note, path: &Path) -> anyhow::Result<()> {
    let new = Checkpoint::read(note)?;
    if let Ok(text) = fs::read_to_string(path) {
        let old = Note::parse(&text).ok().and_then(|note| Checkpoint::read(&note).ok());
        let Some(old) = old else {
            bail!("the existing file is not a checkpoint; name another file")
        };
        if old.origin() != new.origin() {
            bail!(
                "the existing file is a checkpoint of the log {}; name another file",
                old.origin()
            );
        }
        if old.size() > new.size() {
            bail!(
                "the existing checkpoint has {}, the log only {}; verify the ledger",
                count_noun(old.size(), "entry"),
                new.size()
            );
        }
    }
    Ok(replace(path, note.to_string().as_bytes())?)
}
