//! Gives access to the folder that contains `.bot`, and to nothing outside of it.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::file_error::{BotFileError, BotFileErrorKind};
use crate::atomic_replace::replace;

/// The place to look for a solution.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum SolutionRoot {
    /// The folder itself contains `.bot`.
    At(PathBuf),
    /// The folder contains `.bot`, or the nearest parent that does is used.
    Above(PathBuf),
}

/// The name of the folder that marks a solution.
pub(crate) const BOT: &str = ".bot";
/// The largest file that is read, in bytes.
pub(crate) const MAX_BYTES: u64 = 1 << 20;

/// A solution's folder. Paths are relative to it, with forward slashes.
///
/// A path is resolved, including links, and then checked: a path that leads out of the folder is not opened. A user
/// with write access could still exchange a link between the two steps. But such a user does not need our tools to read
/// files.
#[derive(Debug)]
pub(crate) struct BotFolder {
    root: PathBuf,
}

impl BotFolder {
    /// Finds the solution's folder. Returns `None` if there is no `.bot`.
    pub(crate) fn find(root: &SolutionRoot) -> Result<Option<Self>, BotFileError> {
        let (start, climbs) = match root {
            SolutionRoot::At(folder) => (folder, false),
            SolutionRoot::Above(folder) => (folder, true),
        };
        let start = match fs::canonicalize(start) {
            Ok(start) => start,
            Err(error) => {
                let trouble = BotFileError::of(&error, BOT);
                return if trouble.is_missing() { Ok(None) } else { Err(trouble) };
            }
        };
        let reach = if climbs { usize::MAX } else { 1 };
        for folder in start.ancestors().take(reach) {
            match fs::canonicalize(folder.join(BOT)) {
                Ok(bot) if !bot.starts_with(folder) => {
                    return Err(BotFileErrorKind::Outside.at(BOT));
                }
                Ok(bot) if bot.is_dir() => return Ok(Some(Self { root: folder.to_owned() })),
                Ok(_) => {}
                Err(error) => {
                    let trouble = BotFileError::of(&error, BOT);
                    if !trouble.is_missing() {
                        return Err(trouble);
                    }
                }
            }
        }
        Ok(None)
    }

    /// Returns the solution's name, which is the name of its folder.
    pub(crate) fn name(&self) -> String {
        match self.root.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => "solution".to_owned(),
        }
    }

    /// Resolves a path, including links. Fails if it leads out of the folder.
    pub(crate) fn resolve(&self, path: &str) -> Result<PathBuf, BotFileError> {
        let named = Path::new(path);
        let stays = named.components().all(|part| matches!(part, Component::Normal(_)));
        if !stays || path.contains('\\') {
            return Err(BotFileErrorKind::Outside.at(path));
        }
        let real = fs::canonicalize(self.root.join(named));
        let real = real.map_err(|error| BotFileError::of(&error, path))?;
        if real.starts_with(&self.root) {
            Ok(real)
        } else {
            Err(BotFileErrorKind::Outside.at(path))
        }
    }

    /// True if the path is a regular file.
    pub(crate) fn has_file(&self, path: &str) -> bool {
        self.resolve(path).is_ok_and(|real| real.is_file())
    }

    /// Reads the text of a file.
    pub(crate) fn read(&self, path: &str) -> Result<String, BotFileError> {
        let real = self.resolve(path)?;
        let trouble = |error| BotFileError::of(&error, path);
        // Opening a named pipe would block until a writer opens it.
        if !fs::metadata(&real).map_err(trouble)?.is_file() {
            return Err(BotFileErrorKind::NotAFile.at(path));
        }
        let mut bytes = Vec::new();
        let file = File::open(&real).map_err(trouble)?;
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(trouble)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(BotFileErrorKind::TooLarge { limit: MAX_BYTES }.at(path));
        }
        String::from_utf8(bytes).map_err(|_| BotFileErrorKind::NotText.at(path))
    }

    /// Replaces a file atomically. Creates its folder if needed.
    pub(crate) fn write(&self, path: &str, text: &str) -> Result<(), BotFileError> {
        let target = match self.resolve(path) {
            Ok(real) => real,
            Err(missing) if missing.is_missing() => self.beside(path)?,
            Err(trouble) => return Err(trouble),
        };
        replace(&target, text.as_bytes()).map_err(|error| BotFileError::of(&error, path))
    }

    /// Creates a folder in an existing one, unless it exists already.
    pub(crate) fn make(&self, path: &str) -> Result<PathBuf, BotFileError> {
        match self.resolve(path) {
            Err(missing) if missing.is_missing() => {
                let target = self.beside(path)?;
                match fs::create_dir(&target) {
                    Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                        Err(BotFileError::of(&error, path))
                    }
                    _ => self.resolve(path),
                }
            }
            found => found,
        }
    }

    /// Returns the real path of a file that does not exist yet: its folder is resolved and its name is new. A dangling
    /// link does not count as new.
    fn beside(&self, path: &str) -> Result<PathBuf, BotFileError> {
        let Some((folder, name)) = path.rsplit_once('/') else {
            return Err(BotFileErrorKind::Outside.at(path));
        };
        let target = self.resolve(folder)?.join(name);
        match fs::symlink_metadata(&target) {
            Ok(_) => Err(BotFileErrorKind::Outside.at(path)),
            Err(_) => Ok(target),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, BotFolder) {
        let made = tempfile::tempdir().unwrap();
        let inside = made.path().join("inside");
        fs::create_dir_all(inside.join(".bot/product")).unwrap();
        fs::write(inside.join(".bot/product/mission.md"), "text").unwrap();
        fs::write(made.path().join("secret.md"), "not yours").unwrap();
        let found = BotFolder::find(&SolutionRoot::At(inside)).unwrap().unwrap();
        (made, found)
    }

    #[test]
    fn what_leads_out_is_not_opened() {
        let (_made, folder) = folder();
        assert_eq!(folder.read(".bot/product/mission.md").unwrap(), "text");
        for path in [
            "../secret.md",
            ".bot/../../secret.md",
            "/etc/passwd",
            ".bot\\..\\..\\secret.md",
            "./.bot/product/mission.md",
        ] {
            assert_eq!(folder.read(path).unwrap_err().kind, BotFileErrorKind::Outside, "{path}");
            assert!(folder.write(path, "x").is_err(), "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_inside_and_not_out() {
        use std::os::unix::fs::symlink;

        let (made, folder) = folder();
        let bot = made.path().join("inside/.bot");
        symlink("product/mission.md", bot.join("inside.md")).unwrap();
        symlink(made.path().join("secret.md"), bot.join("outside.md")).unwrap();
        symlink(made.path(), bot.join("solution")).unwrap();
        symlink(made.path().join("new.md"), bot.join("nowhere.md")).unwrap();
        assert_eq!(folder.read(".bot/inside.md").unwrap(), "text");
        assert_eq!(folder.read(".bot/outside.md").unwrap_err().kind, BotFileErrorKind::Outside);
        for path in [".bot/outside.md", ".bot/solution/projects.json", ".bot/nowhere.md"] {
            let trouble = folder.write(path, "x").unwrap_err();
            assert_eq!(trouble.kind, BotFileErrorKind::Outside, "{path}");
        }
        assert_eq!(fs::read_to_string(made.path().join("secret.md")).unwrap(), "not yours");
        assert!(!made.path().join("new.md").exists());

        // A `.bot` that links to another place is not a solution.
        let linked = made.path().join("linked");
        fs::create_dir(&linked).unwrap();
        symlink(&bot, linked.join(".bot")).unwrap();
        let found = BotFolder::find(&SolutionRoot::At(linked));
        assert_eq!(found.unwrap_err().kind, BotFileErrorKind::Outside);
    }

    #[test]
    fn files_that_are_too_large_or_no_text_are_not_taken() {
        let (made, folder) = folder();
        let bot = made.path().join("inside/.bot");
        let largest = usize::try_from(MAX_BYTES).unwrap();
        fs::write(bot.join("large.md"), "x".repeat(largest + 1)).unwrap();
        fs::write(bot.join("largest.md"), "x".repeat(largest)).unwrap();
        fs::write(bot.join("bytes.md"), [0xff, 0xfe]).unwrap();
        assert_eq!(folder.read(".bot/largest.md").unwrap().len(), largest);
        for (path, kind) in [
            (".bot/large.md", BotFileErrorKind::TooLarge { limit: MAX_BYTES }),
            (".bot/bytes.md", BotFileErrorKind::NotText),
            (".bot/product", BotFileErrorKind::NotAFile),
            (".bot/none.md", BotFileErrorKind::Missing),
        ] {
            assert_eq!(folder.read(path).unwrap_err().kind, kind, "{path}");
        }
    }

    #[test]
    fn a_solution_is_found_upwards_only_when_asked() {
        let (made, _folder) = folder();
        let below = made.path().join("inside/src/deep");
        fs::create_dir_all(&below).unwrap();
        assert_eq!(
            BotFolder::find(&SolutionRoot::Above(below.clone())).unwrap().unwrap().name(),
            "inside"
        );
        assert!(BotFolder::find(&SolutionRoot::At(below)).unwrap().is_none());
        assert!(BotFolder::find(&SolutionRoot::At(made.path().join("none"))).unwrap().is_none());
    }
}
