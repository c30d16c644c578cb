//! Locates a ledger: its store, its key, and its anchor, which is in another folder.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use answerback::Digest;
use answerback::config::StoreConfig;
use answerback_gateway::RecordCommands;
use answerback_ledger::anchor::Divergence;
use answerback_store::{AdoptionOutcome, Settings, Store, StoreError};
use anyhow::{Context, bail};

use crate::configuration::{ConfigOption, Configuration};
use crate::shell::file_option;
use crate::user_folders;
use crate::witnesses::with_witnesses;

/// The environment variable that names a store.
const VARIABLE: &str = "ANSWERBACK_STORE";
/// The message about an empty file.
pub(crate) const EMPTY: &str = "the file is empty, not a ledger";

/// The options that select a ledger.
#[derive(Debug, clap::Args)]
pub(crate) struct LedgerLocation {
    /// The ledger's file, or the URL of a `PostgreSQL` database [default: `$ANSWERBACK_STORE`, the store in the
    /// configuration, ledger.db next to a trusted configuration, or ledger.db in the user's state directory]
    #[arg(long, global = true, value_name = "FILE|URL")]
    store: Option<PathBuf>,

    /// The signing key, created on first use [default: ledger.key in the configuration, or the file next to the store
    /// that ends in .key]
    #[arg(long, global = true, value_name = "FILE")]
    key: Option<PathBuf>,

    /// The file that stores checkpoints outside of the store [default: ledger.anchor in the configuration, or a file in
    /// the user's data directory]
    #[arg(long, global = true, value_name = "FILE")]
    anchor: Option<PathBuf>,

    #[command(flatten)]
    config: ConfigOption,

    /// Read on first use and only once, because verifying an export needs no configuration.
    #[arg(skip)]
    configuration: OnceCell<Box<Configuration>>,
}

impl LedgerLocation {
    /// Returns the location of a ledger in one folder, together with its configuration.
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

    /// Returns the configuration, which is read only once.
    pub(crate) fn configuration(&self) -> anyhow::Result<&Configuration> {
        if let Some(configuration) = self.configuration.get() {
            return Ok(configuration);
        }
        let configuration = Box::new(self.config.read()?);
        Ok(self.configuration.get_or_init(|| configuration))
    }

    /// Reads the configuration again.
    pub(crate) fn reread_configuration(&self) -> anyhow::Result<Configuration> {
        self.config.read()
    }

    /// Returns the path of the configuration, if there is one.
    pub(crate) fn configuration_file(&self) -> Option<PathBuf> {
        self.config.file()
    }

    /// Returns the store's URL, if it is in a database.
    pub(crate) fn url(&self) -> anyhow::Result<Option<String>> {
        let path = self.path()?;
        Ok(path.to_str().filter(|text| StoreConfig::is_url(text)).map(str::to_owned))
    }

    /// Returns the store's path, or its URL as a path.
    pub(crate) fn path(&self) -> anyhow::Result<PathBuf> {
        if let Some(path) =
            self.store.clone().or_else(|| user_folders::path_from_variable(VARIABLE))
        {
            return Ok(path);
        }
        let configuration = self.configuration()?;
        if let Some(path) = configuration.store()?.or_else(|| configuration.state("ledger.db")) {
            return Ok(path);
        }
        let folder = user_folders::state().context(
            "the user's state directory is unknown; name the ledger with --store FILE or $ANSWERBACK_STORE",
        )?;
        Ok(folder.join("answerback").join("ledger.db"))
    }

    /// Returns the store's path. Fails if the file does not exist or is empty.
    pub(crate) fn existing(&self) -> anyhow::Result<PathBuf> {
        let path = self.path()?;
        if !path.is_file() {
            bail!(
                "there is no ledger at {}; create one with `answerback ledger record FILE` or a gateway, or name \
                 another with --store FILE or $ANSWERBACK_STORE",
                path.display()
            );
        }
        if is_empty(&path) {
            bail!("{}: {EMPTY}", path.display());
        }
        Ok(path)
    }

    /// Returns the options with which another command finds the same ledger. Only options of this command are included;
    /// defaults need none.
    pub(crate) fn options(&self) -> String {
        let mut options = String::new();
        let is_url = |path: &Path| path.to_str().is_some_and(StoreConfig::is_url);
        match &self.store {
            // The URL may contain a password.
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

    /// Returns the commands about this ledger in a form that works in any folder and without this process's
    /// environment.
    pub(crate) fn commands(&self) -> RecordCommands {
        let named = self.store.clone().or_else(|| user_folders::path_from_variable(VARIABLE));
        let mut options = String::new();
        let config = match &named {
            // The URL may contain a password.
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

    /// Returns the option with which a command finds this ledger from any folder. Returns `None` for a database without
    /// a named configuration.
    pub(crate) fn option_anywhere(&self) -> Option<String> {
        match self.url() {
            Ok(None) => Some(file_option("store", &self.path().ok()?)),
            _ => self.config.option().map(|file| file_option("config", file)),
        }
    }

    /// Returns the folder for files that belong to the store but are not part of it.
    pub(crate) fn folder(&self) -> anyhow::Result<PathBuf> {
        if self.url()?.is_some() {
            let folder =
                user_folders::state().context("the user's state directory is not known")?;
            return Ok(folder.join("answerback"));
        }
        Ok(self.path()?.parent().map(Path::to_owned).unwrap_or_default())
    }

    /// Returns the path of the key.
    pub(crate) fn key(&self) -> anyhow::Result<PathBuf> {
        let configuration = self.configuration()?;
        match (&self.key, &configuration.config.ledger.key) {
            (Some(key), _) => Ok(key.clone()),
            (None, Some(key)) => Ok(configuration.path(key)),
            (None, None) if self.url()?.is_some() => bail!(
                "a ledger in a database has no default key; name one with --key FILE, or as ledger.key in the \
                 configuration"
            ),
            (None, None) => Ok(self.path()?.with_extension("key")),
        }
    }

    /// Returns the path of the anchor. It is in another folder than the store, so that restoring an old copy of the
    /// store's folder does not restore the anchor, too.
    pub(crate) fn anchor(&self) -> anyhow::Result<PathBuf> {
        if let Some(anchor) = &self.anchor {
            return Ok(anchor.clone());
        }
        let configuration = self.configuration()?;
        if let Some(anchor) = &configuration.config.ledger.anchor {
            return Ok(configuration.path(anchor));
        }
        let folder = user_folders::data()
            .context("the user's data directory is unknown; name the anchor with --anchor FILE")?;
        Ok(folder.join("answerback").join("anchors").join(anchor_name(&self.path()?)))
    }

    /// Opens the ledger for reading.
    pub(crate) fn read(&self) -> anyhow::Result<Store> {
        if let Some(url) = self.url()? {
            return Store::read_postgres(&url).context("the ledger in the database");
        }
        let path = self.existing()?;
        Store::read_sqlite(&path).with_context(|| path.display().to_string())
    }

    /// Opens an existing ledger for writing.
    pub(crate) fn write(&self) -> anyhow::Result<Store> {
        if self.url()?.is_some() {
            // Opening for writing would create a missing ledger. Reading reports that it is missing.
            self.read()?;
        } else {
            self.existing()?;
        }
        self.start()
    }

    /// Adopts a ledger that was restored from a copy older than its anchor.
    pub(crate) fn adopt(&self) -> anyhow::Result<AdoptionOutcome> {
        if let Some(url) = self.url()? {
            return Store::adopt_postgres(&url, &self.settings()?)
                .context("the ledger in the database");
        }
        let path = self.existing()?;
        let adopted = Store::adopt_sqlite(&path, &self.settings()?);
        adopted.with_context(|| path.display().to_string())
    }

    /// Opens the ledger for writing and creates it if needed.
    pub(crate) fn start(&self) -> anyhow::Result<Store> {
        self.start_with(Ok)
    }

    /// Opens the ledger like [`Self::start`], for a long-running command. The configured witnesses are asked as the log
    /// grows.
    pub(crate) fn start_long_running(&self, full_text: bool) -> anyhow::Result<Store> {
        self.start_with(|settings| {
            with_witnesses(settings.with_full_text(full_text), self.configuration()?)
        })
    }

    /// True if an option, a variable or the configuration names the ledger.
    pub(crate) fn is_configured(&self) -> anyhow::Result<bool> {
        let has_option = [&self.store, &self.key, &self.anchor].into_iter().any(Option::is_some);
        if has_option || user_folders::path_from_variable(VARIABLE).is_some() {
            return Ok(true);
        }
        // A trusted configuration stores its state next to itself.
        let configuration = self.configuration()?;
        Ok(configuration.config.store.is_some() || configuration.state("ledger.db").is_some())
    }

    /// Checks that a ledger in a file could be written, without creating anything.
    pub(crate) fn check_writable(&self) -> anyhow::Result<()> {
        let path = self.path()?;
        if path.exists() {
            let opened = fs::OpenOptions::new().write(true).open(&path);
            opened.with_context(|| format!("cannot write {}", path.display()))?;
            // SQLite writes additional files next to the store.
            user_folders::check_creatable(&path.with_extension("trial"))?;
        }
        self.check_can_start()
    }

    /// Checks that a ledger in a file could be created, without creating anything.
    pub(crate) fn check_can_start(&self) -> anyhow::Result<()> {
        for file in [self.path()?, self.key()?, self.anchor()?] {
            if !file.exists() {
                user_folders::check_creatable(&file)?;
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
            let opened = Store::open_postgres(&url, more(self.settings()?)?);
            return self.explained(opened, "the ledger in the database");
        }
        // The store's folder must exist first, because the anchor's name depends on its real path.
        for file in [&path, &key] {
            user_folders::create_parent(file)?;
        }
        let settings = more(self.settings()?)?;
        self.explained(Store::open_sqlite(&path, settings), &path.display().to_string())
    }

    /// Adds the place of the ledger to an error, and the whole command where the error names one.
    fn explained(&self, opened: Result<Store, StoreError>, place: &str) -> anyhow::Result<Store> {
        opened.map_err(|error| match error {
            StoreError::Diverged(Divergence::Behind { .. } | Divergence::Forked { .. }) => {
                let adopt = self.commands().command("ledger adopt");
                anyhow::anyhow!("{place}: {error} ({adopt})")
            }
            error => anyhow::Error::from(error).context(place.to_owned()),
        })
    }

    /// Returns the store settings: key, anchor and the ledger section of the configuration.
    pub(crate) fn settings(&self) -> anyhow::Result<Settings> {
        let anchor = self.anchor()?;
        user_folders::create_parent(&anchor)?;
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

/// True if the file is empty. It is not a ledger, but it could become one.
pub(crate) fn is_empty(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0)
}

/// Returns the name of the anchor for the store at this path. Stores with the same name in different folders have
/// different anchors.
fn anchor_name(store: &Path) -> OsString {
    if let Some(url) = store.to_str().filter(|text| StoreConfig::is_url(text)) {
        // The same database is the same ledger, whichever user and password are in its URL.
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
