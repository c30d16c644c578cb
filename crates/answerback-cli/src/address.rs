//! Where servers listen, for the other commands of their user.

use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};

/// How the files that say it begin and end, beside the store. Each server has one of its own.
const BEGIN: &str = "serve-";
const END: &str = ".address";

/// What a running server says of itself. The file is locked as long as it runs: after a crash its port may be anybody's,
/// and nobody there is to be given a token.
pub(crate) struct Address {
    file: PathBuf,
    _held: File,
}

impl Address {
    /// Says where this server listens. Another server of the same store that says so later is the one that is found,
    /// as long as it runs.
    pub(crate) fn say(folder: &Path, address: SocketAddr) -> anyhow::Result<Self> {
        let folder = itself_or_here(folder);
        // What servers left behind that were killed.
        for said in AddressText::all(folder) {
            if !said.holds() {
                let _ = fs::remove_file(&said.file);
            }
        }
        let name = format!("{BEGIN}{}-{}", std::process::id(), address.port());
        let (file, beside) = (folder.join(format!("{name}{END}")), folder.join(format!(".{name}")));
        // It has its name once it is locked: before that it would be one of those left behind.
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

    /// Where the server of this store listens; of several, the one that was started last.
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
        // What remains is not locked, and not believed.
        let _ = fs::remove_file(&self.file);
    }
}

/// What a file says.
struct AddressText {
    file: PathBuf,
    address: String,
    when: SystemTime,
}

impl AddressText {
    /// All that is said in a folder. What cannot be read says nothing.
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

    /// Whether the server still runs that said it.
    fn holds(&self) -> bool {
        let opened = File::open(&self.file);
        opened.is_ok_and(|it| matches!(it.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }
}

/// A file that is named without a folder lies here.
fn itself_or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}
