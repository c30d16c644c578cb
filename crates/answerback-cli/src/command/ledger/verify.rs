use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use answerback_store::system::now;
use answerback_verify::{
    CosignerKey, Level, NoteVerifierKey, ReceiptProofError, VerifyOptions, VerifyReport,
    verify_receipt, verify_with_progress,
};
use anyhow::{Context, bail};
use serde_json::json;

use crate::exit::Exit;
use crate::input::InputSource;
use crate::ledger_location::LedgerLocation;
use crate::options::OutputFormat;
use crate::output::{ClosableOutput, push_line, sanitise, say};
use crate::plural::count_noun;
use crate::progress::ProgressLine;
use crate::verify_source;

/// The largest receipt that is read, in bytes.
const MAX_BYTES: usize = 1 << 30;

/// Verify a ledger, offline, at five levels
///
/// The verifier shares no code with the writer of the log. Without SOURCE it verifies the store, and compares it with its
/// anchor. Without --vkey the key is read from the log itself, which proves nothing about the writer.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger verify
  answerback ledger verify export.jsonl --vkey KEY --checkpoint 2026-11-15.note
  answerback ledger verify export.jsonl --vkey KEY --witness WITNESS_KEY
  answerback ledger verify --receipt receipt.txt --vkey KEY

Exit codes, by the lowest level that fails:
   0  everything is valid
   2  it could not be checked: unreadable, or not a ledger
  11  signatures: a checkpoint is malformed, of another log, or not signed by the current key, or a required
      witness has signed none
  12  root: an entry was changed, removed or added
  13  content: a part was changed, or is missing without an entry that records why
  14  consistency: the log does not match an older checkpoint
  15  semantics: an entry is inconsistent, or a case or a blocked retry state differs from its record")]
pub(crate) struct Arguments {
    /// A store, its URL, an export or a directory of tiles [default: the store]
    #[arg(value_name = "SOURCE", conflicts_with = "receipt")]
    source: Option<PathBuf>,

    /// A trusted key; one of the given keys must have signed the log
    #[arg(long, value_name = "KEY", value_parser = vkey)]
    vkey: Vec<NoteVerifierKey>,

    /// A checkpoint or an anchor from outside of the store
    #[arg(long, value_name = "FILE", conflicts_with = "receipt")]
    checkpoint: Vec<PathBuf>,

    /// The key of a witness that must have signed a checkpoint of the log; a warning shows the signed size
    #[arg(long, value_name = "KEY", value_parser = witness, conflicts_with = "receipt")]
    witness: Vec<CosignerKey>,

    /// Verify this receipt instead; '-' is standard input
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,

    /// The output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

fn vkey(text: &str) -> Result<NoteVerifierKey, String> {
    NoteVerifierKey::parse(text).map_err(|error| error.to_string())
}

fn witness(text: &str) -> Result<CosignerKey, String> {
    CosignerKey::parse(text).map_err(|error| error.to_string())
}

pub(crate) fn run(arguments: &Arguments, location: &LedgerLocation) -> anyhow::Result<Exit> {
    if let Some(receipt) = &arguments.receipt {
        return arguments.receipt(receipt, location);
    }
    let path = match &arguments.source {
        Some(path) => path.clone(),
        None if location.url()?.is_some() => location.path()?,
        None => location.existing()?,
    };
    let mut options = VerifyOptions::new().with_time(now().unix_millis().saturating_mul(1000));
    for key in &arguments.vkey {
        options = options.with_vkey(key.clone());
    }
    for key in &arguments.witness {
        options = options.with_witness(key.clone());
    }
    for file in &arguments.checkpoint {
        options = with_checkpoints(options, file)?;
    }
    // The anchor belongs to the store. An export may be older than the anchor, or of another log.
    let is_store = arguments.source.is_none();
    let anchor = if is_store { location.anchor().ok() } else { None };
    if let Some(anchor) = anchor.filter(|anchor| anchor.is_file()) {
        options = with_checkpoints(options, &anchor)?;
    }
    let mut source = verify_source::open(&path)?;
    let mut progress = ProgressLine::new("entries");
    let mut told = 0;
    let report = verify_with_progress(source.as_mut(), &options, &mut |seen| {
        progress.add(seen.done.saturating_sub(told), 0);
        told = seen.done;
    });
    progress.finish();
    print(&report?, arguments.format)
}

fn with_checkpoints(options: VerifyOptions, file: &Path) -> anyhow::Result<VerifyOptions> {
    let name = file.display().to_string();
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    Ok(options.with_checkpoints(&name, &text)?)
}

fn print(report: &VerifyReport, format: OutputFormat) -> anyhow::Result<Exit> {
    let exit = match report.failed_levels().first() {
        None => Exit::Good,
        Some(level) => Exit::LevelFailed(*level),
    };
    let mut output = ClosableOutput::new(anstream::stdout().lock());
    match format {
        OutputFormat::Json => {
            let mut line = String::new();
            push_line(&mut line, report)?;
            output.write_all(line.as_bytes())?;
        }
        OutputFormat::Text => {
            for line in report.to_string().lines() {
                let style = style(line);
                writeln!(output, "{style}{}{style:#}", sanitise(line))?;
            }
        }
    }
    Ok(exit)
}

fn style(line: &str) -> Style {
    let color = match line.split_whitespace().next() {
        Some("holds") => AnsiColor::Green,
        Some("FAILS") => AnsiColor::Red,
        Some("warning") => AnsiColor::Yellow,
        _ => return Style::new(),
    };
    Style::new().fg_color(Some(color.into()))
}

impl Arguments {
    fn receipt(&self, file: &Path, location: &LedgerLocation) -> anyhow::Result<Exit> {
        let input = InputSource::new(file);
        let limits = answerback::json::Limits::default().with_max_bytes(MAX_BYTES);
        let text = String::from_utf8(input.bytes(limits)?)
            .ok()
            .with_context(|| format!("{} is not text", input.name()))?;
        let keys = if self.vkey.is_empty() { stored_keys(location)? } else { self.vkey.clone() };
        let mut failure = None;
        for key in &keys {
            match verify_receipt(&text, key, None) {
                Ok(proven) => {
                    let leaf: serde_json::Value =
                        serde_json::from_slice(&proven.leaf).unwrap_or_default();
                    let (index, size) = (proven.index, proven.checkpoint.size);
                    let mut output = ClosableOutput::new(std::io::stdout().lock());
                    match self.format {
                        OutputFormat::Text => writeln!(
                            output,
                            "holds   entry {index} is in the log {} of {}\n        {}",
                            sanitise(&proven.checkpoint.origin),
                            count_noun(size, "entry"),
                            sanitise(&leaf.to_string())
                        )?,
                        OutputFormat::Json => {
                            let mut line = String::new();
                            let value = json!({
                                "valid": true, "origin": proven.checkpoint.origin, "index": index.to_string(),
                                "size": size.to_string(), "leaf": leaf,
                            });
                            push_line(&mut line, &value)?;
                            output.write_all(line.as_bytes())?;
                        }
                    }
                    return Ok(Exit::Good);
                }
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        let Some(error) = failure else {
            bail!("there is no key to verify the receipt; add --vkey KEY")
        };
        let level = match error {
            ReceiptProofError::Signature | ReceiptProofError::Origin { .. } => {
                Some(Level::Signatures)
            }
            ReceiptProofError::Proof => Some(Level::Root),
            _ => None,
        };
        let mut output = ClosableOutput::new(anstream::stdout().lock());
        match self.format {
            OutputFormat::Text => {
                let line = format!("FAILS   {error}");
                let style = style(&line);
                writeln!(output, "{style}{}{style:#}", sanitise(&line))?;
            }
            OutputFormat::Json => {
                let mut line = String::new();
                let value = json!({"valid": false, "level": level, "error": error.to_string()});
                push_line(&mut line, &value)?;
                output.write_all(line.as_bytes())?;
            }
        }
        Ok(level.map_or(Exit::CouldNotCheck, Exit::LevelFailed))
    }
}

/// Returns the keys that the store itself names: the key of its first entry, and the present one.
fn stored_keys(location: &LedgerLocation) -> anyhow::Result<Vec<NoteVerifierKey>> {
    let store = location.read().context("verifying a receipt requires --vkey KEY, or the store")?;
    say("warning: the key was read from the store itself; add --vkey to check who signed");
    let keys = [store.verifier_key()?, store.first_key()?];
    keys.iter().map(|key| Ok(NoteVerifierKey::parse(&key.to_string())?)).collect()
}
