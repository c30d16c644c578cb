//! Finds the configuration, checks whether it is trusted, and reads it with the library.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use answerback::call::FormatMode;
use answerback::config::{Config, StoreConfig, ToolSettings, Trust, ValidationConfig};
use answerback_gateway::{GatewaySettings, ServiceSettings};
use anyhow::{Context, anyhow, bail};
use clap::ValueEnum;
use serde_json::json;

use crate::output::say;
use crate::shell::quoted;
use crate::trusted_files::{TrustState, TrustedFiles};
use crate::user_folders;

/// The path in a project's folder.
const IN_PROJECT: &str = ".agent/config.yml";
/// The path in the user's configuration directory.
const IN_USERS: &str = "answerback/config.yml";
/// The environment variable that names a file.
const VARIABLE: &str = "ANSWERBACK_CONFIG";
/// The largest configuration, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The option that selects a configuration.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigOption {
    /// The configuration, which needs no trust if it is named [default: `$ANSWERBACK_CONFIG`, .agent/config.yml here or
    /// in a parent folder, or the user's]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Options of the commands that check calls.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigurationOptions {
    #[command(flatten)]
    config: ConfigOption,

    /// Treat an unknown field as an error even if the schema allows it
    #[arg(long)]
    strict: bool,

    /// The check of the format keyword; overrides the configuration
    #[arg(long, value_enum, value_name = "MODE")]
    formats: Option<FormatsName>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatsName {
    /// Report values that violate the format's RFC as errors
    Assert,
    /// Report values that no common parser accepts as errors, and other violations as warnings
    Lenient,
    /// Report values that violate the format's RFC as warnings
    Warn,
    /// Do not check formats
    Off,
}

impl From<FormatsName> for FormatMode {
    fn from(name: FormatsName) -> Self {
        match name {
            FormatsName::Assert => Self::Assert,
            FormatsName::Lenient => Self::Lenient,
            FormatsName::Warn => Self::Warn,
            FormatsName::Off => Self::Off,
        }
    }
}

impl ConfigurationOptions {
    /// Returns the settings for checking calls. Unknown keys are reported on standard error.
    pub(crate) fn read(&self) -> anyhow::Result<ValidationConfig> {
        let mut config = self.config.read()?.config.validation;
        if self.strict {
            for_all(&mut config, |settings| settings.strict = true);
        }
        if let Some(formats) = self.formats {
            for_all(&mut config, |settings| settings.formats = formats.into());
        }
        Ok(config)
    }
}

/// A configuration, with the folder for its state and its relative paths.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    pub(crate) config: Config,
    /// The folder of a trusted file that sets more than how calls are checked.
    folder: Option<PathBuf>,
}

impl ConfigOption {
    /// Selects this file and no other.
    pub(crate) const fn named(file: PathBuf) -> Self {
        Self { config: Some(file) }
    }

    /// Returns the file named on the command line.
    pub(crate) fn option(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// Returns the file that is read, if there is one.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        self.config.clone().or_else(find_configuration)
    }

    /// Reads the configuration. In a named or trusted file, an unknown key is an error. In a file that was only found,
    /// it is a warning, and so is every key that requires trust.
    pub(crate) fn read(&self) -> anyhow::Result<Configuration> {
        let (path, is_configured) = match (&self.config, find_configuration()) {
            (Some(named), _) => (named.clone(), true),
            (None, Some(found)) => (found, false),
            (None, None) => return Ok(Configuration::default()),
        };
        let content = ConfigurationFile::read(path)?;
        let state =
            if is_configured { Ok(TrustState::Trusted) } else { content.unnamed_trust_state() };
        let is_trusted = matches!(state, Ok(TrustState::Trusted));
        let config = content.config(if is_trusted { Trust::Trusted } else { Trust::Found })?;
        if !config.ignored.is_empty() {
            say(&content.ignored_keys_warning(&config.ignored, state?));
        }
        for warning in config.warnings() {
            say(&format!("warning: {warning}"));
        }
        if let Some(note) = content.foreign(&config.foreign) {
            say(&note);
        }
        // Only a file that sets more than how calls are checked needs a folder.
        let needs_folder = is_trusted && !content.wants_trust()?.is_empty();
        let folder = if needs_folder { Some(content.folder()?) } else { None };
        Ok(Configuration { config, folder })
    }
}

impl Configuration {
    /// Resolves a path of the file. Relative paths start at the file's folder.
    pub(crate) fn path(&self, text: &str) -> PathBuf {
        self.folder.as_ref().map_or_else(|| PathBuf::from(text), |folder| folder.join(text))
    }

    /// Returns the path of a state file next to a trusted configuration.
    pub(crate) fn state(&self, name: &str) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(name))
    }

    /// Returns the tokens and servers, with warnings about keys without effect.
    pub(crate) fn service(&self) -> anyhow::Result<(ServiceSettings, Vec<String>)> {
        let parsed = json!({ "gateway": self.config.gateway });
        Ok(ServiceSettings::from_value("the configuration", &parsed)?)
    }

    /// Reads all gateway settings as `serve` does. Returns the tokens and servers, with warnings about every key that
    /// is unknown or has no effect.
    pub(crate) fn as_served(&self, file: &str) -> anyhow::Result<(ServiceSettings, Vec<String>)> {
        let parsed = json!({ "gateway": self.config.gateway });
        let (_, of_gateway) = GatewaySettings::from_value(file, &parsed)?;
        let (settings, of_service) = ServiceSettings::from_value(file, &parsed)?;
        let warnings = self.config.warnings().iter().map(ToString::to_string);
        Ok((settings, warnings.chain(of_gateway).chain(of_service).collect()))
    }

    /// Returns the environment variables that contain secrets. Servers do not inherit them.
    pub(crate) fn secret_variables(&self, settings: &ServiceSettings) -> Vec<OsString> {
        let store = match &self.config.store {
            Some(StoreConfig::UrlVariable(name)) => Some(name.as_str()),
            _ => None,
        };
        settings.secret_variables().chain(store).map(OsString::from).collect()
    }

    /// Returns the configured store: the path of a file, or a URL.
    pub(crate) fn store(&self) -> anyhow::Result<Option<PathBuf>> {
        let url = match &self.config.store {
            None => return Ok(None),
            Some(StoreConfig::File(path)) => return Ok(Some(self.path(path))),
            Some(StoreConfig::UrlVariable(name)) => env::var(name).ok().with_context(|| {
                format!("store.url_env names the variable {name}, which is not set")
            })?,
            Some(StoreConfig::UrlFile(path)) => {
                let path = self.path(path);
                let text = read(&path).context("store.url_file")?;
                String::from_utf8(text).ok().context("store.url_file is not text")?
            }
            Some(StoreConfig::Url(url)) => url.clone(),
            Some(_) => bail!("this kind of store is unknown"),
        };
        let url = url.trim();
        if !StoreConfig::is_url(url) {
            bail!("store.url_env or store.url_file does not contain a postgresql:// URL");
        }
        Ok(Some(PathBuf::from(url)))
    }
}

/// A configuration file with its bytes. The file is read once, so the bytes that are checked for trust are those that
/// are parsed.
pub(crate) struct ConfigurationFile {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl ConfigurationFile {
    pub(crate) fn read(path: PathBuf) -> anyhow::Result<Self> {
        Ok(Self { bytes: read(&path)?, path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the trust state of a file that was found instead of named.
    fn unnamed_trust_state(&self) -> anyhow::Result<TrustState> {
        Ok(self.trust_state(&TrustedFiles::read()?))
    }

    pub(crate) fn trust_state(&self, trusted: &TrustedFiles) -> TrustState {
        trusted.trust_state(&self.path, &self.bytes)
    }

    fn config(&self, trust: Trust) -> anyhow::Result<Config> {
        let name = self.path.display().to_string();
        let text = std::str::from_utf8(&self.bytes);
        let text = text.with_context(|| format!("{name} is not UTF-8"))?;
        // Errors are printed on one line, because the sanitizer would show line ends as symbols.
        let config = Config::from_yaml(&name, text, trust);
        config.map_err(|error| anyhow!("{}", error.to_string().replace('\n', "; ")))
    }

    /// Returns the whole configuration as trusted.
    pub(crate) fn trusted(&self) -> anyhow::Result<Configuration> {
        Ok(Configuration { config: self.config(Trust::Trusted)?, folder: Some(self.folder()?) })
    }

    /// Returns the keys that require trust.
    pub(crate) fn wants_trust(&self) -> anyhow::Result<Vec<&'static str>> {
        Ok(self.config(Trust::Found)?.ignored)
    }

    fn folder(&self) -> anyhow::Result<PathBuf> {
        // This is the folder of the link, not of its target, so that a linked file has its state next to the link.
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or_else(|| Path::new(".")));
        folder.with_context(|| format!("cannot find the folder of {}", self.path.display()))
    }

    /// Returns a line about keys of other programs, if there are any.
    pub(crate) fn foreign(&self, keys: &[String]) -> Option<String> {
        let path = self.path.display();
        (!keys.is_empty()).then(|| {
            format!(
                "note: {path} also contains keys of other programs, which are ignored: {}",
                keys.join(", ")
            )
        })
    }

    fn ignored_keys_warning(&self, keys: &[&str], state: TrustState) -> String {
        let (path, keys) = (self.path.display(), keys.join(", "));
        let why = match state {
            TrustState::Changed => "has changed since it was trusted",
            TrustState::Trusted | TrustState::Unknown => "is not trusted",
        };
        let file = quoted(&self.path.to_string_lossy()).into_owned();
        format!(
            "warning: {path} {why}, so it does not set {keys}; to allow it: answerback trust {file}"
        )
    }
}

/// Changes the settings of every tool.
pub(crate) fn for_all(config: &mut ValidationConfig, change: impl Fn(&mut ToolSettings)) {
    change(&mut config.default);
    config.overrides.values_mut().for_each(change);
}

/// Finds the configuration that applies without an option.
pub(crate) fn find_configuration() -> Option<PathBuf> {
    user_folders::path_from_variable(VARIABLE)
        .or_else(|| in_folder_or_parents(&env::current_dir().ok()?))
        .or_else(|| {
            Some(user_folders::configuration()?.join(IN_USERS)).filter(|path| path.is_file())
        })
}

/// Finds the nearest project file in this folder or above it.
fn in_folder_or_parents(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(IN_PROJECT)).find(|path| path.is_file())
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let name = path.display();
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {name}"))?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!("{name} has more than {MAX_BYTES} bytes");
    }
    Ok(bytes)
}
