//! Opens a store, and starts its threads.

use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use super::Store;
use crate::adopt::{AdoptionOutcome, adopt};
use crate::chain::Chain;
use crate::engine::{OpenTextIndex, Opener};
use crate::text_indexer::follow;
use crate::writer::LogWriter;
use crate::{Settings, StoreError};

impl Store {
    /// Opens the SQLite store in this file, and creates log and key on first use.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be used, its content is inconsistent, or the log is
    /// behind its anchor.
    #[cfg(feature = "sqlite")]
    pub fn open_sqlite(path: impl AsRef<Path>, settings: Settings) -> Result<Self, StoreError> {
        let opener = crate::sqlite::SqliteOpener::new(path.as_ref(), settings.lock_timeout);
        let text = opener.text();
        Self::open(Arc::new(opener), text, settings)
    }

    /// Adopts the store in this file although it is behind its anchors or differs from them,
    /// because it was restored from an older copy. An entry records the anchored checkpoints, and
    /// the anchors restart.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no log, the log matches its anchors, or an anchor cannot
    /// restart.
    #[cfg(feature = "sqlite")]
    pub fn adopt_sqlite(
        path: impl AsRef<Path>,
        settings: &Settings,
    ) -> Result<AdoptionOutcome, StoreError> {
        let opener = crate::sqlite::SqliteOpener::new(path.as_ref(), settings.lock_timeout);
        adopt(&(Arc::new(opener) as Arc<dyn Opener>), settings)
    }

    /// Opens the SQLite store in this file for reading. It creates no log and signs nothing.
    ///
    /// # Errors
    ///
    /// Returns an error if the store does not exist.
    #[cfg(feature = "sqlite")]
    pub fn read_sqlite(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let settings = Settings::new("");
        let opener = crate::sqlite::SqliteOpener::new(path.as_ref(), settings.lock_timeout);
        let text = opener.text();
        let store = Self::new(Arc::new(opener), text, settings);
        store.0.queue.close();
        store.head()?;
        Ok(store)
    }

    /// Opens the store in this PostgreSQL database, and creates tables, log and key on first use.
    ///
    /// The URL may name a schema of the database with `?schema=NAME`; the default is `answerback`.
    /// A schema holds one log. Any number of processes on any number of machines may share it, with
    /// the same key.
    ///
    /// # Errors
    ///
    /// Returns an error if the database cannot be used, its content is inconsistent, or the log is
    /// behind its anchor.
    #[cfg(feature = "postgres")]
    pub fn open_postgres(url: &str, settings: Settings) -> Result<Self, StoreError> {
        let opener = crate::postgres::PostgresOpener::new(url, &settings)?;
        let text = opener.text();
        Self::open(Arc::new(opener), text, settings)
    }

    /// Adopts the store in this database although it is behind its anchors or differs from them,
    /// because it was restored from an older copy. An entry records the anchored checkpoints, and
    /// the anchors restart.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no log, the log matches its anchors, or an anchor cannot
    /// restart.
    #[cfg(feature = "postgres")]
    pub fn adopt_postgres(url: &str, settings: &Settings) -> Result<AdoptionOutcome, StoreError> {
        let opener = crate::postgres::PostgresOpener::new(url, settings)?;
        adopt(&(Arc::new(opener) as Arc<dyn Opener>), settings)
    }

    /// Opens the store in this PostgreSQL database for reading. It creates no table and signs
    /// nothing.
    ///
    /// # Errors
    ///
    /// Returns an error if the store does not exist.
    #[cfg(feature = "postgres")]
    pub fn read_postgres(url: &str) -> Result<Self, StoreError> {
        let settings = Settings::new("");
        let opener = crate::postgres::PostgresOpener::new(url, &settings)?;
        let text = opener.text();
        let store = Self::new(Arc::new(opener), text, settings);
        store.0.queue.close();
        store.head()?;
        Ok(store)
    }

    pub(crate) fn open(
        opener: Arc<dyn Opener>,
        text: OpenTextIndex,
        settings: Settings,
    ) -> Result<Self, StoreError> {
        let chain = Chain::open(opener.as_ref(), &settings)?;
        let is_new = chain.edge.size() == 0;
        let store = Self::new(Arc::clone(&opener), text, settings.clone());
        let inner = &store.0;
        inner.counters.set_warnings(chain.engine.warnings());
        let writer = LogWriter {
            opener,
            settings: settings.clone(),
            queue: Arc::clone(&inner.queue),
            counters: Arc::clone(&inner.counters),
            chain: Ok(chain),
            swept: Instant::now(),
        };
        store.spawn("answerback-writer", move || writer.work())?;
        if settings.full_text {
            let index = store.text()?;
            let readers = Arc::clone(&inner.readers);
            let counters = Arc::clone(&inner.counters);
            let stop = Arc::clone(&inner.stop);
            store.spawn("answerback-text", move || follow(index, &readers, &counters, &stop))?;
        }
        #[cfg(feature = "witness")]
        store.follow_witnesses()?;
        if is_new {
            // The first entry of a log records its start. A batch without units writes it.
            store.write(|_| Ok(()))?.wait()?;
        }
        Ok(store)
    }

    /// Starts a thread that asks witnesses to cosign the checkpoints of this store. Closing the
    /// store does not wait for this thread.
    #[cfg(feature = "witness")]
    fn follow_witnesses(&self) -> Result<(), StoreError> {
        let (witnesses, stop) = (self.0.settings.witnesses.clone(), Arc::clone(&self.0.stop));
        if witnesses.is_empty() {
            return Ok(());
        }
        let client = self.cosignature_client();
        let thread = std::thread::Builder::new().name("answerback-witness".to_owned());
        let thread = thread.spawn(move || crate::cosigning::follow(&client, &witnesses, &stop));
        thread.map_err(|error| StoreError::Engine(Arc::new(error)))?;
        Ok(())
    }

    #[cfg(feature = "witness")]
    fn cosignature_client(&self) -> crate::cosigning::CosignatureClient {
        crate::cosigning::CosignatureClient {
            readers: Arc::clone(&self.0.readers),
            queue: Arc::clone(&self.0.queue),
            counters: Arc::clone(&self.0.counters),
        }
    }

    /// Asks a witness to cosign the newest checkpoint, and stores the cosignature. It blocks until
    /// the witness responds or times out. It uses the writer only to store the cosignature.
    ///
    /// # Errors
    ///
    /// Returns an error if the witness cannot be reached, does not sign, or has seen another
    /// history than this log's.
    #[cfg(feature = "witness")]
    pub fn ask_witness(
        &self,
        witness: &crate::Witness,
    ) -> Result<crate::CosignedCheckpoint, crate::WitnessError> {
        self.cosignature_client().request(witness)
    }

    fn spawn(&self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        let thread = thread.map_err(|error| StoreError::Engine(Arc::new(error)))?;
        self.0.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }
}
