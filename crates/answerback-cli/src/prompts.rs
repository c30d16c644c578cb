//! Reads a manifest's prompts and finds files that are not listed.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use answerback::governance::{Manifest, PromptFiles};
use answerback::json::Limits;
use anyhow::{Context, bail};

use crate::input::InputSource;

/// The folder that a manifest's files are relative to.
pub(crate) struct PromptFolder {
    root: PathBuf,
    limits: Limits,
}

impl PromptFolder {
    /// Opens the folder, which must exist.
    pub(crate) fn open(root: &Path, limits: Limits) -> anyhow::Result<Self> {
        let root = fs::canonicalize(root)
            .with_context(|| format!("cannot open the folder {}", root.display()))?;
        Ok(Self { root, limits })
    }

    /// Reads these files. Missing files are left out.
    pub(crate) fn read<'f>(
        &self,
        names: impl IntoIterator<Item = &'f str>,
    ) -> anyhow::Result<PromptFiles> {
        let mut files = PromptFiles::default();
        for name in names {
            let path = match fs::canonicalize(self.root.join(name)) {
                Ok(path) => path,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error).with_context(|| format!("cannot open {name}")),
            };
            // The name stays in the folder, but a link may lead out of it.
            if !path.starts_with(&self.root) {
                bail!("{name} is a link that leads out of {}", self.root.display());
            }
            files = files.with_file(name, &InputSource::File(path).bytes(self.limits)?);
        }
        Ok(files)
    }

    /// Adds the files that look like prompts but are not in the manifest, except the given ones.
    pub(crate) fn with_strays(
        &self,
        mut files: PromptFiles,
        manifest: &Manifest,
        except: &[&Path],
    ) -> anyhow::Result<PromptFiles> {
        let except: BTreeSet<PathBuf> =
            except.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
        let listed: BTreeSet<&str> = manifest.prompts().map(|prompt| prompt.file).collect();
        for folder in manifest.folders() {
            let entries = match fs::read_dir(self.root.join(folder)) {
                Ok(entries) => entries,
                // The missing prompts are reported one by one.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("cannot list the folder {folder:?}"));
                }
            };
            for entry in entries {
                let entry = entry.with_context(|| format!("cannot list the folder {folder:?}"))?;
                let path = entry.path();
                let name = entry.file_name().to_string_lossy().into_owned();
                let file = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                let is_stray = manifest.looks_like_a_prompt(&file)
                    && !listed.contains(file.as_str())
                    && path.is_file()
                    && !fs::canonicalize(&path).is_ok_and(|path| except.contains(&path));
                if is_stray {
                    files = files.with_stray(file);
                }
            }
        }
        Ok(files)
    }
}
