//! Where a ledger lies: the store, its key, and the anchor, which lies elsewhere.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use answerback::Digest;
use answerback::config::StoreConfig;
use answerback_gateway::RecordCommands;
use answerback_store::{Adopted, Settings, Store};
use anyhow::{Context, bail};

use super::witness;
use crate::configuration::{ConfigOption, Configuration};
use crate::folders;
use crate::shell::file_option;

/// The variable that names a store.
const VARIABLE: &str = "ANSWERBACK_STORE";
/// What is said of a file that nobody wrote to.
pub(crate) const EMPTY: &str = "the file is empty, not a ledger";

/// Which ledger is meant.
#[derive(Debug, clap::Args)]
pub(crate) struct Location {
    /// The ledger's file, or the URL of a `PostgreSQL` database; otherwise `$ANSWERBACK_STORE`, the configuration's
    /// store, ledger.db beside a configuration that is trusted, else ledger.db in the user's state directory
    #[arg(long, global = true, value_name = "FILE|URL")]
    store: Option<PathBuf>,

    /// The key that signs, created on first use; otherwise the configuration's ledger.key, else the file beside the
    /// store that ends in .key
    #[arg(long, global = true, value_name = "FILE")]
    key: Option<PathBuf>,

    /// The file that remembers checkpoints outside the store; otherwise the configuration's ledger.anchor, else one in
    /// the user's data directory
    #[arg(long, global = true, value_name = "FILE")]
    anchor: Option<PathBuf>,

    #[command(flatten)]
    config: ConfigOption,

    /// Read when the first command asks, and once: who verifies an export needs none.
    #[arg(skip)]
    configuration: OnceCell<Box<Configuration>>,
}

impl Location {
    /// A ledger, and all that belongs to it, in one folder with its configuration.
    pub(crate) fn within(folder: &Path) -> Self {
        let file = |name: &str| Some(folder.join(name));
        Self {
            store: file("ledger.db"),
            key: file("ledger.key"),
            anchor: file("ledger.anchor"),
            config: ConfigOption::named(folder.join("config.yml")),
            configuration: OnceCell::new(),
        }
    }

    /// The configuration, where the options leave something open.
    pub(crate) fn configuration(&self) -> anyhow::Result<&Configuration> {
        if let Some(configuration) = self.configuration.get() {
            return Ok(configuration);
        }
        let configuration = Box::new(self.config.read()?);
        Ok(self.configuration.get_or_init(|| configuration))
    }

    /// The configuration as it is now.
    pub(crate) fn configuration_anew(&self) -> anyhow::Result<Configuration> {
        self.config.read()
    }

    /// The file of the configuration, where there is one.
    pub(crate) fn configuration_file(&self) -> Option<PathBuf> {
        self.config.file()
    }

    /// The URL of the store, where it is in a database.
    pub(crate) fn url(&self) -> anyhow::Result<Option<String>> {
        let path = self.path()?;
        Ok(path.to_str().filter(|text| StoreConfig::is_url(text)).map(str::to_owned))
    }

    /// The store's file.
    pub(crate) fn path(&self) -> anyhow::Result<PathBuf> {
        if let Some(path) = self.store.clone().or_else(|| folders::named(VARIABLE)) {
            return Ok(path);
        }
        let configuration = self.configuration()?;
        if let Some(path) = configuration.store()?.or_else(|| configuration.state("ledger.db")) {
            return Ok(path);
        }
        let folder = folders::state().context(
            "the user's state directory is not known; name the ledger with --store FILE or $ANSWERBACK_STORE",
        )?;
        Ok(folder.join("answerback").join("ledger.db"))
    }

    /// The store's file, which must be there.
    pub(super) fn existing(&self) -> anyhow::Result<PathBuf> {
        let path = self.path()?;
        if !path.is_file() {
            bail!(
                "there is no ledger at {}; `answerback ledger record` or a gateway starts one, \
                 --store FILE or $ANSWERBACK_STORE names another",
                path.display()
            );
        }
        if is_empty(&path) {
            bail!("{}: {EMPTY}", path.display());
        }
        Ok(path)
    }

    /// The options by which another command finds the same ledger, as they were given to this one. Where none was, none
    /// is needed.
    pub(crate) fn options(&self) -> String {
        let mut options = String::new();
        let is_url = |path: &Path| path.to_str().is_some_and(StoreConfig::is_url);
        match &self.store {
            // It may hold a password.
            Some(store) if is_url(store) => options.push_str(" --store URL"),
            Some(store) => options.push_str(&file_option("store", store)),
            None => {}
        }
        let config = self.config.option();
        let named =
            [("key", self.key.as_deref()), ("anchor", self.anchor.as_deref()), ("config", config)];
        for (option, file) in named {
            options.extend(file.map(|file| file_option(option, file)));
        }
        options
    }

    /// Returns how commands about this ledger are printed for somebody who pastes them in another folder, without what
    /// this process was started with.
    pub(crate) fn commands(&self) -> RecordCommands {
        let named = self.store.clone().or_else(|| folders::named(VARIABLE));
        let mut options = String::new();
        let config = match &named {
            // It may hold a password.
            Some(store) if store.to_str().is_some_and(StoreConfig::is_url) => {
                return RecordCommands::unprintable();
            }
            Some(store) => {
                options.push_str(&file_option("store", store));
                self.config.option().map(Path::to_owned)
            }
            None => {
                let names_store = self.configuration().is_ok_and(|configuration| {
                    configuration.config.store.is_some()
                        || configuration.state("ledger.db").is_some()
                });
                let named = self.config.option().map(Path::to_owned);
                if names_store { self.config.file() } else { named }
            }
        };
        let files = [("key", self.key.as_deref()), ("anchor", self.anchor.as_deref())];
        for (option, file) in files.into_iter().chain([("config", config.as_deref())]) {
            options.extend(file.map(|file| file_option(option, file)));
        }
        RecordCommands::with_options(options)
    }

    /// The option by which a command finds this ledger from any folder; nothing, where it is in a database whose
    /// configuration was not named.
    pub(crate) fn option_anywhere(&self) -> Option<String> {
        match self.url() {
            Ok(None) => Some(file_option("store", &self.path().ok()?)),
            _ => self.config.option().map(|file| file_option("config", file)),
        }
    }

    /// The folder for what belongs to the store and is no part of it.
    pub(crate) fn folder(&self) -> anyhow::Result<PathBuf> {
        if self.url()?.is_some() {
            let folder = folders::state().context("the user's state directory is not known")?;
            return Ok(folder.join("answerback"));
        }
        Ok(self.path()?.parent().map(Path::to_owned).unwrap_or_default())
    }

    /// The key's file.
    pub(super) fn key(&self) -> anyhow::Result<PathBuf> {
        let configuration = self.configuration()?;
        match (&self.key, &configuration.config.ledger.key) {
            (Some(key), _) => Ok(key.clone()),
            (None, Some(key)) => Ok(configuration.path(key)),
            (None, None) if self.url()?.is_some() => bail!(
                "a ledger in a database has no place for its key; name it with --key FILE, or as ledger.key in the \
                 configuration"
            ),
            (None, None) => Ok(self.path()?.with_extension("key")),
        }
    }

    /// The anchor's file: in another folder than the store's, so that who puts back an old copy of that
    /// folder does not put back the anchor with it.
    pub(super) fn anchor(&self) -> anyhow::Result<PathBuf> {
        if let Some(anchor) = &self.anchor {
            return Ok(anchor.clone());
        }
        let configuration = self.configuration()?;
        if let Some(anchor) = &configuration.config.ledger.anchor {
            return Ok(configuration.path(anchor));
        }
        let folder = folders::data().context(
            "the user's data directory is not known; name the anchor with --anchor FILE",
        )?;
        Ok(folder.join("answerback").join("anchors").join(anchor_name(&self.path()?)))
    }

    /// Opens the ledger to read it.
    pub(crate) fn read(&self) -> anyhow::Result<Store> {
        if let Some(url) = self.url()? {
            return Store::read_postgres(&url).context("the ledger in the database");
        }
        let path = self.existing()?;
        Store::read_sqlite(&path).with_context(|| path.display().to_string())
    }

    /// Opens the ledger to write, when it is there.
    pub(crate) fn write(&self) -> anyhow::Result<Store> {
        if self.url()?.is_some() {
            // Opening creates what is not there; reading says that it is not.
            self.read()?;
        } else {
            self.existing()?;
        }
        self.start()
    }

    /// Goes on with a ledger that was restored from an older copy than its anchor remembers.
    pub(super) fn adopt(&self) -> anyhow::Result<Adopted> {
        if let Some(url) = self.url()? {
            return Store::adopt_postgres(&url, &self.settings()?)
                .context("the ledger in the database");
        }
        let path = self.existing()?;
        let adopted = Store::adopt_sqlite(&path, &self.settings()?);
        adopted.with_context(|| path.display().to_string())
    }

    /// Opens the ledger to write; it begins here if it is not there yet.
    pub(crate) fn start(&self) -> anyhow::Result<Store> {
        self.start_with(Ok)
    }

    /// As [`Self::start`], for a command that stays: the witnesses of the configuration are asked as the log grows.
    pub(crate) fn start_to_stay(&self, full_text: bool) -> anyhow::Result<Store> {
        self.start_with(|settings| {
            witness::asked_by(settings.with_full_text(full_text), self.configuration()?)
        })
    }

    /// Whether somebody said where the ledger is, instead of leaving it to us.
    pub(crate) fn is_named(&self) -> anyhow::Result<bool> {
        let is_given = [&self.store, &self.key, &self.anchor].into_iter().any(Option::is_some);
        if is_given || folders::named(VARIABLE).is_some() {
            return Ok(true);
        }
        // A trusted configuration has its state next to it.
        let configuration = self.configuration()?;
        Ok(configuration.config.store.is_some() || configuration.state("ledger.db").is_some())
    }

    /// Whether a ledger in a file could be written here. Nothing is made.
    pub(crate) fn could_write(&self) -> anyhow::Result<()> {
        let path = self.path()?;
        if path.exists() {
            let opened = fs::OpenOptions::new().write(true).open(&path);
            opened.with_context(|| format!("cannot write {}", path.display()))?;
            // The database writes next to its file.
            folders::could_make(&path.with_extension("trial"))?;
        }
        self.could_start()
    }

    /// Whether a ledger in a file could begin here. Nothing is made.
    pub(crate) fn could_start(&self) -> anyhow::Result<()> {
        for file in [self.path()?, self.key()?, self.anchor()?] {
            if !file.exists() {
                folders::could_make(&file)?;
            }
        }
        Ok(())
    }

    fn start_with(
        &self,
        more: impl FnOnce(Settings) -> anyhow::Result<Settings>,
    ) -> anyhow::Result<Store> {
        let (path, key) = (self.path()?, self.key()?);
        if let Some(url) = self.url()? {
            return Store::open_postgres(&url, more(self.settings()?)?)
                .context("the ledger in the database");
        }
        // The store's folder first: the anchor is named by where it really is.
        for file in [&path, &key] {
            folders::make_for(file)?;
        }
        let settings = more(self.settings()?)?;
        Store::open_sqlite(&path, settings).with_context(|| path.display().to_string())
    }

    /// The key, the anchor and what the configuration says of the ledger, as every engine takes them.
    pub(super) fn settings(&self) -> anyhow::Result<Settings> {
        let anchor = self.anchor()?;
        folders::make_for(&anchor)?;
        let ledger = &self.configuration()?.config.ledger;
        let settings = Settings::new(self.key()?)
            .with_anchor_file(anchor)
            .with_on_failure(ledger.on_failure)
            .with_queue_units(usize::try_from(ledger.queue)?);
        Ok(match &ledger.origin {
            Some(origin) => settings.with_origin(origin),
            None => settings,
        })
    }
}

/// Whether a file has nothing in it: it is none of ours, though it could become one.
pub(crate) fn is_empty(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0)
}

/// A name for the anchor of the store at this path: two stores of one name have two anchors.
fn anchor_name(store: &Path) -> OsString {
    if let Some(url) = store.to_str().filter(|text| StoreConfig::is_url(text)) {
        // Who logs in, and with which password, does not make another ledger.
        let (_, place) =
            url.rsplit_once('@').or_else(|| url.split_once("://")).unwrap_or(("", url));
        let digest = Digest::of_bytes(place.as_bytes()).to_string();
        return format!("ledger-{}.anchor", &digest[..12]).into();
    }
    let folder = store.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or_else(|| Path::new(".")));
    let name = store.file_name().unwrap_or_default();
    let place = match folder {
        Ok(folder) => folder.join(name),
        Err(_) => store.to_owned(),
    };
    let digest = Digest::of_bytes(place.as_os_str().as_encoded_bytes()).to_string();
    let mut anchor = store.file_stem().unwrap_or_default().to_owned();
    anchor.push(format!("-{}.anchor", &digest[..12]));
    anchor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_of_two_stores_differ() {
        let (one, other) =
            (anchor_name(Path::new("/nowhere/a/x.db")), anchor_name(Path::new("/nowhere/b/x.db")));
        assert_ne!(one, other);
        assert_eq!(one, anchor_name(Path::new("/nowhere/a/x.db")));
        let text = one.to_str().unwrap();
        assert!(text.starts_with("x-") && text.ends_with(".anchor"), "{text}");
        let database = |url: &str| anchor_name(Path::new(url));
        assert_eq!(database("postgresql://a:b@h/x"), database("postgres://c@h/x"));
        assert_ne!(database("postgresql://h/x"), database("postgresql://h/y"));
    }
}
