//! The tracker at size. Prints its figures:
//!
//! ```sh
//! cargo test --release -p answerback --test tracker_size -- --ignored --nocapture
//! ```

use std::time::Instant;

use answerback::retry::{Call, Outcome, RetryKey, RetryTracker};
use answerback::{Severity, Timestamp, ValidationError};
use serde_json::json;

/// The memory that this process holds, in bytes, where the system tells.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<usize>().ok()? * 1024)
}

/// The processor time of this thread in nanoseconds, where the system tells: others may be at work on
/// the same machine. Elsewhere the time on the wall.
#[expect(clippy::disallowed_methods, reason = "it measures")]
fn spent(begun: Instant) -> u128 {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = schedule.and_then(|text| text.split(' ').next()?.parse().ok());
    nanos.unwrap_or_else(|| Instant::now().duration_since(begun).as_nanos())
}

#[test]
#[ignore = "takes a gigabyte and prints figures"]
#[expect(clippy::disallowed_methods, reason = "it measures")]
fn a_million_open_keys() {
    const LOOKUPS: usize = 200_000;
    let tracker = RetryTracker::new(3).with_max_keys(1_100_000);
    let now = Timestamp::from_unix_millis(1_800_000_000_000);
    let arguments = json!({"pth": "src/main.rs", "encoding": "uft8", "limit": "ten"});
    let findings: Vec<_> = [
        ("VAL-001", "/path"),
        ("VAL-005", "/pth"),
        ("VAL-008", "/encoding"),
        ("VAL-002", "/limit"),
    ]
    .map(|(code, path)| {
        ValidationError::new(code, Severity::Error).with_path(path.try_into().unwrap())
    })
    .into();
    let call = Call::new("read_file", "call_abc123", &arguments, &findings, [7; 10]);
    let key =
        |number: usize| RetryKey::of_conversation(&format!("conversation-{number}"), "read_file");
    let (before, begun) = (resident(), Instant::now());
    let mut filled = 0;
    let mut lookup_nanos = Vec::new();
    for target in [1_000, 10_000, 100_000, 1_000_000] {
        let start = spent(begun);
        let added = target - filled;
        for number in filled..target {
            let outcome = tracker.call(&key(number), &call, now);
            assert!(matches!(outcome, Outcome::Retry(retry) if retry.attempt == 1));
        }
        filled = target;
        let opening = (spent(begun) - start) / added as u128;
        // Strides through all keys, so that no cache helps.
        let keys: Vec<_> = (0..LOOKUPS).map(|round| key(round * 7919 % filled)).collect();
        let start = spent(begun);
        let found: usize = keys.iter().map(|key| usize::from(tracker.attempts(key, now))).sum();
        let lookup = (spent(begun) - start) / LOOKUPS as u128;
        assert_eq!(found, LOOKUPS);
        lookup_nanos.push(lookup);
        println!("{filled:>9} open keys: open {opening} ns, look up {lookup} ns");
    }
    assert_eq!(tracker.len(), 1_000_000);
    if let (Some(before), Some(after)) = (before, resident()) {
        println!("memory: {} bytes a key", (after - before) / filled);
    }
    // Flat but for the caches of the machine: a thousand times the keys, far from a thousand times the time.
    assert!(lookup_nanos[3] < lookup_nanos[0].max(100) * 30, "{lookup_nanos:?}");
}
