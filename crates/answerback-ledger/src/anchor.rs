//! Anchors: copies of checkpoints outside the store. They detect a store that was rolled back
//! before it signs a second history.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::checkpoint::CheckpointError;
use crate::durable::{replace, sync_parent};
use crate::note::NoteError;
use crate::{Checkpoint, Hash, Note};

/// The shortest time between two checkpoints that an anchor writes, in microseconds.
const PAUSE: i64 = 1_000_000;

/// The number of bytes that are read from the end of the file to find its last line.
const LONGEST_LINE: u64 = 64 * 1024;

/// Stores checkpoints in a place outside the ledger's store.
pub trait Anchor: Send {
    /// Returns the newest stored checkpoint, or `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if the anchor cannot be read.
    fn newest(&self) -> Result<Option<Checkpoint>, AnchorError>;

    /// Stores the newest checkpoint at this time (microseconds since 1970). An anchor may skip a
    /// checkpoint that follows another too soon.
    ///
    /// # Errors
    ///
    /// Returns an error if the checkpoint cannot be stored.
    fn record(&mut self, note: &Note, now: i64) -> Result<(), AnchorError>;

    /// Stores the checkpoint that [`Self::record`] skipped, if any.
    ///
    /// # Errors
    ///
    /// Returns an error if the checkpoint cannot be stored.
    fn close(&mut self) -> Result<(), AnchorError>;

    /// Replaces the stored checkpoints with this one, because an operator adopted a log that is
    /// behind the anchor. An anchor that can backs up its old content, and returns the place of the
    /// backup as text for the operator.
    ///
    /// # Errors
    ///
    /// Returns an error if the restart fails or this kind of anchor does not support it.
    fn restart(&mut self, _note: &Note) -> Result<String, AnchorError> {
        Err(AnchorError::NoRestart)
    }
}

/// Checks that a log may continue to sign: it must contain everything up to the anchored
/// checkpoint.
///
/// `root_at` returns the root that the log had at a size up to its current size. The inner result
/// is the check's verdict.
///
/// # Errors
///
/// Returns an error if `root_at` fails.
pub fn check<E>(
    anchored: &Checkpoint,
    origin: &str,
    size: u64,
    root_at: impl FnOnce(u64) -> Result<Hash, E>,
) -> Result<Result<(), Divergence>, E> {
    if anchored.origin() != origin {
        let (anchored, origin) = (anchored.origin().to_owned(), origin.to_owned());
        return Ok(Err(Divergence::Stranger { anchored, origin }));
    }
    if anchored.size() > size {
        return Ok(Err(Divergence::Behind { size, anchored: anchored.size() }));
    }
    let root = root_at(anchored.size())?;
    let same = root == anchored.root();
    Ok(if same { Ok(()) } else { Err(Divergence::Forked { size: anchored.size() }) })
}

/// Describes how a log differs from the checkpoint in its anchor.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Divergence {
    /// The log is shorter than the anchored checkpoint: signed entries are missing.
    #[error(
        "the log has {size} entries and its anchor remembers {anchored}: it was restored from an older copy; \
         restore the newer one, or run `ledger adopt` to go on from here and record the rollback"
    )]
    Behind {
        /// The size of the log.
        size: u64,
        /// The size of the anchored checkpoint.
        anchored: u64,
    },
    /// The log has another root at the anchored size: its history was rewritten.
    #[error(
        "the first {size} entries of the log are not those that its anchor remembers: history was rewritten; \
         restore the copy that the anchor belongs to, or run `ledger adopt` to go on from here and record it"
    )]
    Forked {
        /// The anchored size, at which the roots differ.
        size: u64,
    },
    /// The anchor belongs to another log.
    #[error("the anchor belongs to the log {anchored}, and this is {origin}; name another anchor")]
    Stranger {
        /// The origin of the anchored checkpoint.
        anchored: String,
        /// The origin of the log.
        origin: String,
    },
}

/// Stores checkpoints in a file on a second path. It writes a line `{"checkpoint":NOTE}` at most
/// once a second.
///
/// Any number of processes may append to the file. Only [`Anchor::restart`] replaces it.
#[derive(Debug)]
pub struct FileAnchor {
    path: PathBuf,
    written: Option<i64>,
    waiting: Option<Note>,
}

impl FileAnchor {
    /// Creates an anchor for this path. The file need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), written: None, waiting: None }
    }

    /// Returns the path of the anchor file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write(&self, note: &Note) -> Result<(), AnchorError> {
        let checkpoint = Checkpoint::read(note)?;
        // Another process may already have written this checkpoint or a newer one.
        if self.newest()?.is_some_and(|newest| newest.size() >= checkpoint.size()) {
            return Ok(());
        }
        let line = format!("{}\n", json!({"checkpoint": note.to_string()}));
        let append = || {
            let is_new = !self.path.exists();
            let mut file = OpenOptions::new().append(true).create(true).open(&self.path)?;
            // A crash can leave a partial last line. Starting a new line keeps the two apart.
            let cut = if ends_with_newline(&self.path)? { "" } else { "\n" };
            file.write_all(format!("{cut}{line}").as_bytes())?;
            file.sync_data()?;
            if is_new { sync_parent(&self.path) } else { Ok(()) }
        };
        append().map_err(|source| AnchorError::File { path: self.path.clone(), source })
    }
}

impl Anchor for FileAnchor {
    fn newest(&self) -> Result<Option<Checkpoint>, AnchorError> {
        let end = match read_end(&self.path) {
            Ok(end) => end,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(AnchorError::File { path: self.path.clone(), source }),
        };
        // Take the last line that parses: a crash may have cut off the very last one.
        let whole = end.rsplit('\n').filter(|line| !line.is_empty());
        for line in whole {
            let value: Option<Value> = serde_json::from_str(line).ok();
            let note = value.as_ref().and_then(|value| value["checkpoint"].as_str());
            if let Some(note) = note {
                return Ok(Some(Checkpoint::read(&Note::parse(note)?)?));
            }
        }
        if end.is_empty() { Ok(None) } else { Err(AnchorError::NoLine(self.path.clone())) }
    }

    fn record(&mut self, note: &Note, now: i64) -> Result<(), AnchorError> {
        let soon = self.written.is_some_and(|written| (written..written + PAUSE).contains(&now));
        self.waiting = Some(note.clone());
        if !soon {
            self.close()?;
            self.written = Some(now);
        }
        Ok(())
    }

    fn restart(&mut self, note: &Note) -> Result<String, AnchorError> {
        let failed = |source| AnchorError::File { path: self.path.clone(), source };
        let mut number = 1_u32;
        let backup = loop {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".before-adopt-{number}"));
            let path = PathBuf::from(name);
            if !path.try_exists().map_err(failed)? {
                break path;
            }
            number += 1;
        };
        // Back up before the replacement, so that one complete file exists at every moment.
        std::fs::copy(&self.path, &backup).map_err(failed)?;
        File::open(&backup).and_then(|file| file.sync_all()).map_err(failed)?;
        let line = format!("{}\n", json!({"checkpoint": note.to_string()}));
        replace(&self.path, line.as_bytes()).map_err(failed)?;
        (self.written, self.waiting) = (None, None);
        Ok(backup.display().to_string())
    }

    fn close(&mut self) -> Result<(), AnchorError> {
        // A checkpoint that could not be written stays pending for the next attempt.
        if let Some(note) = &self.waiting {
            self.write(note)?;
            self.waiting = None;
        }
        Ok(())
    }
}

fn read_end(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_LINE)))?;
    let mut bytes = Vec::new();
    file.take(LONGEST_LINE).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn ends_with_newline(path: &Path) -> io::Result<bool> {
    let end = read_end(path)?;
    Ok(end.is_empty() || end.ends_with('\n'))
}

/// Explains why an anchor cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnchorError {
    /// The file cannot be read or written.
    #[error("the anchor {} cannot be used", .path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The file has content but no checkpoint.
    #[error("the anchor {} holds no checkpoint; it is not an anchor, or was damaged", .0.display())]
    NoLine(PathBuf),
    /// This kind of anchor does not support a restart.
    #[error("this kind of anchor cannot be started anew; set it up again for the restored log")]
    NoRestart,
    /// A line is not a signed note.
    #[error("the anchor's last line is not a signed note")]
    Note(#[from] NoteError),
    /// A note is not a checkpoint.
    #[error("the anchor's last line is not a checkpoint")]
    Checkpoint(#[from] CheckpointError),
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::fs;

    use super::*;
    use crate::SigningKey;

    fn note(size: u64) -> Note {
        let key = SigningKey::new("log", &[1; 32]).unwrap();
        Checkpoint::new("log", size, Hash::of_leaf(&size.to_le_bytes()))
            .unwrap()
            .sign(&[&key])
            .unwrap()
    }

    #[test]
    fn at_most_once_a_second_and_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("anchor");
        let size = |anchor: &FileAnchor| anchor.newest().unwrap().map(|newest| newest.size());
        let mut anchor = FileAnchor::new(&path);
        assert_eq!(size(&anchor), None);
        anchor.record(&note(1), 0).unwrap();
        anchor.record(&note(2), 999_999).unwrap();
        assert_eq!(size(&anchor), Some(1));
        anchor.record(&note(3), 1_000_000).unwrap();
        assert_eq!(size(&anchor), Some(3));
        anchor.record(&note(4), 1_000_001).unwrap();
        anchor.close().unwrap();
        assert_eq!(size(&anchor), Some(4));
        // A clock that was set back does not block writing, and an older checkpoint is not written.
        anchor.record(&note(2), 5).unwrap();
        anchor.record(&note(5), -3).unwrap();
        assert_eq!(size(&anchor), Some(5));
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 4);
    }

    #[test]
    fn a_checkpoint_that_failed_is_written_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing/anchor");
        let mut anchor = FileAnchor::new(&path);
        assert!(matches!(anchor.record(&note(1), 0), Err(AnchorError::File { .. })));
        assert!(anchor.close().is_err());
        fs::create_dir(folder.path().join("missing")).unwrap();
        anchor.close().unwrap();
        assert_eq!(anchor.newest().unwrap().unwrap().size(), 1);
        anchor.record(&note(1), 0).unwrap();
        anchor.record(&note(2), 1).unwrap();
        fs::rename(folder.path().join("missing"), folder.path().join("away")).unwrap();
        assert!(anchor.close().is_err());
        fs::rename(folder.path().join("away"), folder.path().join("missing")).unwrap();
        anchor.close().unwrap();
        assert_eq!(anchor.newest().unwrap().unwrap().size(), 2);
    }

    #[test]
    fn a_restarted_anchor_backs_up_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("anchor");
        for round in 1..3 {
            let mut anchor = FileAnchor::new(&path);
            anchor.record(&note(7 + round), 0).unwrap();
            let before = fs::read(&path).unwrap();
            let backup = anchor.restart(&note(3)).unwrap();
            assert_eq!(fs::read(&backup).unwrap(), before);
            assert!(backup.ends_with(&format!("anchor.before-adopt-{round}")), "{backup}");
            assert_eq!(anchor.newest().unwrap().unwrap().size(), 3);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_line_that_was_cut_off_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("anchor");
        let mut anchor = FileAnchor::new(&path);
        anchor.record(&note(1), 0).unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}{}", &whole[..20])).unwrap();
        assert_eq!(anchor.newest().unwrap().unwrap().size(), 1);
        FileAnchor::new(&path).record(&note(2), 0).unwrap();
        assert_eq!(anchor.newest().unwrap().unwrap().size(), 2);
        fs::write(&path, "something else\n").unwrap();
        assert!(matches!(anchor.newest(), Err(AnchorError::NoLine(_))));
    }

    #[test]
    fn a_log_must_contain_the_anchored_checkpoint() {
        let anchored = Checkpoint::read(&note(7)).unwrap();
        let compare = |origin: &str, size, root: Hash| {
            check(&anchored, origin, size, |_| Ok::<_, Infallible>(root)).unwrap()
        };
        assert_eq!(compare("log", 7, anchored.root()), Ok(()));
        assert_eq!(compare("log", 9, anchored.root()), Ok(()));
        assert_eq!(
            compare("log", 6, anchored.root()),
            Err(Divergence::Behind { size: 6, anchored: 7 })
        );
        assert_eq!(compare("log", 9, Hash::of_nothing()), Err(Divergence::Forked { size: 7 }));
        assert!(matches!(compare("other", 9, anchored.root()), Err(Divergence::Stranger { .. })));
    }
}
