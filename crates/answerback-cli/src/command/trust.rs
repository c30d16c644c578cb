use std::io::Write;
use std::path::PathBuf;

use answerback::config::{OnFailure, StoreConfig};
use anyhow::Context;
use serde_json::{Value, json};

use super::serve::check_servers;
use crate::configuration::{Configuration, ConfigurationFile, found};
use crate::exit::Exit;
use crate::gateway::speaker;
use crate::options::OutputFormat;
use crate::output::{Leavable, push_line, sanitise, say};
use crate::tokens::check_scopes;
use crate::trusted::{TrustState, Trusted};

/// Trust a configuration that was found, so that it may set more than how calls are judged
///
/// A found .agent/config.yml sets only tools.validation: a cloned repository must not name commands, stores, keys or
/// addresses. Trusting it allows the rest, for this place and this content; when the file changes, trust ends. A file
/// that is named with --config needs no trust.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback trust                        the configuration that would be found here
  answerback trust .agent/config.yml
  answerback trust --list
  answerback trust --remove .agent/config.yml

The list lies in the user's state directory.
Exit codes: 0 done, 1 it was not trusted (--remove), 2 there is no such file, or it is not a configuration.")]
pub(crate) struct Arguments {
    /// The file; otherwise the one that would be found here
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Show what is trusted
    #[arg(long, conflicts_with_all = ["file", "remove"])]
    list: bool,

    /// Trust the file no longer
    #[arg(long)]
    remove: bool,

    /// How to print
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let mut trusted = Trusted::read()?;
    if arguments.list {
        return list(&trusted, arguments.format);
    }
    let file = arguments.file.clone().or_else(found).context(
        "there is no configuration here: .agent/config.yml in this folder or one above; name the file",
    )?;
    if arguments.remove {
        let was_there = trusted.remove(&file)?;
        let name = file.display().to_string();
        let said = if was_there { "is trusted no longer" } else { "was not trusted" };
        let value = json!({"file": name, "removed": was_there});
        print(arguments.format, &value, &[format!("{name} {said}")])?;
        return Ok(if was_there { Exit::Good } else { Exit::NotGood });
    }
    let content = ConfigurationFile::read(file)?;
    // An invalid configuration that is trusted would make every command fail.
    let configuration = content.trusted()?;
    let (settings, warnings) = configuration.as_served(&content.path().display().to_string())?;
    check_scopes(&settings)?;
    check_servers(&settings)?;
    speaker(&configuration)?;
    for warning in warnings {
        say(&format!("warning: {warning}"));
    }
    if let Some(note) = content.foreign(&configuration.config.foreign) {
        say(&note);
    }
    let wants = content.wants_trust()?;
    let grants = grants(&configuration, &wants)?;
    let digest = trusted.add(content.path(), content.bytes())?;
    let name = content.path().display().to_string();
    let mut lines = vec![format!("{name} is trusted as it is (sha256 {digest}). It may:")];
    if grants.is_empty() {
        lines = vec![format!("{name} is trusted, though it sets nothing that needs it")];
    }
    lines.extend(grants.iter().map(|grant| format!("  {grant}")));
    let value = json!({"file": name, "sha256": digest.to_string(), "may": grants});
    print(arguments.format, &value, &lines)?;
    Ok(Exit::Good)
}

/// Describes everything that trusting the file allows.
fn grants(configuration: &Configuration, wants: &[&str]) -> anyhow::Result<Vec<String>> {
    let config = &configuration.config;
    let shown = |path: &str| configuration.path(path).display().to_string();
    let mut grants = Vec::new();
    let mut grant = |text: String| grants.push(text);
    match &config.store {
        // The URL may contain a password, so it is not printed.
        Some(StoreConfig::Url(_)) => grant("keep everything in the database of its URL".to_owned()),
        Some(StoreConfig::UrlVariable(name)) => {
            grant(format!("keep everything in the database that ${name} names"));
        }
        Some(StoreConfig::UrlFile(path)) => {
            grant(format!("keep everything in the database that {} names", shown(path)));
        }
        _ => {
            let file = configuration.store()?.or_else(|| configuration.state("ledger.db"));
            if let Some(file) = file.filter(|_| !wants.is_empty()) {
                grant(format!("keep everything in the file {}", file.display()));
            }
        }
    }
    if let Some(key) = &config.ledger.key {
        grant(format!("sign with the key {}", shown(key)));
    }
    if let Some(origin) = &config.ledger.origin {
        grant(format!("name the log {origin}"));
    }
    if let Some(anchor) = &config.ledger.anchor {
        grant(format!("write the anchor {}", shown(anchor)));
    }
    if config.ledger.on_failure == OnFailure::Open {
        grant("deliver answers that could not be recorded".to_owned());
    }
    for witness in &config.ledger.witness {
        grant(format!("send checkpoints to {}", witness.url));
    }
    if let (Some(manifest), Some(lock)) = (&config.governance.manifest, &config.governance.lock) {
        grant(format!("verify responses against {} and {}", shown(manifest), shown(lock)));
    }
    if let Some(agent) = &config.governance.agent {
        grant(format!("answer as the agent {agent}"));
    }
    for key in wants.iter().filter(|key| ["gateway", "console"].contains(key)) {
        grant(format!("set {key}, which may run commands and open ports"));
    }
    Ok(grants)
}

fn list(trusted: &Trusted, format: OutputFormat) -> anyhow::Result<Exit> {
    for (file, digest) in trusted.files() {
        let standing = match ConfigurationFile::read(file.into()) {
            Ok(content) => content.standing(trusted),
            Err(_) => TrustState::Unknown,
        };
        let (word, said) = match standing {
            TrustState::Trusted => ("trusted", "trusted"),
            TrustState::Changed => ("changed", "changed since: not trusted as it is"),
            TrustState::Unknown => ("missing", "not there"),
        };
        let value = json!({"file": file, "sha256": digest, "standing": word});
        print(format, &value, &[format!("{file}  {said}")])?;
    }
    Ok(Exit::Good)
}

fn print(format: OutputFormat, value: &Value, lines: &[String]) -> anyhow::Result<()> {
    let mut text = String::new();
    match format {
        OutputFormat::Json => push_line(&mut text, value)?,
        OutputFormat::Text => {
            for line in lines {
                text.push_str(&sanitise(line));
                text.push('\n');
            }
        }
    }
    Ok(Leavable::new(std::io::stdout()).write_all(text.as_bytes())?)
}
