use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use answerback_ledger::{Checkpoint, Note};
use anyhow::{Context, bail};

use super::location::Location;
use super::witness;
use crate::exit::Exit;
use crate::output::Leavable;
use crate::plural::counted;
use crate::replace::replace;

/// Print the newest signed checkpoint
///
/// Whoever keeps it can later tell whether anything before it was changed. Keep it where whoever writes the log
/// cannot reach it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger checkpoint > 2026-11-15.note
  answerback ledger checkpoint --publish /srv/www/checkpoint
  answerback ledger --config audit.yml checkpoint --witness

A witness remembers how far the log is and signs that it only grew (c2sp.org/tlog-witness). In the configuration:
  ledger:
    witness:
      - url: https://witness.example/w1
        key: witness.example/w1+5c5e0b9d+BG1v...
Exit codes: 0 done, 1 a witness did not sign, 2 it could not be done.")]
pub(crate) struct Arguments {
    /// Write it to this file, in one step; a newer one that is there stays
    #[arg(long, value_name = "FILE")]
    publish: Option<PathBuf>,

    /// Print the key that verifies it instead
    #[arg(long, conflicts_with = "publish")]
    vkey: bool,

    /// Have the witnesses of the configuration sign it first; what they sign is kept with it
    #[arg(long, conflicts_with = "vkey")]
    witness: bool,
}

pub(crate) fn run(arguments: &Arguments, location: &Location) -> anyhow::Result<Exit> {
    if arguments.vkey {
        writeln!(Leavable::new(std::io::stdout()), "{}", location.read()?.verifier_key()?)?;
        return Ok(Exit::Good);
    }
    let (note, exit) = if arguments.witness {
        witness::sign(location)?
    } else {
        (location.read()?.checkpoint()?, Exit::Good)
    };
    match &arguments.publish {
        None => write!(Leavable::new(std::io::stdout()), "{note}")?,
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
        let Some(old) = old else { bail!("the file that is there is not a checkpoint") };
        if old.origin() != new.origin() {
            bail!("the checkpoint that is there is of the log {}", old.origin());
        }
        if old.size() > new.size() {
            bail!(
                "the checkpoint that is there has {}, the log only {}",
                counted(old.size(), "entry"),
                new.size()
            );
        }
    }
    Ok(replace(path, note.to_string().as_bytes())?)
}
