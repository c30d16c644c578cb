use std::sync::{Arc, Mutex, PoisonError};

use crate::StoreError;
use crate::engine::{EngineRead, Opener};

/// The maximum number of idle connections in the pool.
const IDLE: usize = 4;

/// A pool of connections for reading.
///
/// Pools such as deadpool are async and made for one database. Reads here block, and the same pool
/// serves both engines.
pub(crate) struct Readers {
    opener: Arc<dyn Opener>,
    idle: Mutex<Vec<Box<dyn EngineRead>>>,
}

impl Readers {
    pub(crate) fn new(opener: Arc<dyn Opener>) -> Self {
        Self { opener, idle: Mutex::default() }
    }

    pub(crate) fn opener(&self) -> &dyn Opener {
        self.opener.as_ref()
    }

    /// Runs a function on one consistent state of the store.
    pub(crate) fn read<T>(
        &self,
        act: impl FnOnce(&mut dyn EngineRead) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (mut act, mut result) = (Some(act), None);
        self.opener
            .run_blocking(&mut || result = act.take().map(|act| self.read_on_this_thread(act)));
        // `run_blocking` always runs the closure, so the error below does not occur.
        result.unwrap_or_else(|| Err(StoreError::unit("nothing was read")))
    }

    fn read_on_this_thread<T>(
        &self,
        act: impl FnOnce(&mut dyn EngineRead) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut read = match idle {
            Some(read) => read,
            None => self.opener.reader()?,
        };
        read.begin_read()?;
        let result = act(read.as_mut());
        // A connection that failed to end its transaction is dropped.
        if read.end_read().is_ok() {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < IDLE {
                idle.push(read);
            }
        }
        result
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        let idle = std::mem::take(self.idle.get_mut().unwrap_or_else(PoisonError::into_inner));
        let mut idle = Some(idle);
        self.opener.run_blocking(&mut || drop(idle.take()));
    }
}
