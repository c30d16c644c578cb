//! Publishes the addresses of running servers for the user's other commands.

use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};

/// The prefix and suffix of an address file. It is next to the store, and each server has its own.
const BEGIN: &str = "serve-";
const END: &str = ".address";

/// The published address of a running server. Its file is locked as long as the server runs. After a crash, any process
/// may listen on the port, and it must not receive a token.
pub(crate) struct ServerAddress {
    file: PathBuf,
    _lock: File,
}

impl ServerAddress {
    /// Publishes the address of this server. If several servers of a store run, commands find the one that was started
    /// last.
    pub(crate) fn publish(folder: &Path, address: SocketAddr) -> anyhow::Result<Self> {
        let folder = or_current_folder(folder);
        // These files were left behind by servers that were killed.
        for file in AddressFile::all(folder) {
            if !file.is_current() {
                let _ = fs::remove_file(&file.file);
            }
        }
        let name = format!("{BEGIN}{}-{}", std::process::id(), address.port());
        let (file, temporary) =
            (folder.join(format!("{name}{END}")), folder.join(format!(".{name}")));
        // The file gets its final name only when it is locked. Before that, it would look like a leftover.
        let write = || {
            let mut lock = File::create(&temporary)?;
            lock.lock()?;
            lock.write_all(address.to_string().as_bytes())?;
            fs::rename(&temporary, &file)?;
            Ok(lock)
        };
        let lock: std::io::Result<File> = write();
        let lock = lock.context("cannot publish the server's address")?;
        Ok(Self { file, _lock: lock })
    }

    /// Returns the address of the store's server. If several run, returns the one that was started last.
    pub(crate) fn find(folder: &Path) -> anyhow::Result<String> {
        let folder = or_current_folder(folder);
        let mut all = AddressFile::all(folder);
        all.sort_by_key(|file| std::cmp::Reverse(file.modified));
        if let Some(current) = all.iter().find(|file| file.is_current()) {
            return Ok(current.address.clone());
        }
        match all.first() {
            Some(last) => {
                bail!(
                    "no server is running: the last one, at {}, has ended. {START_HINT}",
                    last.address
                )
            }
            None => {
                let folder = folder.display();
                bail!("no server is running: \"{folder}\" contains no server address. {START_HINT}")
            }
        }
    }
}

const START_HINT: &str = "Start one with `answerback serve`, or name its ledger with --store";

impl Drop for ServerAddress {
    fn drop(&mut self) {
        // If this fails, the leftover is not locked and so is ignored.
        let _ = fs::remove_file(&self.file);
    }
}

/// The content of an address file.
struct AddressFile {
    file: PathBuf,
    address: String,
    modified: SystemTime,
}

impl AddressFile {
    /// Reads all address files in a folder and skips unreadable ones.
    fn all(folder: &Path) -> Vec<Self> {
        let files = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let read = |file: PathBuf| {
            let name = file.file_name()?.to_str()?;
            name.strip_prefix(BEGIN)?.strip_suffix(END)?;
            let modified = fs::metadata(&file).and_then(|found| found.modified()).ok()?;
            let address = fs::read_to_string(&file).ok()?.trim().to_owned();
            Some(Self { file, address, modified })
        };
        files.filter_map(|file| read(file.path())).collect()
    }

    /// True if the server that wrote the file still runs.
    fn is_current(&self) -> bool {
        let opened = File::open(&self.file);
        opened.is_ok_and(|it| matches!(it.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }
}

/// Returns the folder, or the working directory if the path is empty.
fn or_current_folder(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}
