//! Where a server listens, for the other commands of its user.

use std::fs::{self, File, TryLockError};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::replace;

/// The file that says it, beside the store.
const FILE: &str = "serve.address";

/// What a running server says of itself. The file is locked as long as it runs: after a crash its port may be anybody's,
/// and nobody there is to be given a token.
pub(crate) struct Address {
    file: PathBuf,
    said: String,
    _held: File,
}

impl Address {
    /// Says where this server listens. Another server of the same store that says so later is the one that is found.
    pub(crate) fn say(folder: &Path, address: SocketAddr) -> anyhow::Result<Self> {
        let (file, said) = (folder.join(FILE), address.to_string());
        let cannot = "the file that says where the server listens";
        replace::replace(&file, said.as_bytes()).context(cannot)?;
        let held = File::open(&file).context(cannot)?;
        held.lock().context(cannot)?;
        Ok(Self { file, said, _held: held })
    }

    /// Where the server of this store listens.
    pub(crate) fn find(folder: &Path) -> anyhow::Result<String> {
        let file = folder.join(FILE);
        let opened = File::open(&file).with_context(|| {
            let file = file.display();
            format!("no server runs here: there is no {file}. {HOW}")
        })?;
        let said = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        match opened.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Ok(said.trim().to_owned()),
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| file.display().to_string())
            }
            Ok(()) => {
                bail!(
                    "no server runs here: the one that listened at {} has ended. {HOW}",
                    said.trim()
                )
            }
        }
    }
}

const HOW: &str = "Start one with `answerback serve`, or name its ledger with --store";

impl Drop for Address {
    fn drop(&mut self) {
        if fs::read_to_string(&self.file).is_ok_and(|said| said == self.said) {
            // What remains is not locked, and not believed.
            let _ = fs::remove_file(&self.file);
        }
    }
}
