//! Reads the lines that `appender` printed and looks for each entry in the store, hashed anew.
//!
//! Usage: `acknowledged STORE KEY [ANCHOR] < LINES`
#![expect(clippy::print_stdout, reason = "it is a program for scripts")]

use std::error::Error;
use std::io::BufRead;

use answerback_ledger::tree::Frontier;
use answerback_store::{Settings, Store};

/// A file, or the URL of a PostgreSQL database.
fn open(store: &str, settings: Settings) -> Result<Store, Box<dyn Error>> {
    #[cfg(feature = "postgres")]
    if store.starts_with("postgres") {
        return Ok(Store::open_postgres(store, settings)?);
    }
    Ok(Store::open_sqlite(store, settings)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, key, anchor @ ..] = arguments.as_slice() else {
        return Err("usage: acknowledged STORE KEY [ANCHOR] < LINES".into());
    };
    let mut settings = Settings::new(key);
    if let [anchor] = anchor {
        settings = settings.with_anchor_file(anchor);
    }
    let store = open(store, settings)?;
    let head = store.head()?;
    let mut frontier = Frontier::default();
    let mut hashes = Vec::new();
    for index in 0..head.size {
        let entry = store.entry(index)?.ok_or_else(|| format!("no entry at {index}"))?;
        frontier.append(entry.hash);
        hashes.push(entry.hash.to_string());
    }
    if frontier.root() != head.root {
        return Err("the root is not that of the entries".into());
    }
    let mut count = 0;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        // A line that was cut off is not an acknowledgement.
        let Some((index, hash)) = line.split_once(' ').filter(|(_, hash)| hash.len() == 64) else {
            continue;
        };
        if hashes.get(index.parse::<usize>()?).map(String::as_str) != Some(hash) {
            return Err(format!("the acknowledged entry at {index} is missing").into());
        }
        count += 1;
    }
    println!("{count} acknowledged entries are there, of {}", head.size);
    Ok(())
}
