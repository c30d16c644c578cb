//! Appends entries as fast as the store takes them and prints the index of each one that is acknowledged.
//!
//! The crash tests kill it at random: whatever it printed must be in the store afterwards.
//! Usage: `appender STORE KEY COUNT IN_FLIGHT [ANCHOR [rotate]]`; with `rotate` the key is changed half-way.

use std::collections::VecDeque;
use std::error::Error;
use std::io::Write;

use answerback_ledger::Draft;
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
    let [store, key, count, in_flight, anchor @ ..] = arguments.as_slice() else {
        return Err("usage: appender STORE KEY COUNT IN_FLIGHT [ANCHOR [rotate]]".into());
    };
    let mut settings = Settings::new(key);
    if let [anchor, ..] = anchor {
        settings = settings.with_anchor_file(anchor);
    }
    let store = open(store, settings)?;
    let (count, in_flight): (u64, usize) = (count.parse()?, in_flight.parse()?);
    let mut waiting = VecDeque::new();
    for number in 0..count {
        if number == count / 2 && anchor.get(1).is_some_and(|word| word == "rotate") {
            acknowledge(Some(store.rotate_key()?))?;
        }
        let part = store.part("seen", format!("{number:0>600}").into_bytes())?;
        let draft = Draft::request().with_tool("appender").with_part(part);
        waiting.push_back(store.append(draft)?);
        if waiting.len() >= in_flight {
            acknowledge(waiting.pop_front())?;
        }
    }
    waiting.into_iter().try_for_each(|ticket| acknowledge(Some(ticket)))
}

/// Waits for a ticket and prints its index and hash in one write.
fn acknowledge(
    ticket: Option<answerback_store::Ticket<answerback_store::Appended>>,
) -> Result<(), Box<dyn Error>> {
    if let Some(ticket) = ticket {
        let appended = ticket.wait()?.value;
        let mut output = std::io::stdout().lock();
        output.write_all(format!("{} {}\n", appended.index, appended.leaf_hash).as_bytes())?;
        output.flush()?;
    }
    Ok(())
}
