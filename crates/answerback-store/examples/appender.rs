//! Appends entries as fast as the store accepts them, and prints the index of each acknowledged
//! entry.
//!
//! The crash tests kill it at a random moment. Every entry that it printed must be in the store
//! afterward. Usage: `appender STORE KEY COUNT IN_FLIGHT [ANCHOR [rotate | erase | prune]]`.
//!
//! With `rotate`, it rotates the key half-way. With `erase`, it erases each entry again and sweeps
//! retry states after every commit, and it ends at the end of its input. With `prune`, it prunes as
//! much as possible at the end, and reads a line of input before each step except the first.

use std::collections::VecDeque;
use std::error::Error;
use std::io::Write;
use std::time::Duration;

use answerback::Severity;
use answerback::finding::ValidationError;
use answerback::retry::{
    Context, HideSecrets, RetryEvent, RetryKey, RetryPolicy, Sent, TrackedCall, step,
};
use answerback_ledger::leaf::Basis;
use answerback_ledger::{Draft, LeafToken};
use answerback_store::{AppendedEntry, Settings, Store, Ticket};
use serde_json::json;

/// Opens a store file or the URL of a PostgreSQL database.
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
        return Err("usage: appender STORE KEY COUNT IN_FLIGHT [ANCHOR [WORD]]".into());
    };
    let mut settings = Settings::new(key);
    if let [anchor, ..] = anchor {
        settings = settings.with_anchor_file(anchor);
    }
    let word = anchor.get(1).map_or("", String::as_str);
    if word == "erase" {
        settings = settings.with_most_attempts(0).with_sweep_every(Duration::ZERO);
    }
    let store = open(store, settings)?;
    let (count, in_flight): (u64, usize) = (count.parse()?, in_flight.parse()?);
    let mut waiting = VecDeque::new();
    for number in 0..count {
        if number == count / 2 && word == "rotate" {
            acknowledge(Some(store.rotate_key()?))?;
        }
        let text = format!("quince{number:0>600}");
        let part = store.part("seen", text.as_bytes())?;
        let draft = Draft::request().with_tool("appender").with_part(part);
        waiting.push_back(store.append(draft)?);
        if waiting.len() >= in_flight {
            let appended = acknowledge(waiting.pop_front())?;
            if let Some(appended) = appended.filter(|_| word == "erase") {
                count_attempt(&store)?;
                store.erase(appended.index, LeafToken::new("seen")?, Basis::Request)?.wait()?;
                say(&format!("erased {} {text}\n", appended.index))?;
            }
        }
    }
    for ticket in waiting {
        acknowledge(Some(ticket))?;
    }
    match word {
        "erase" => drop(std::io::read_to_string(std::io::stdin())?),
        "prune" => prune(&store)?,
        _ => {}
    }
    Ok(())
}

/// Prunes as much as possible, and waits for a line of input after each step.
fn prune(store: &Store) -> Result<(), Box<dyn Error>> {
    let mut said = Ok(());
    store.prune(store.head()?.size, &mut |step| {
        said = say(&format!("pruned {}\n", step.below));
        let _ = std::io::stdin().read_line(&mut String::new());
    })?;
    said
}

/// Stores the retry state of a failing call, which the sweep then removes.
fn count_attempt(store: &Store) -> Result<(), Box<dyn Error>> {
    let ticket = store.write(|transaction| {
        let key = RetryKey::of_conversation("appender", "appender");
        let (arguments, policy) = (json!({"path": "quinceState"}), RetryPolicy::default());
        let findings = [ValidationError::new("VAL-002", Severity::Error)];
        let call = TrackedCall::new("appender", "1", Sent::Value(&arguments), &findings, [7; 10]);
        let context = Context::new(&policy, &HideSecrets, transaction.now());
        let state = step(None, RetryEvent::Call(call), &context).state;
        let kept = transaction.retry_state(&key)?.map(|kept| kept.revision);
        transaction.replace_retry_state(&key, kept, state.as_ref())
    })?;
    ticket.wait()?;
    Ok(())
}

/// Waits for a ticket and prints its index and hash in one write.
fn acknowledge(
    ticket: Option<Ticket<AppendedEntry>>,
) -> Result<Option<AppendedEntry>, Box<dyn Error>> {
    let Some(ticket) = ticket else { return Ok(None) };
    let appended = ticket.wait()?.value;
    say(&format!("{} {}\n", appended.index, appended.leaf_hash))?;
    Ok(Some(appended))
}

fn say(line: &str) -> Result<(), Box<dyn Error>> {
    let mut output = std::io::stdout().lock();
    output.write_all(line.as_bytes())?;
    Ok(output.flush()?)
}
