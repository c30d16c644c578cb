use super::session::{PostgresConnection, PostgresSession, split};
use super::{schema, text};
use crate::engine::{Engine, EngineRead, EngineResult, OpenTextIndex, Opener};
use crate::{Settings, StoreError};

/// Splits the URL of a PostgreSQL store into the URL for the driver and the schema of the log.
///
/// # Errors
///
/// Returns an error if the URL is invalid or asks for TLS.
pub fn postgres_place(url: &str) -> Result<(String, String), StoreError> {
    split(url).map_err(StoreError::Unfit)
}

/// Opens connections to a store in a schema.
pub(crate) struct PostgresOpener(PostgresSession);

impl PostgresOpener {
    pub(crate) fn new(url: &str, settings: &Settings) -> Result<Self, StoreError> {
        PostgresSession::parse(url, settings).map(Self).map_err(StoreError::Unfit)
    }

    /// Returns the display name of the store, which contains no password.
    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the function that opens the full-text index, which is in the same schema.
    pub(crate) fn text(&self) -> OpenTextIndex {
        let session = self.0.clone();
        Box::new(move |_| text::open(&session).map(Some))
    }
}

impl Opener for PostgresOpener {
    fn writer(&self) -> EngineResult<Box<dyn Engine>> {
        let mut engine = PostgresConnection::open(&self.0)?;
        schema::prepare(&mut engine.client, &self.0.schema)?;
        engine.prepare_to_write()?;
        Ok(Box::new(engine))
    }

    fn reader(&self) -> EngineResult<Box<dyn EngineRead>> {
        let mut engine = PostgresConnection::open(&self.0)?;
        schema::check(&mut engine.client, &self.0.schema)?;
        Ok(Box::new(engine))
    }

    /// Steps out of the caller's async runtime. The driver blocks on its own runtime, which panics
    /// inside another one.
    fn run_blocking(&self, act: &mut dyn FnMut()) {
        use tokio::runtime::{Handle, RuntimeFlavor};
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(act),
            _ => act(),
        }
    }
}
