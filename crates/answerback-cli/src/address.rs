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
pub(crate) struct Address {
    file: PathBuf,
    _held: File,
}

impl Address {
    /// Publishes the address of this server. If several servers of a store run, commands find the one that was started
    /// last.
    pub(crate) fn say(folder: &Path, address: SocketAddr) -> anyhow::Result<Self> {
        let folder = itself_or_here(folder);
        // These files were left behind by servers that were killed.
        for said in AddressText::all(folder) {
            if !said.holds() {
                let _ = fs::remove_file(&said.file);
            }
        }
        let name = format!("{BEGIN}{}-{}", std::process::id(), address.port());
        let (file, beside) = (folder.join(format!("{name}{END}")), folder.join(format!(".{name}")));
        // The file gets its final name only when it is locked. Before that, it would look like a leftover.
        let say = || {
            let mut held = File::create(&beside)?;
            held.lock()?;
            held.write_all(address.to_string().as_bytes())?;
            fs::rename(&beside, &file)?;
            Ok(held)
        };
        let held: std::io::Result<File> = say();
        let held = held.context("the file that says where the server listens")?;
        Ok(Self { file, _held: held })
    }

    /// Returns the address of the store's server. If several run, returns the one that was started last.
    pub(crate) fn find(folder: &Path) -> anyhow::Result<String> {
        let folder = itself_or_here(folder);
        let mut all = AddressText::all(folder);
        all.sort_by_key(|said| std::cmp::Reverse(said.when));
        if let Some(said) = all.iter().find(|said| said.holds()) {
            return Ok(said.address.clone());
        }
        match all.first() {
            Some(said) => {
                bail!(
                    "no server runs here: the one that listened at {} has ended. {HOW}",
                    said.address
                )
            }
            None => {
                let folder = folder.display();
                bail!("no server runs here: none left its address in \"{folder}\". {HOW}")
            }
        }
    }
}

const HOW: &str = "Start one with `answerback serve`, or name its ledger with --store";

impl Drop for Address {
    fn drop(&mut self) {
        // If this fails, the leftover is not locked and so is ignored.
        let _ = fs::remove_file(&self.file);
    }
}

/// The content of an address file.
struct AddressText {
    file: PathBuf,
    address: String,
    when: SystemTime,
}

impl AddressText {
    /// Reads all address files in a folder and skips unreadable ones.
    fn all(folder: &Path) -> Vec<Self> {
        let files = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let read = |file: PathBuf| {
            let name = file.file_name()?.to_str()?;
            name.strip_prefix(BEGIN)?.strip_suffix(END)?;
            let when = fs::metadata(&file).and_then(|found| found.modified()).ok()?;
            let address = fs::read_to_string(&file).ok()?.trim().to_owned();
            Some(Self { file, address, when })
        };
        files.filter_map(|file| read(file.path())).collect()
    }

    /// True if the server that wrote the file still runs.
    fn holds(&self) -> bool {
        let opened = File::open(&self.file);
        opened.is_ok_and(|it| matches!(it.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }
}

/// Returns the folder, or the working directory if the path is empty.
fn itself_or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}
