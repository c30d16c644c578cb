//! The tracker at size: whether a lookup and a step cost the same however many keys are open, and the
//! memory that a key takes.

use std::fs;
use std::hint::black_box;

use answerback::retry::{Call, RetryKey, RetryTracker};
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

/// Fills a tracker up to this many keys and measures on the way. Gives the bytes that a key takes, where
/// the system tells them.
pub(crate) fn measure(
    most: usize,
    print: &mut impl FnMut(Row) -> anyhow::Result<()>,
) -> anyhow::Result<Option<usize>> {
    if most == 0 {
        return Ok(None);
    }
    // More room than keys: shards fill unevenly, and none may give way.
    let tracker = RetryTracker::new(3).with_max_keys(most + most / 2);
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
    let call = Call::new("read_file", "call_abc123", &arguments, &findings, [7; 10]).with_turn(1);
    let before = resident();
    let mut open = 0;
    for size in SIZES.into_iter().filter(|size| *size < most).chain([most]) {
        let opening = opened(&tracker, &call, open..size);
        open = size;
        ensure!(tracker.len() == size, "{} of {size} keys are open", tracker.len());
        let row = |name: &str, what: &str, times| {
            let figures = Figures::of(times).context("a time for each batch")?;
            Ok::<_, anyhow::Error>(Row {
                name: format!("tracker_{name}_{size}"),
                what: format!("tracker, {size} open keys: {what}"),
                figures,
            })
        };
        print(row("open", "open one", opening)?)?;
        print(row("lookup", "look one up", timed(size, |key| tracker.attempts(key, moment())))?)?;
        print(row(
            "step",
            "a parallel failure",
            timed(size, |key| tracker.call(key, &call, moment())),
        )?)?;
    }
    Ok(before.zip(resident()).map(|(before, after)| after.saturating_sub(before) / open))
}

fn key(number: usize) -> RetryKey {
    RetryKey::of_conversation(&format!("conversation-{number}"), "read_file")
}

/// Opens these keys, and gives the microseconds for each of a batch.
fn opened(tracker: &RetryTracker, call: &Call<'_>, numbers: std::ops::Range<usize>) -> Vec<f64> {
    let mut times = Vec::new();
    for start in numbers.clone().step_by(BATCH) {
        let keys: Vec<_> = (start..numbers.end.min(start + BATCH)).map(key).collect();
        times.push(batch(&keys, |key| tracker.call(key, call, moment())));
    }
    times
}

/// The microseconds that something takes for a key, in batches that stride through all keys, so that
/// no cache helps.
fn timed<O>(open: usize, mut work: impl FnMut(&RetryKey) -> O) -> Vec<f64> {
    let batches = (0..BATCHES).map(|round| {
        let keys: Vec<_> =
            (0..BATCH).map(|place| key((round * BATCH + place) * 7919 % open)).collect();
        batch(&keys, &mut work)
    });
    batches.collect()
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
