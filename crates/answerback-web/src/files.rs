//! Serves files that replies refer to. An agent chose the path in a reply, so it is looked up only below the configured
//! folders.

#[cfg(any(test, not(target_os = "linux")))]
use std::fs;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The largest file that is hashed and served.
const MAX_BYTES: u64 = 64 << 20;

/// The reason why a file is not served.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FileRejection {
    /// The folders contain no such file.
    Missing,
    /// The file has several hard links, and another one may be outside the folders. A user with write access to a
    /// folder could otherwise expose every file of the disk by linking it there.
    HardLinked,
    /// The file is larger than the limit.
    TooLarge,
}

impl FileRejection {
    /// Returns the advice for the user.
    pub(crate) const fn solution(self) -> &'static str {
        match self {
            Self::Missing => {
                "The file was removed, or is outside the folders in console.files; put it into one of them"
            }
            Self::HardLinked => {
                "The file has several hard links, and one may be outside the folders in console.files; replace it with a copy"
            }
            Self::TooLarge => "The file is larger than 64 MiB; open it from its folder",
        }
    }
}

/// The largest number of files that are hashed when a reply is recorded.
const MAX_FILES: usize = 32;

/// The folders that files are served from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    folders: Vec<PathBuf>,
}

/// The state of a file when its reply was recorded.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct RecordedFile {
    /// The artifact's position in the reply.
    pub(crate) artifact: usize,
    pub(crate) size: u64,
    pub(crate) sha256: String,
}

impl Files {
    /// Serves files below these folders. Missing folders are ignored.
    pub(crate) fn below(folders: &[PathBuf]) -> Self {
        Self { folders: folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect() }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    /// Hashes the files of a reply as they are now, by the position of their artifacts.
    pub(crate) fn hash_files(&self, document: &Value) -> Vec<RecordedFile> {
        if self.is_empty() {
            return Vec::new();
        }
        let artifacts = document.get("artifacts").and_then(Value::as_array).into_iter().flatten();
        artifacts
            .enumerate()
            .filter(|(_, document)| path_of(document).is_some())
            .take(MAX_FILES)
            .filter_map(|(artifact, document)| {
                let (_, size, sha256) = self.read(path_of(document)?).ok()?;
                Some(RecordedFile { artifact, size, sha256 })
            })
            .collect()
    }

    /// Reads a file and returns its bytes, size and digest.
    pub(crate) fn read(&self, path: &str) -> Result<(Vec<u8>, u64, String), FileRejection> {
        let (file, metadata) = self.open(path)?;
        if hard_links(&metadata) > 1 {
            return Err(FileRejection::HardLinked);
        }
        if metadata.len() > MAX_BYTES {
            return Err(FileRejection::TooLarge);
        }
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|_| FileRejection::Missing)?;
        let digest = HEXLOWER.encode(&Sha256::digest(&bytes));
        Ok((bytes, metadata.len(), digest))
    }

    fn open(&self, path: &str) -> Result<(File, Metadata), FileRejection> {
        let path = Path::new(path);
        // A path with `..` is rejected before any lookup, so that it cannot reveal which files exist.
        let is_plain = |part: Component<'_>| {
            matches!(part, Component::Normal(_) | Component::RootDir | Component::CurDir)
        };
        if !path.components().all(is_plain) {
            return Err(FileRejection::Missing);
        }
        for folder in &self.folders {
            // An absolute path is valid if it is below the folder.
            let below =
                if path.is_absolute() { path.strip_prefix(folder).ok() } else { Some(path) };
            let Some(file) = below.and_then(|below| open_below(folder, below).ok()) else {
                continue;
            };
            // This checks the open file, because the path could point to another file by now.
            let Ok(metadata) = file.metadata() else { continue };
            if metadata.is_file() {
                return Ok((file, metadata));
            }
        }
        Err(FileRejection::Missing)
    }
}

/// Returns the number of hard links of an open file.
#[cfg(unix)]
fn hard_links(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

/// Returns 1, because the standard library does not report hard links on this system.
#[cfg(not(unix))]
const fn hard_links(_: &Metadata) -> u64 {
    1
}

/// Opens a file below a folder in one step, so that exchanging it for a link cannot lead outside. Opening a named pipe
/// does not block.
#[cfg(target_os = "linux")]
fn open_below(folder: &Path, below: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    Ok(openat2(File::open(folder)?, below, flags, Mode::empty(), within)?.into())
}

/// Opens a file below a folder. A user with write access to the folder could exchange a link between the check and the
/// opening.
#[cfg(not(target_os = "linux"))]
fn open_below(folder: &Path, below: &Path) -> io::Result<File> {
    let found = folder.join(below).canonicalize()?;
    if !found.starts_with(folder) || !fs::symlink_metadata(&found)?.is_file() {
        return Err(io::Error::from(io::ErrorKind::NotFound));
    }
    File::open(found)
}

/// Returns the path that an artifact refers to.
pub(crate) fn path_of(artifact: &Value) -> Option<&str> {
    if artifact.get("artifact_type")? != "file_reference" {
        return None;
    }
    artifact.pointer("/content/file_path")?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_lies_below_the_folders_is_served() {
        let place = tempfile::tempdir().unwrap();
        let (inside, outside) = (place.path().join("in"), place.path().join("out"));
        fs::create_dir_all(inside.join("deep")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(inside.join("deep/a.txt"), "abc").unwrap();
        fs::write(outside.join("secret"), "s").unwrap();
        let absolute = inside.join("deep/a.txt");
        let files = Files::below(std::slice::from_ref(&inside));
        for path in ["deep/a.txt", "./deep/a.txt", absolute.to_str().unwrap()] {
            let (bytes, size, digest) = files.read(path).unwrap();
            assert_eq!((bytes.as_slice(), size), (b"abc".as_slice(), 3), "{path}");
            assert!(digest.starts_with("ba7816bf"), "{digest}");
        }
        let secret = outside.join("secret");
        let mut refused = vec![
            "../out/secret",
            "deep/../../out/secret",
            secret.to_str().unwrap(),
            "deep",
            "",
            "/",
        ];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&secret, inside.join("link")).unwrap();
            refused.push("link");
            let pipe = inside.join("pipe");
            assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            refused.push("pipe");
        }
        for path in refused {
            assert_eq!(files.read(path), Err(FileRejection::Missing), "{path}");
        }
        fs::hard_link(&secret, inside.join("hard")).unwrap();
        #[cfg(unix)]
        assert_eq!(files.read("hard"), Err(FileRejection::HardLinked));
        fs::remove_file(&secret).unwrap();
        assert!(files.read("hard").is_ok(), "it has no other name any more");
        File::create(inside.join("large")).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(files.read("large"), Err(FileRejection::TooLarge));
        let reply = json!({"artifacts": [
            {"artifact_type": "table", "content": {}},
            {"artifact_type": "file_reference", "content": {"file_path": "deep/a.txt"}},
            {"artifact_type": "file_reference", "content": {"file_path": "../out/secret"}},
        ]});
        let hashed = files.hash_files(&reply);
        assert_eq!((hashed.len(), hashed[0].artifact, hashed[0].size), (1, 1, 3));
        assert!(Files::default().hash_files(&reply).is_empty());
    }
}
