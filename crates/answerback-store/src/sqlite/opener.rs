use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::connection::{SqliteConnection, connect};
use super::ids::Newest;
use super::{schema, text};
use crate::engine::{Engine, EngineRead, EngineResult, OpenTextIndex, Opener};

/// Opens connections to a store file.
pub(crate) struct SqliteOpener {
    path: PathBuf,
    lock_timeout: Duration,
}

impl SqliteOpener {
    pub(crate) fn new(path: &Path, lock_timeout: Duration) -> Self {
        Self { path: path.to_owned(), lock_timeout }
    }

    fn opened(&self, connection: Connection, is_writer: bool) -> SqliteConnection {
        SqliteConnection {
            connection,
            lock_timeout: self.lock_timeout,
            signer: None,
            moved: None,
            size: 0,
            is_writer,
            newest: Newest::default(),
        }
    }

    /// Returns the function that opens the full-text index, in a second file next to the store.
    pub(crate) fn text(&self) -> OpenTextIndex {
        let mut path = self.path.clone().into_os_string();
        path.push("-text");
        let (path, lock_timeout) = (PathBuf::from(path), self.lock_timeout);
        Box::new(move |create| text::open(&path, lock_timeout, create))
    }
}

impl Opener for SqliteOpener {
    fn writer(&self) -> EngineResult<Box<dyn Engine>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = connect(&self.path, flags, self.lock_timeout)?;
        schema::prepare(&connection)?;
        Ok(Box::new(self.opened(connection, true)))
    }

    fn reader(&self) -> EngineResult<Box<dyn EngineRead>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = connect(&self.path, flags, self.lock_timeout)?;
        Ok(Box::new(self.opened(connection, false)))
    }
}
