//! Lists the files below a folder, within limits.

use std::fs;

use super::file_error::{BotFileError, BotFileErrorKind};
use super::folder::BotFolder;

/// The largest number of directory entries in one walk.
const MOST_ENTRIES: usize = 20_000;
/// The largest depth of a walk.
const DEEPEST: usize = 12;

/// The result of a walk, sorted by path.
#[derive(Debug, Default)]
pub(crate) struct FolderWalk {
    /// The found files, relative to the solution.
    pub(crate) files: Vec<String>,
    /// The folders and links that could not be read.
    pub(crate) troubles: Vec<BotFileError>,
    /// True if a limit ended the walk.
    pub(crate) is_cut: bool,
}

impl BotFolder {
    /// Finds the files below `path` whose names `wants` accepts. `path` is relative to the solution; "" is all of it.
    /// Folders are entered if `enters` accepts their names. Links to folders are never followed, so there are no
    /// cycles.
    pub(crate) fn walk(
        &self,
        path: &str,
        enters: impl Fn(&str) -> bool,
        wants: impl Fn(&str) -> bool,
    ) -> FolderWalk {
        let mut walk = FolderWalk::default();
        let mut waiting = vec![(path.to_owned(), 0)];
        let mut seen = 0;
        while let Some((folder, depth)) = waiting.pop() {
            let entries = self.resolve(&folder).and_then(|real| {
                fs::read_dir(real).map_err(|error| BotFileError::of(&error, &*folder))
            });
            let entries = match entries {
                Ok(entries) => entries,
                Err(trouble) => {
                    // A missing folder is reported as an empty walk.
                    walk.troubles.extend((!trouble.is_missing()).then_some(trouble));
                    continue;
                }
            };
            let mut folders = Vec::new();
            for entry in entries {
                seen += 1;
                if seen > MOST_ENTRIES {
                    walk.is_cut = true;
                    break;
                }
                let Ok(entry) = entry else { continue };
                let Ok(name) = entry.file_name().into_string() else {
                    walk.troubles.push(BotFileErrorKind::NotText.at(&*folder));
                    continue;
                };
                let path =
                    if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && enters(&name) => {
                        if depth + 1 < DEEPEST {
                            folders.push((path, depth + 1));
                        } else {
                            walk.is_cut = true;
                        }
                    }
                    Ok(kind) if kind.is_file() && wants(&name) => walk.files.push(path),
                    Ok(kind) if kind.is_symlink() && wants(&name) => match self.resolve(&path) {
                        Ok(real) if real.is_file() => walk.files.push(path),
                        Ok(_) => {}
                        Err(trouble) => walk.troubles.push(trouble),
                    },
                    _ => {}
                }
            }
            waiting.extend(folders);
        }
        walk.files.sort();
        walk.troubles.sort_by(|one, other| one.path.cmp(&other.path));
        walk
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::bot::artifact::is_markdown;
    use crate::tools::bot::folder::SolutionRoot;

    #[test]
    fn walks_are_ordered_and_bounded() {
        let made = tempfile::tempdir().unwrap();
        let mut deep = made.path().join(".bot");
        for level in 0..DEEPEST + 2 {
            fs::create_dir(&deep).unwrap();
            fs::write(deep.join("b.md"), "").unwrap();
            fs::write(deep.join("a.md"), "").unwrap();
            fs::write(deep.join("c.txt"), "").unwrap();
            deep = deep.join(format!("level-{level}"));
        }
        let folder = BotFolder::find(&SolutionRoot::At(made.path().to_owned())).unwrap().unwrap();
        let walk = folder.walk(".bot", |_| true, is_markdown);
        assert_eq!(walk.files.len(), 2 * DEEPEST);
        assert_eq!(walk.files[..3], [".bot/a.md", ".bot/b.md", ".bot/level-0/a.md"]);
        assert!(walk.is_cut && walk.troubles.is_empty());
        let shallow = folder.walk(".bot", |name| name == "level-0", |name| name == "a.md");
        assert_eq!(shallow.files, [".bot/a.md", ".bot/level-0/a.md"]);
        assert!(!shallow.is_cut);
        assert!(folder.walk(".bot/none", |_| true, |_| true).files.is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn links_out_are_told_and_folders_behind_links_are_not_entered() {
        use std::os::unix::fs::symlink;

        let made = tempfile::tempdir().unwrap();
        let bot = made.path().join("inside/.bot");
        fs::create_dir_all(&bot).unwrap();
        fs::write(made.path().join("secret.md"), "").unwrap();
        symlink(made.path().join("secret.md"), bot.join("out.md")).unwrap();
        symlink(&bot, bot.join("circle")).unwrap();
        let folder =
            BotFolder::find(&SolutionRoot::At(made.path().join("inside"))).unwrap().unwrap();
        let walk = folder.walk(".bot", |_| true, |_| true);
        assert!(walk.files.is_empty());
        assert_eq!(walk.troubles, [BotFileErrorKind::Outside.at(".bot/out.md")]);
    }
}
