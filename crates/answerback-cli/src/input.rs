//! Reads documents from files, or from standard input if the name is `-`.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use answerback::json::{Document, Limits, read};
use anyhow::{Context, bail};

/// One input, as named on the command line.
#[derive(Clone, Debug)]
pub(crate) enum InputSource {
    /// Standard input, named `-`.
    Stdin,
    /// The path of a file.
    File(PathBuf),
}

impl InputSource {
    pub(crate) fn new(name: &Path) -> Self {
        if name.as_os_str() == "-" { Self::Stdin } else { Self::File(name.to_owned()) }
    }

    /// Returns the name for messages and output.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdin => "-".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// True if the input is a regular file. A pipe may never end.
    pub(crate) fn has_end(&self) -> bool {
        match self {
            Self::Stdin => false,
            Self::File(path) => path.is_file(),
        }
    }

    /// Opens the input for streaming.
    pub(crate) fn open(&self) -> anyhow::Result<Box<dyn Read + Send>> {
        match self {
            Self::Stdin => Ok(Box::new(io::stdin())),
            Self::File(path) => {
                let file =
                    File::open(path).with_context(|| format!("cannot open {}", self.name()))?;
                if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
                    bail!("{} is a directory; name the files in it", self.name());
                }
                Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
            }
        }
    }

    /// Reads all bytes. Fails if there are more than `limits` allow.
    pub(crate) fn bytes(&self, limits: Limits) -> anyhow::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let most = limits.max_bytes as u64;
        let mut bounded = self.open()?.take(most + 1);
        bounded.read_to_end(&mut bytes).with_context(|| format!("cannot read {}", self.name()))?;
        if bytes.len() as u64 > most {
            bail!("{} has more than {most} bytes, the limit --max-bytes", self.name());
        }
        Ok(bytes)
    }

    /// Parses the input as one JSON document.
    pub(crate) fn document(&self, limits: Limits) -> anyhow::Result<Document> {
        let bytes = self.bytes(limits)?;
        read(&bytes, limits).with_context(|| self.name())
    }
}
