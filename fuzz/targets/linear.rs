//! Searches for units of text whose repetition makes a step superlinear: reading, checking, repairing, answering or
//! redacting. Steps are counted in the search for secrets. The other steps have no counter, so their CPU time is
//! measured, and an input counts only if many measurements confirm it.
#![no_main]

use std::hint::black_box;
use std::time::Duration;

use answerback::call::{Schema, check, parse};
use answerback::finding::secrets::{SecretKind, find, redact, steps_to_search};
use answerback::finding::{display_text, preview, relative_paths};
use answerback::json::{Limits, canonical, read};
use answerback::message::{repair, repair_malformed};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

/// The size of the smaller text, in bytes. A quadratic step is visible from here on.
const BYTES: usize = 1 << 12;
/// The largest accepted ratio of the times for four times the text. A quadratic step takes 16 times as long.
const MOST_GROWTH: u32 = 10;
/// The number of measurements that must all be slow.
const TRIES: usize = 20;
/// Shorter times are not compared.
const SHORT: Duration = Duration::from_millis(20);

fuzz_target!(|input: &str| {
    // A beginning that occurs once, and a unit that is repeated.
    let (start, unit) = input.split_once('\n').unwrap_or(("", input));
    if unit.is_empty() || input.len() > 256 {
        return;
    }
    let times = BYTES / unit.len() + 1;
    let text = |times: usize| format!("{start}{}", unit.repeat(times));
    let (once, often) = (text(times), text(4 * times));
    let (small, large) = (steps_to_search(&once), steps_to_search(&often));
    assert!(large <= 5 * (small + 64), "{small} steps, then {large}");
    let found = find(&often);
    assert!(found.iter().all(|secret| secret.kind != SecretKind::Unsearched));
    // The ranges are in order, do not overlap, and lie between characters.
    assert!(found.windows(2).all(|two| two[0].range.end <= two[1].range.start));
    drop(redact(&often));
    let (mut small, mut large) = (Duration::MAX, Duration::MAX);
    for _ in 0..TRIES {
        large = large.min(time(&often));
        if large < SHORT {
            return;
        }
        small = small.min(time(&once));
        if large <= small * MOST_GROWTH {
            return;
        }
    }
    panic!("{small:?}, then {large:?}");
});

/// Returns the time of all steps whose work cannot be counted.
fn time(text: &str) -> Duration {
    thread_local! {
        static SCHEMA: Schema = Schema::compile(json!({
            "properties": {
                "a": {"type": "integer"},
                "b": {"enum": ["one", "two"]},
                "c": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
                "d": {"type": "string", "pattern": "^[a-z]+$", "format": "uri"},
            },
            "required": ["a"],
            "additionalProperties": false,
        }))
        .expect("a valid schema");
    }
    let start = cpu_time();
    SCHEMA.with(|schema| {
        drop(black_box(read(text.as_bytes(), Limits::default())));
        if let Err(malformed) = parse(text, Limits::default()) {
            black_box(malformed.finding());
            drop(black_box(repair_malformed(schema, &malformed, ())));
        }
        let arguments = json!({"a": text, "b": text, "c": [text], "d": text, text: 1});
        if let Ok(findings) = check(schema, &arguments, ()) {
            drop(black_box(repair(schema, &arguments, &findings, ())));
        }
        black_box(canonical(&arguments));
        black_box(preview(&arguments));
        black_box(display_text(text, 200));
        black_box(relative_paths(text, Some("/home/a")));
    });
    cpu_time().saturating_sub(start)
}

/// Returns the CPU time of this thread. Other programs on the machine do not change it.
#[cfg(unix)]
fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(now.tv_sec).unwrap_or_default(),
        u32::try_from(now.tv_nsec).unwrap_or_default(),
    )
}

#[cfg(not(unix))]
fn cpu_time() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}
