//! Where documents come from: files, or standard input as `-`.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use answerback::json::{Document, Limits, read};
use anyhow::{Context, bail};

/// One input, as named on the command line.
#[derive(Clone, Debug)]
pub(crate) enum InputSource {
    /// `-`.
    Stdin,
    /// A path.
    File(PathBuf),
}

impl InputSource {
    pub(crate) fn new(name: &Path) -> Self {
        if name.as_os_str() == "-" { Self::Stdin } else { Self::File(name.to_owned()) }
    }

    /// The name for messages and output.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdin => "-".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Whether it surely ends: what others still write to, such as a pipe, may go on for ever.
    pub(crate) fn has_end(&self) -> bool {
        match self {
            Self::Stdin => false,
            Self::File(path) => path.is_file(),
        }
    }

    /// Opens it for reading piece by piece.
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

    /// All its bytes, or an error as soon as there are more than `limits` allow.
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

    /// Its one JSON document.
    pub(crate) fn document(&self, limits: Limits) -> anyhow::Result<Document> {
        let bytes = self.bytes(limits)?;
        read(&bytes, limits).with_context(|| self.name())
    }
}
