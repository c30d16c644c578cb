use std::io::Write;
use std::path::PathBuf;

use answerback::config::{OnFailure, StoreConfig};
use anyhow::Context;
use serde_json::{Value, json};

use super::serve::check_servers;
use crate::configuration::{Configuration, ConfigurationFile, find_configuration};
use crate::exit::Exit;
use crate::gateway::speaker;
use crate::options::OutputFormat;
use crate::output::{ClosableOutput, push_line, sanitise, say};
use crate::tokens::check_scopes;
use crate::trusted_files::{TrustState, TrustedFiles};

/// Trust a configuration that was found, so that all its settings apply
///
/// An untrusted .agent/config.yml sets only tools.validation, because a cloned repository must not set commands, stores,
/// keys or addresses. Trust applies to this path and this content, and ends when the file changes. A file named with
/// --config needs no trust.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback trust                        the configuration that is found here
  answerback trust .agent/config.yml
  answerback trust --list
  answerback trust --remove .agent/config.yml

The list is stored in the user's state directory.
Exit codes: 0 done, 1 the file was not trusted (--remove), 2 there is no such file, or it is not a configuration.")]
pub(crate) struct Arguments {
    /// The file [default: the configuration that is found here]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// List the trusted files
    #[arg(long, conflicts_with_all = ["file", "remove"])]
    list: bool,

    /// Stop trusting the file
    #[arg(long)]
    remove: bool,

    /// The output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let mut trusted = TrustedFiles::read()?;
    if arguments.list {
        return list(&trusted, arguments.format);
    }
    let file = arguments.file.clone().or_else(find_configuration).context(
        "there is no .agent/config.yml in this folder or a parent; name the file, or write one with `answerback init`",
    )?;
    if arguments.remove {
        let was_there = trusted.remove(&file)?;
        let name = file.display().to_string();
        let state = if was_there { "is no longer trusted" } else { "was not trusted" };
        let value = json!({"file": name, "removed": was_there});
        print(arguments.format, &value, &[format!("{name} {state}")])?;
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
    let mut lines =
        vec![format!("{name} is trusted with its present content (sha256 {digest}). It may:")];
    if grants.is_empty() {
        lines = vec![format!("{name} is trusted, although none of its settings requires trust")];
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
        Some(StoreConfig::Url(_)) => {
            grant("store everything in the database of its URL".to_owned());
        }
        Some(StoreConfig::UrlVariable(name)) => {
            grant(format!("store everything in the database that ${name} names"));
        }
        Some(StoreConfig::UrlFile(path)) => {
            grant(format!("store everything in the database that {} names", shown(path)));
        }
        _ => {
            let file = configuration.store()?.or_else(|| configuration.state("ledger.db"));
            if let Some(file) = file.filter(|_| !wants.is_empty()) {
                grant(format!("store everything in the file {}", file.display()));
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
        grant("deliver results that could not be recorded".to_owned());
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

fn list(trusted: &TrustedFiles, format: OutputFormat) -> anyhow::Result<Exit> {
    for (file, digest) in trusted.files() {
        let state = match ConfigurationFile::read(file.into()) {
            Ok(content) => content.trust_state(trusted),
            Err(_) => TrustState::Unknown,
        };
        let (word, description) = match state {
            TrustState::Trusted => ("trusted", "trusted"),
            TrustState::Changed => ("changed", "changed since then: not trusted"),
            TrustState::Unknown => ("missing", "missing"),
        };
        let value = json!({"file": file, "sha256": digest, "standing": word});
        print(format, &value, &[format!("{file}  {description}")])?;
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
    Ok(ClosableOutput::new(std::io::stdout()).write_all(text.as_bytes())?)
}
