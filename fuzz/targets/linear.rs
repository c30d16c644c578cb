//! Texts of which four times as much costs more than five times as many steps to search for secrets: there is none. Nor is
//! there one that uses up the budget of a search.
#![no_main]

use answerback::finding::secrets::{SecretKind, find, redact, steps_to_search};
use libfuzzer_sys::fuzz_target;

/// As much as it takes for a square to show.
const BYTES: usize = 1 << 12;

fuzz_target!(|input: &str| {
    // A beginning that stands once, and a unit that is repeated.
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
    // What is hidden stands in order, apart, and between characters.
    assert!(found.windows(2).all(|two| two[0].range.end <= two[1].range.start));
    drop(redact(&often));
});
