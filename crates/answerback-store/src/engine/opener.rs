use super::{Engine, EngineRead, EngineResult};

/// Opens connections to one store.
pub(crate) trait Opener: Send + Sync {
    /// Opens a connection for writing, and creates the tables if necessary.
    fn writer(&self) -> EngineResult<Box<dyn Engine>>;
    /// Opens a connection for reading.
    fn reader(&self) -> EngineResult<Box<dyn EngineRead>>;
    /// Runs code that uses or drops a reading connection, on a thread where the driver may block.
    fn run_blocking(&self, act: &mut dyn FnMut()) {
        act();
    }
}
