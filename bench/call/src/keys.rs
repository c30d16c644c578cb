//! The tracker at size: what a lookup and a step cost however many keys are open, and the memory that a
//! key takes.
//!
//! A million keys do not fit a processor's cache, and no map can help that. So a bare map of the same keys
//! is asked in turn with the tracker: what grows for both is the machine's, what grows between them is ours.

use std::collections::HashMap;
use std::fs;
use std::hint::black_box;

use answerback::retry::{AttemptOutcome, RetryKey, RetryTracker, TrackedCall};
use answerback::{Severity, Timestamp, ValidationError};
use anyhow::{Context, ensure};
use serde_json::json;

use crate::Row;
use crate::clock::{Figures, count, now, since};

/// The time of every call.
fn moment() -> Timestamp {
    Timestamp::from_unix_millis(1_800_000_000_000)
}

/// The numbers of open keys at which it is measured.
const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// How many keys are asked for between two looks at the clock.
const BATCH: usize = 100;
const BATCHES: usize = 1_000;

/// What the tracker comes to beside its times.
pub(crate) struct Tracked {
    /// For each number of open keys, how often a lookup takes the time of one in a bare map (medians).
    pub(crate) lookups: Vec<(usize, f64)>,
    /// The bytes that a key takes, where the system tells them.
    pub(crate) bytes_a_key: Option<usize>,
}

/// Fills a tracker up to this many keys and measures on the way; nothing for none.
pub(crate) fn measure(
    most: usize,
    print: &mut impl FnMut(Row) -> anyhow::Result<()>,
) -> anyhow::Result<Option<Tracked>> {
    if most == 0 {
        return Ok(None);
    }
    // More room than keys: shards fill unevenly, and none may give way.
    let tracker = RetryTracker::new(3).with_max_keys(most + most / 2);
    let mut bare: HashMap<String, u8> = HashMap::new();
    let arguments = json!({"pth": "src/main.rs", "encoding": "uft8", "limit": "ten"});
    let findings = [
        ("VAL-001", "/path"),
        ("VAL-005", "/pth"),
        ("VAL-008", "/encoding"),
        ("VAL-002", "/limit"),
    ]
    .map(|(code, path)| Ok(ValidationError::new(code, Severity::Error).with_path(path.try_into()?)))
    .into_iter()
    .collect::<anyhow::Result<Vec<_>>>()?;
    // Of one turn, so that the step of a known key changes nothing that the next one meets.
    let call =
        TrackedCall::new("read_file", "call_abc123", &arguments, &findings, [7; 10]).with_turn(1);
    let (mut open, mut bytes, mut lookups) = (0, Some(0), Vec::new());
    for size in SIZES.into_iter().filter(|size| *size < most).chain([most]) {
        let before = resident();
        let opening = opened(&tracker, &call, open..size);
        let grown = before.zip(resident()).map(|(before, after)| after.saturating_sub(before));
        bytes = bytes.zip(grown).map(|(bytes, grown)| bytes + grown);
        bare.extend((open..size).map(|number| (key(number).as_str().to_owned(), 1)));
        open = size;
        ensure!(tracker.len() == size, "{} of {size} keys are open", tracker.len());
        let mut row = |name: &str, what: &str, times| {
            let figures = Figures::of(times).context("a time for each batch")?;
            print(Row {
                name: format!("tracker_{name}_{size}"),
                what: format!("tracker, {size} open keys: {what}"),
                figures,
            })?;
            Ok::<_, anyhow::Error>(figures.p50)
        };
        row("open", "open one", opening)?;
        let [ours, bares] = timed(
            size,
            [&mut |key: &RetryKey| tracker.attempts(key, moment()), &mut |key: &RetryKey| {
                bare.get(key.as_str()).copied().unwrap_or_default()
            }],
        );
        let (ours, bares) = (
            row("lookup", "look one up", ours)?,
            row("bare_lookup", "look one up in a bare map", bares)?,
        );
        lookups.push((size, ours / bares));
        let mut stepped = |key: &RetryKey| {
            u8::from(matches!(tracker.call(key, &call, moment()), AttemptOutcome::Retry(_)))
        };
        let [times] = timed(size, [&mut stepped]);
        row("step", "a parallel failure", times)?;
    }
    Ok(Some(Tracked { lookups, bytes_a_key: bytes.map(|bytes| bytes / open) }))
}

fn key(number: usize) -> RetryKey {
    RetryKey::of_conversation(&format!("conversation-{number}"), "read_file")
}

/// Opens these keys, and gives the microseconds for each of a batch.
fn opened(
    tracker: &RetryTracker,
    call: &TrackedCall<'_>,
    numbers: std::ops::Range<usize>,
) -> Vec<f64> {
    let mut times = Vec::new();
    for start in numbers.clone().step_by(BATCH) {
        let keys: Vec<_> = (start..numbers.end.min(start + BATCH)).map(key).collect();
        times.push(batch(&keys, |key| tracker.call(key, call, moment())));
    }
    times
}

/// The microseconds that each of some works takes for a key. They take turns, in batches that stride
/// through all keys, so that no cache helps.
fn timed<const N: usize>(
    open: usize,
    mut works: [&mut dyn FnMut(&RetryKey) -> u8; N],
) -> [Vec<f64>; N] {
    let mut times = [(); N].map(|()| Vec::with_capacity(BATCHES));
    for round in 0..BATCHES {
        let keys: Vec<_> =
            (0..BATCH).map(|place| key((round * BATCH + place) * 7919 % open)).collect();
        for (work, times) in works.iter_mut().zip(&mut times) {
            times.push(batch(&keys, work));
        }
    }
    times
}

fn batch<O>(keys: &[RetryKey], mut work: impl FnMut(&RetryKey) -> O) -> f64 {
    let before = now();
    for key in keys {
        black_box(work(key));
    }
    since(before) / count(keys.len())
}

/// The memory that this process holds, in bytes, where the system tells.
fn resident() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<usize>().ok()? * 1024)
}
