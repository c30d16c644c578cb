//! The store under load: requests and responses of 2 KB, with this many in flight.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use answerback_ledger::{Draft, LeafId, LeafToken};
use answerback_store::{AppendedEntry, Settings, Store, Ticket};

use crate::CONTENT;
use crate::figures::Stretch;

pub(crate) fn run(folder: &Path, entries: u64) -> anyhow::Result<()> {
    let store = open(folder, "load")?;
    let mut next = 0;
    for (in_flight, count) in [(1, entries / 10), (16, entries / 2), (256, entries)] {
        let (stretch, mut times) = (Stretch::begin(), Vec::new());
        append(&store, next..next + count, in_flight, CONTENT, &mut times)?;
        stretch.end(&format!("store, {in_flight} in flight"), count, &mut times);
        next += count;
    }
    Ok(())
}

/// The rate at a tenth of the entries and at the end.
pub(crate) fn grow(folder: &Path, entries: u64) -> anyhow::Result<()> {
    let store = open(folder, "growth")?;
    let step = entries / 10;
    let mut unmeasured = Vec::new();
    append(&store, 0..step, 256, CONTENT, &mut unmeasured)?;
    for (from, name) in [(step, "at a tenth"), (entries - step, "at the end")] {
        let size = store.head()?.size;
        if size < from {
            append(&store, size..from, 256, CONTENT, &mut unmeasured)?;
        }
        let (stretch, mut times) = (Stretch::begin(), Vec::new());
        let count = step / 2;
        append(&store, from..from + count, 256, CONTENT, &mut times)?;
        stretch.end(&format!("store of {from} entries, 256 in flight, {name}"), count, &mut times);
    }
    Ok(())
}

pub(crate) fn open(folder: &Path, name: &str) -> anyhow::Result<Store> {
    let settings = Settings::new(folder.join(format!("{name}.key")))
        .with_anchor_file(folder.join(format!("{name}.anchor")));
    Ok(Store::open_sqlite(folder.join(format!("{name}.db")), settings)?)
}

/// Appends entries so that this many always wait, and gives the time of each from handing in to the answer.
pub(crate) fn append(
    store: &Store,
    numbers: std::ops::Range<u64>,
    in_flight: usize,
    content: usize,
    times: &mut Vec<Duration>,
) -> anyhow::Result<()> {
    let mut waiting: VecDeque<(Instant, Ticket<AppendedEntry>)> = VecDeque::new();
    for number in numbers {
        if waiting.len() >= in_flight
            && let Some((began, ticket)) = waiting.pop_front()
        {
            ticket.wait()?;
            times.push(began.elapsed());
        }
        let draft = draft(store, number, content)?;
        waiting.push_back((Instant::now(), store.append(draft)?));
    }
    for (began, ticket) in waiting {
        ticket.wait()?;
        times.push(began.elapsed());
    }
    Ok(())
}

/// Requests at even numbers, their responses at odd ones, with ids in no order, as those of the gateway are: each finds
/// its place in the indexes anywhere.
fn draft(store: &Store, number: u64, content: usize) -> anyhow::Result<Draft> {
    let id = |number: u64| {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&scattered(2 * number).to_be_bytes());
        bytes[8..].copy_from_slice(&scattered(2 * number + 1).to_be_bytes());
        LeafId::from(bytes)
    };
    let (name, draft) = if number.is_multiple_of(2) {
        ("sent", Draft::request().with_request_id(id(number)))
    } else {
        let outcome = LeafToken::new("ok")?;
        let draft = Draft::response().with_request_id(id(number - 1)).with_response_id(id(number));
        ("received", draft.with_outcome(&outcome))
    };
    let tool = format!("tool_{}", number % 40);
    Ok(draft.with_tool(&tool).with_part(store.part(name, vec![b'x'; content])?))
}

/// A number that looks random and is the same each time (`SplitMix64`): a response names the id of its request.
const fn scattered(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
