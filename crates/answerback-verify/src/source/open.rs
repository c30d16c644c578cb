use std::fs::File;
use std::io::Read;
use std::path::Path;

#[cfg(feature = "sqlite")]
use super::Sqlite;
use super::{JsonLines, LogSource, SourceError, TileDirectory};

/// Opens the source at a path: a directory of tiles, the SQLite store's file, or an export as JSON
/// lines.
///
/// # Errors
///
/// Returns an error if the path cannot be read, or is none of these.
pub fn open(path: &Path) -> Result<Box<dyn LogSource>, SourceError> {
    if path.is_dir() {
        return Ok(Box::new(TileDirectory::open(path)?));
    }
    let mut start = Vec::new();
    let file = File::open(path).map_err(|error| SourceError::read(path, error))?;
    file.take(16).read_to_end(&mut start).map_err(|error| SourceError::read(path, error))?;
    match start.first() {
        None => return Err(SourceError::not_a_ledger(path, "it is empty")),
        Some(b'{') => return Ok(Box::new(JsonLines::open(path)?)),
        Some(_) if start == b"SQLite format 3\0" => {}
        Some(_) => {
            let reason = "it begins neither like an SQLite file nor with a JSON object";
            return Err(SourceError::not_a_ledger(path, reason));
        }
    }
    #[cfg(feature = "sqlite")]
    let source = Sqlite::open(path).map(|source| Box::new(source) as Box<dyn LogSource>);
    #[cfg(not(feature = "sqlite"))]
    let source = Err(SourceError::NoDatabase { path: path.to_owned() });
    source
}
