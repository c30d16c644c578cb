use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use answerback::ValidationError;
use answerback::contract::{Contract, Invalid, Profile};
use answerback::governance::lock::check_files;
use answerback::governance::{Disagreement, Lock, LockfileVersion, Manifest, compare_documents};
use answerback::json::Limits;
use anyhow::{Context, bail};
use clap::Subcommand;
use serde_json::{Value, json};

use crate::atomic_replace::replace;
use crate::exit::Exit;
use crate::governance_inputs::document;
use crate::input::InputSource;
use crate::options::{LimitOptions, OutputFormat, ProfileName};
use crate::output::{ClosableOutput, quiet_json, sanitise};
use crate::plural::count_noun;
use crate::prompts::PromptFolder;

/// Write and verify the lock of a manifest's prompts
///
/// The lock contains the SHA-256 of every prompt file. An agent's response contains the hash of its prompt, and
/// 'answerback check --manifest M --lock L' compares the two.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: LockAction,
}

#[derive(Debug, Subcommand)]
enum LockAction {
    Write(WriteArguments),
    Verify(VerifyArguments),
}

/// Write the lock of a manifest
///
/// The same manifest and files give the same bytes; an existing lock keeps its description. The manifest's governance can
/// forbid a changed hash under the same version: for domains if domains are immutable, for every prompt if it requires a
/// version increment.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback lock write
  answerback lock write --manifest versions/prompt-manifest.json --root .
  answerback lock write --lock -

JSON output: {\"lock\", \"written\", \"prompts\", \"added\", \"changed\", \"removed\", \"findings\"}
Exit codes: 0 written or already current, 1 not written because a rule forbids it, 2 something is missing.")]
struct WriteArguments {
    #[command(flatten)]
    set: PromptSetOptions,

    /// The version of the lock's format [default: the version of the existing lock, or 1]
    #[arg(long, value_name = "1|2", value_parser = clap::value_parser!(u64).range(1..=2))]
    lockfile_version: Option<u64>,
}

/// Compare the lock with the manifest and with the prompts' files
///
/// Every mismatch is listed: hashes that differ, with the expected and the actual one, missing files, and files that look
/// like prompts and are not locked.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback lock verify
  answerback lock verify --manifest versions/prompt-manifest.json --root . --format json

A file looks like a prompt if it is in a folder of prompts and has the same file name suffix, from the first dot.
JSON output: {\"manifest\", \"lock\", \"valid\", \"prompts\", \"findings\": [{\"document\", \"error_code\", \"field_path\",
\"message\", \"severity\", \"expected_value\"?, \"actual_value\"?}]}
Exit codes: 0 everything matches the lock, 1 something does not match, 2 it could not be checked.")]
struct VerifyArguments {
    #[command(flatten)]
    set: PromptSetOptions,

    /// The strictness of the checks of manifest and lock
    #[arg(long, value_enum, default_value_t = ProfileName::Strict)]
    profile: ProfileName,
}

/// The options that select the prompts.
#[derive(Debug, clap::Args)]
struct PromptSetOptions {
    /// The manifest
    #[arg(long, value_name = "FILE", default_value = "prompt-manifest.json")]
    manifest: PathBuf,

    /// The lock [default: prompt-lock.json next to the manifest]
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,

    /// The folder that files are relative to [default: the folder of the manifest]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    /// The output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,

    #[command(flatten)]
    limits: LimitOptions,
}

impl PromptSetOptions {
    fn manifest(&self) -> anyhow::Result<InputSource> {
        let file = self.manifest.display();
        if self.manifest.as_os_str() != "-" && !self.manifest.exists() {
            bail!("there is no manifest {file}; name it with --manifest FILE");
        }
        Ok(InputSource::new(&self.manifest))
    }

    fn lock(&self) -> PathBuf {
        self.lock.clone().unwrap_or_else(|| self.manifest.with_file_name("prompt-lock.json"))
    }

    fn folder(&self, limits: Limits) -> anyhow::Result<PromptFolder> {
        let beside = self.manifest.parent().filter(|folder| !folder.as_os_str().is_empty());
        let root = self.root.as_deref().or(beside).unwrap_or(Path::new("."));
        PromptFolder::open(root, limits)
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    match &arguments.action {
        LockAction::Write(arguments) => write(arguments),
        LockAction::Verify(arguments) => verify(arguments),
    }
}

fn write(arguments: &WriteArguments) -> anyhow::Result<Exit> {
    let (set, limits) = (&arguments.set, arguments.set.limits.limits());
    let manifest_name = set.manifest.display().to_string();
    let manifest = document(&set.manifest()?, Contract::Manifest, limits)?;
    if let Err(Invalid { findings, .. }) =
        Invalid::unless_valid(Contract::Manifest.check(&manifest, Profile::Strict))
    {
        let message =
            format!("{manifest_name} is not a valid prompt manifest; no lock was written");
        return LockReport::of(Contract::Manifest, findings).print_rejection(set, &message);
    }
    let manifest = Manifest::from_document(&manifest).context(manifest_name)?;
    let path = set.lock();
    let to_stdout = path.as_os_str() == "-";
    let present = if to_stdout { None } else { present(&path, limits)? };
    let version = match (arguments.lockfile_version, &present) {
        (Some(number), _) => LockfileVersion::try_from(number)?,
        (None, Some((_, lock))) => lock.lockfile_version,
        (None, None) => LockfileVersion::default(),
    };
    let files = set.folder(limits)?.read(manifest.prompts().map(|prompt| prompt.file))?;
    let mut lock =
        Lock::of(&manifest, &files, version).context("prompts that the manifest names")?;
    if let Some((_, before)) = &present {
        lock = lock.keeping(before);
    }
    let text = lock.to_text();
    if to_stdout {
        write!(ClosableOutput::new(io::stdout()), "{}", quiet_json(&text))?;
        return Ok(Exit::Good);
    }
    let name = path.display().to_string();
    let before = present.as_ref().map(|(_, lock)| lock);
    let findings = before.map(|before| lock.check_replacing(before, &manifest.governance));
    let findings = findings.unwrap_or_default();
    if !findings.is_empty() {
        let message = format!(
            "{name} was not changed, because the governance rules of the manifest forbid the change"
        );
        return LockReport::of(Contract::Lock, findings).print_rejection(set, &message);
    }
    let is_current = present.as_ref().is_some_and(|(bytes, _)| *bytes == text.as_bytes());
    if !is_current {
        replace(&path, text.as_bytes()).with_context(|| format!("cannot write {name}"))?;
    }
    let changes = LockChanges::between(before, &lock);
    let out = &mut ClosableOutput::new(anstream::AutoStream::auto(io::stdout().lock()));
    match set.format {
        OutputFormat::Json => {
            let line = json!({
                "lock": name, "written": !is_current, "prompts": lock.prompts.len(),
                "added": changes.added, "changed": changes.changed, "removed": changes.removed,
                "findings": [],
            });
            writeln!(out, "{}", quiet_json(&line.to_string()))?;
        }
        OutputFormat::Text => {
            let verb = if is_current { "is current" } else { "written" };
            let count = count_noun(lock.prompts.len(), "prompt");
            writeln!(out, "{GOOD}✔{GOOD:#} {}: {verb}, {count}", sanitise(&name))?;
            for (word, keys) in [
                ("added", changes.added),
                ("changed", changes.changed),
                ("removed", changes.removed),
            ] {
                for key in keys {
                    writeln!(out, "  {word:<8} {}", sanitise(key))?;
                }
            }
        }
    }
    Ok(Exit::Good)
}

/// Reads the existing lock. An unreadable lock is an error, so that it is never overwritten: a locked prompt could have
/// changed.
fn present(path: &Path, limits: Limits) -> anyhow::Result<Option<(Vec<u8>, Lock)>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found.with_context(|| format!("cannot open {}", path.display()))?,
    };
    let input = InputSource::new(path);
    let why = || {
        format!(
            "{} exists and cannot be read as a lock, so changes of locked prompts cannot be detected; restore it, or remove \
             it to start over",
            path.display()
        )
    };
    let value = document(&input, Contract::Lock, limits).with_context(why)?;
    let lock = Lock::from_document(&value).with_context(why)?;
    Ok(Some((input.bytes(limits)?, lock)))
}

/// The changes of a new lock, by key.
struct LockChanges<'l> {
    added: Vec<&'l String>,
    changed: Vec<&'l String>,
    removed: Vec<&'l String>,
}

impl<'l> LockChanges<'l> {
    fn between(before: Option<&'l Lock>, now: &'l Lock) -> Self {
        let was = |key: &String| before.and_then(|before| before.prompts.get(key));
        let added = now.prompts.keys().filter(|key| was(key).is_none()).collect();
        let changed = now
            .prompts
            .iter()
            .filter(|(key, prompt)| was(key).is_some_and(|before| before != *prompt))
            .map(|(key, _)| key)
            .collect();
        let before = before.iter().flat_map(|before| before.prompts.keys());
        let removed = before.filter(|key| !now.prompts.contains_key(*key)).collect();
        Self { added, changed, removed }
    }
}

fn verify(arguments: &VerifyArguments) -> anyhow::Result<Exit> {
    let (set, limits) = (&arguments.set, arguments.set.limits.limits());
    let path = set.lock();
    let manifest = document(&set.manifest()?, Contract::Manifest, limits)?;
    let lock = document(&InputSource::new(&path), Contract::Lock, limits)?;
    let profile: Profile = arguments.profile.into();
    let mut report =
        LockReport::of(Contract::Manifest, Contract::Manifest.check(&manifest, profile));
    report.add(Contract::Lock, Contract::Lock.check(&lock, profile));
    // The parts that are well-formed are compared, even if others are not.
    let found = compare_documents(&manifest, &lock);
    report.add(Contract::Lock, found.iter().map(Disagreement::of_lock).collect());
    let entries = Lock::entries(&lock);
    let folder = set.folder(limits)?;
    let mut files = folder.read(entries.values().map(|prompt| prompt.file.as_str()))?;
    if let Ok(manifest) = &Manifest::from_document(&manifest) {
        files = folder.with_strays(files, manifest, &[&set.manifest, &path])?;
    }
    report.add(Contract::Lock, check_files(&entries, &files));
    let prompts = entries.len();
    report.print_result(set, &path, prompts)
}

/// The findings, each with the document that it belongs to.
struct LockReport {
    findings: Vec<(Contract, ValidationError)>,
}

impl LockReport {
    fn of(contract: Contract, findings: Vec<ValidationError>) -> Self {
        let mut report = Self { findings: Vec::new() };
        report.add(contract, findings);
        report
    }

    fn add(&mut self, contract: Contract, findings: Vec<ValidationError>) {
        self.findings.extend(findings.into_iter().map(|finding| (contract, finding)));
    }

    /// Prints the reason why nothing was written.
    fn print_rejection(&self, set: &PromptSetOptions, message: &str) -> anyhow::Result<Exit> {
        let out = &mut ClosableOutput::new(anstream::AutoStream::auto(io::stdout().lock()));
        match set.format {
            OutputFormat::Json => {
                let lock = set.lock().display().to_string();
                let line = json!({"lock": lock, "written": false, "findings": self.json()?});
                writeln!(out, "{}", quiet_json(&line.to_string()))?;
            }
            OutputFormat::Text => {
                writeln!(out, "{BAD}✘{BAD:#} {}", sanitise(message))?;
                self.lines(out)?;
            }
        }
        Ok(Exit::NotGood)
    }

    /// Prints the result of the comparison.
    fn print_result(
        &self,
        set: &PromptSetOptions,
        lock: &Path,
        prompts: usize,
    ) -> anyhow::Result<Exit> {
        let out = &mut ClosableOutput::new(anstream::AutoStream::auto(io::stdout().lock()));
        let errors = self.findings.iter().filter(|(_, finding)| finding.is_error()).count();
        let (manifest, lock) = (set.manifest.display().to_string(), lock.display().to_string());
        match set.format {
            OutputFormat::Json => {
                let line = json!({
                    "manifest": manifest, "lock": lock, "valid": errors == 0, "prompts": prompts,
                    "findings": self.json()?,
                });
                writeln!(out, "{}", quiet_json(&line.to_string()))?;
            }
            OutputFormat::Text => {
                let count = count_noun(prompts, "prompt");
                let lock = sanitise(&lock);
                if errors == 0 {
                    writeln!(out, "{GOOD}✔{GOOD:#} {lock}: {count}, everything matches the lock")?;
                } else {
                    let errors = count_noun(errors, "error");
                    writeln!(out, "{BAD}✘{BAD:#} {lock}: {count}, {errors}")?;
                }
                self.lines(out)?;
            }
        }
        Ok(if errors == 0 { Exit::Good } else { Exit::NotGood })
    }

    fn lines(&self, out: &mut impl Write) -> io::Result<()> {
        for (contract, finding) in &self.findings {
            let (style, word) = if finding.is_error() { (BAD, "error") } else { (WARN, "warning") };
            let place = format!("{contract} {}", finding.field_path);
            let place = sanitise(place.trim_end());
            let message = sanitise(&finding.message);
            writeln!(
                out,
                "  {style}{word:<7}{style:#}  {}  {place}: {message}",
                finding.error_code
            )?;
        }
        Ok(())
    }

    fn json(&self) -> serde_json::Result<Vec<Value>> {
        self.findings
            .iter()
            .map(|(contract, finding)| {
                let mut line = json!({"document": contract.as_str()});
                if let (Value::Object(line), Value::Object(members)) =
                    (&mut line, serde_json::to_value(finding)?)
                {
                    line.extend(members);
                }
                Ok(line)
            })
            .collect()
    }
}

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const WARN: Style = AnsiColor::Yellow.on_default().bold();
