use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use answerback_gateway::RecordCommands;
use answerback_ledger::{Anchor, Checkpoint, FileAnchor};
use answerback_store::{LogHead, LogTotals, Store};
use serde_json::{Map, Value, json};

use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;
use crate::options::OutputFormat;
use crate::output::{ClosableOutput, push_line, sanitise};
use crate::plural::count_noun;

/// Show the size and the state of the ledger
///
/// Only the head, the newest checkpoint and the anchor are checked. Use `verify` to check everything.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 no problem at first sight, 1 a problem, 2 the ledger could not be read."
)]
pub(crate) struct Arguments {
    /// The output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(arguments: &Arguments, location: &LedgerLocation) -> anyhow::Result<Exit> {
    let figures = LedgerStatistics::read(location)?;
    let mut text = String::new();
    match arguments.format {
        OutputFormat::Json => push_line(&mut text, &figures.value())?,
        OutputFormat::Text => {
            for (name, line) in figures.lines() {
                text.push_str(&sanitise(&format!("{name:<11}{line}")));
                text.push('\n');
            }
        }
    }
    ClosableOutput::new(std::io::stdout()).write_all(text.as_bytes())?;
    Ok(if figures.health().is_none() { Exit::Good } else { Exit::NotGood })
}

struct LedgerStatistics {
    origin: String,
    head: LogHead,
    totals: LogTotals,
    files: Vec<(String, u64)>,
    text: Option<u64>,
    anchor_path: Option<PathBuf>,
    anchor: AnchorState,
    /// The witnesses, each with the size of the log that it signed.
    witnessed: Vec<(String, u64)>,
    /// The problem with the head and its checkpoint, if there is one.
    trouble: Option<String>,
    /// The command that verifies this ledger.
    verify: String,
    /// The commands about this ledger.
    commands: RecordCommands,
}

/// The result of comparing the store with its anchor.
enum AnchorState {
    /// There is no readable anchor. Holds the reason.
    Unknown(String),
    /// The anchor matches the log at this size.
    InStep(u64),
    /// The anchor has more entries than the store.
    Ahead(u64),
    /// The anchor has a different history than the store.
    Differs(u64),
}

impl AnchorState {
    fn read(store: &Store, path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else { return Ok(Self::Unknown("no place is known".to_owned())) };
        let newest = match FileAnchor::new(path).newest() {
            Ok(Some(newest)) => newest,
            Ok(None) => return Ok(Self::Unknown("is not there".to_owned())),
            Err(error) => return Ok(Self::Unknown(format!("cannot be read: {error}"))),
        };
        let size = newest.size();
        // The head is read after the anchor, because another process may append and anchor in between.
        if size > store.head()?.size {
            return Ok(Self::Ahead(size));
        }
        let is_ours = newest.origin() == store.origin()? && newest.root() == store.root(size)?;
        Ok(if is_ours { Self::InStep(size) } else { Self::Differs(size) })
    }

    /// Describes the problem and its solution, if there is one.
    fn trouble(&self, commands: &RecordCommands) -> Option<String> {
        match self {
            Self::Unknown(_) | Self::InStep(_) => None,
            Self::Ahead(size) => Some(format!(
                "the anchor remembers {}, and nothing can be recorded: restore a newer copy, or run `{}` to go on from \
                 here",
                count_noun(*size, "entry"),
                commands.command("ledger adopt"),
            )),
            Self::Differs(_) => Some(format!(
                "the anchor remembers another history, and nothing can be recorded: run `{}`",
                commands.command("ledger verify"),
            )),
        }
    }

    fn words(&self, head: &LogHead, verify: &str) -> String {
        match self {
            Self::Unknown(why) => why.clone(),
            Self::InStep(size) => format!("remembers {size} of {}", count_noun(head.size, "entry")),
            Self::Ahead(size) => {
                let entries = count_noun(*size, "entry");
                format!("remembers {entries}, the store has {}: it was rolled back", head.size)
            }
            Self::Differs(size) => {
                let entries = count_noun(*size, "entry");
                format!("remembers another history of {entries}: run `{verify}`")
            }
        }
    }
}

impl LedgerStatistics {
    fn read(location: &LedgerLocation) -> anyhow::Result<Self> {
        let store = location.read()?;
        // The disk usage of a database is not visible from here.
        let files =
            if location.url()?.is_some() { Vec::new() } else { files(&location.existing()?) };
        let anchor_path = location.anchor().ok();
        let anchor = AnchorState::read(&store, anchor_path.as_deref())?;
        let head = store.head()?;
        let commands = location.commands();
        let verify = commands.command("ledger verify");
        Ok(Self {
            origin: store.origin()?,
            totals: store.totals()?,
            files,
            text: store.text_position()?,
            anchor,
            anchor_path,
            witnessed: store.witnessed()?,
            trouble: trouble(&store, &head, &verify)?,
            verify,
            commands,
            head,
        })
    }

    /// Returns the first problem with the head or the anchor.
    fn health(&self) -> Option<String> {
        self.trouble.clone().or_else(|| self.anchor.trouble(&self.commands))
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let Self { head, totals, .. } = self;
        let kinds = totals.kinds.iter().map(|(kind, count)| format!("{kind} {count}"));
        let files = self.files.iter().map(|(name, bytes)| format!("{name} {}", size(*bytes)));
        let text = match self.text {
            None => "no index yet; `search --text` makes one".to_owned(),
            Some(position) if position >= head.size => "up to date".to_owned(),
            Some(position) => format!("{} behind", count_noun(head.size - position, "entry")),
        };
        let mut anchor = self.anchor.words(head, &self.verify);
        if let Some(path) = &self.anchor_path {
            anchor = format!("{}: {anchor}", path.display());
        }
        let mut lines = vec![
            ("log", self.origin.clone()),
            (
                "entries",
                format!("{} to {} of {}", head.minimum, head.size.saturating_sub(1), head.size),
            ),
            ("kinds", kinds.collect::<Vec<_>>().join(", ")),
            ("leaves", size(totals.leaf_bytes)),
            (
                "content",
                format!("{} in {}", size(totals.part_bytes), count_noun(totals.parts, "part")),
            ),
            ("files", files.collect::<Vec<_>>().join(", ")),
            (
                "checkpoint",
                format!(
                    "{} of them, the newest over {}",
                    totals.checkpoints,
                    count_noun(head.size, "entry")
                ),
            ),
            ("key", head.signer.to_string()),
            ("full text", text),
            ("anchor", anchor),
        ];
        for (signer, seen) in &self.witnessed {
            lines.push((
                "witness",
                format!("{signer} has signed for {seen} of {}", count_noun(head.size, "entry")),
            ));
        }
        lines.push(("health", self.health().unwrap_or_else(|| "good".to_owned())));
        lines
    }

    fn value(&self) -> Value {
        let Self { head, totals, .. } = self;
        let kinds: Map<String, Value> =
            totals.kinds.iter().map(|(kind, count)| (kind.to_string(), (*count).into())).collect();
        let files: Map<String, Value> =
            self.files.iter().map(|(name, bytes)| (name.clone(), (*bytes).into())).collect();
        let anchored = match self.anchor {
            AnchorState::Unknown(_) => "unknown",
            AnchorState::InStep(_) => "in_step",
            AnchorState::Ahead(_) => "ahead",
            AnchorState::Differs(_) => "differs",
        };
        json!({
            "origin": self.origin,
            "minimum": head.minimum.to_string(),
            "size": head.size.to_string(),
            "root": head.root.to_string(),
            "vkey": head.signer.to_string(),
            "kinds": kinds,
            "leaf_bytes": totals.leaf_bytes,
            "parts": totals.parts,
            "part_bytes": totals.part_bytes,
            "checkpoints": totals.checkpoints,
            "files": files,
            "text_behind": self.text.map(|position| head.size.saturating_sub(position)),
            "anchor": anchored,
            "witnessed": self.witnessed.iter().map(|(signer, seen)| json!({"signer": signer, "size": seen.to_string()})).collect::<Vec<_>>(),
            "trouble": self.health(),
        })
    }
}

/// Checks that the newest checkpoint matches the head and is signed. Returns the problem, if there is one.
fn trouble(store: &Store, head: &LogHead, verify: &str) -> anyhow::Result<Option<String>> {
    let note = store.checkpoint()?;
    let checkpoint = Checkpoint::read(&note)?;
    let agrees = checkpoint.size() == head.size
        && checkpoint.root() == head.root
        && head.frontier.root() == head.root;
    let is_signed = note.is_signed_by(&head.signer) == Ok(true);
    let what = match (agrees, is_signed) {
        (true, true) => return Ok(None),
        (false, _) => "the newest checkpoint is not that of the head",
        (true, false) => "the newest checkpoint is not signed by the key in force",
    };
    Ok(Some(format!("{what}: run `{verify}`")))
}

/// Returns the store's existing files with their sizes.
fn files(store: &Path) -> Vec<(String, u64)> {
    let file = |ending: &str| {
        let mut path = store.as_os_str().to_owned();
        path.push(ending);
        let path = PathBuf::from(path);
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some((name, fs::metadata(&path).ok()?.len()))
    };
    ["", "-wal", "-text", "-text-wal"].into_iter().filter_map(file).collect()
}

/// Formats a number of bytes for people.
fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "the number is shown with one decimal")]
    let number = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", number / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", number / 1e6),
        _ => format!("{:.1} GB", number / 1e9),
    }
}
