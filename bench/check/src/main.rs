//! Measures what judging documents costs beside parsing them, in CPU time, on documents that are the same
//! in every run. `scripts/bench-check` runs both modes:
//!
//! - `bench-check` measures and ends with 1 when judging costs more than the target allows;
//! - `bench-check stream MEGABYTES` writes newline-separated documents to standard output.

mod documents;
mod measure;
mod random;

use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

use anyhow::{Context, bail};

use documents::Corpus;

/// How many documents are measured.
const DOCUMENTS: usize = 10_000;

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => measure::run(&Corpus::new(DOCUMENTS), &mut io::stdout().lock()),
        ["stream", megabytes] => {
            let megabytes: u64 = megabytes.parse().context("MEGABYTES is a whole number")?;
            match stream(megabytes * 1_000_000) {
                // The reader has seen enough.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
                written => Ok(written.map(|()| ExitCode::SUCCESS)?),
            }
        }
        _ => bail!("usage: bench-check [stream MEGABYTES]"),
    }
}

/// Writes the documents over and over until there are this many bytes.
fn stream(bytes: u64) -> io::Result<()> {
    let corpus = Corpus::new(DOCUMENTS);
    let mut output = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let mut written = 0;
    for document in corpus.documents.iter().cycle() {
        if written >= bytes {
            break;
        }
        output.write_all(&document.bytes)?;
        output.write_all(b"\n")?;
        written += document.bytes.len() as u64 + 1;
    }
    output.flush()
}
