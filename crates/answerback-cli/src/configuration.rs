//! The configuration: found where the contract says, read by the library.

use std::env;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use answerback::config::{ToolSettings, ValidationConfig};
use anyhow::{Context, bail};

use crate::output::say;

/// The file below a project's folder.
const IN_PROJECT: &str = ".agent/config.yml";
/// The file below the user's configuration directory.
const IN_USERS: &str = "answerback/config.yml";
/// The variable that names a file.
const VARIABLE: &str = "ANSWERBACK_CONFIG";
/// The longest file.
const MOST_BYTES: u64 = 1 << 20;

/// Options of the commands that judge calls.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigurationOptions {
    /// The configuration; otherwise `$ANSWERBACK_CONFIG`, .agent/config.yml here or in a folder above, or the user's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Take an unknown field for an error even where its schema allows it
    #[arg(long)]
    strict: bool,
}

impl ConfigurationOptions {
    /// How calls are judged. Keys that mean nothing are told on standard error.
    pub(crate) fn read(&self) -> anyhow::Result<ValidationConfig> {
        let mut config = match self.file() {
            Some(path) => read(&path)?,
            None => ValidationConfig::default(),
        };
        for warning in &config.warnings {
            say(&format!("warning: {warning}"));
        }
        if self.strict {
            for_all(&mut config, |settings| settings.strict = true);
        }
        Ok(config)
    }

    fn file(&self) -> Option<PathBuf> {
        let named = env::var_os(VARIABLE).filter(|name| !name.is_empty());
        self.config
            .clone()
            .or_else(|| named.map(PathBuf::from))
            .or_else(|| above(&env::current_dir().ok()?))
            .or_else(|| Some(users()?.join(IN_USERS)).filter(|path| path.is_file()))
    }
}

/// Changes the settings of every tool.
pub(crate) fn for_all(config: &mut ValidationConfig, change: impl Fn(&mut ToolSettings)) {
    change(&mut config.default);
    config.overrides.values_mut().for_each(change);
}

/// The nearest project's file, from a folder upwards.
fn above(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(IN_PROJECT)).find(|path| path.is_file())
}

/// The user's configuration directory.
fn users() -> Option<PathBuf> {
    let named = |name| env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    if cfg!(windows) {
        named("APPDATA")
    } else {
        named("XDG_CONFIG_HOME").or_else(|| Some(named("HOME")?.join(".config")))
    }
}

fn read(path: &Path) -> anyhow::Result<ValidationConfig> {
    let name = path.display().to_string();
    let mut text = String::new();
    let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
    let length = file
        .take(MOST_BYTES + 1)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read {name}"))?;
    if length as u64 > MOST_BYTES {
        bail!("{name} has more than {MOST_BYTES} bytes");
    }
    Ok(ValidationConfig::from_yaml(&name, &text)?)
}
