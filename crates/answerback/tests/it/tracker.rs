//! The tracker under threads that all want the same key.

use std::sync::Barrier;

use answerback::retry::{RetryKey, RetryTracker, TrackedCall};
use answerback::{Severity, Timestamp, ValidationError};
use serde_json::json;

#[test]
fn eight_threads_on_one_key_lose_no_attempt() {
    const THREADS: usize = 8;
    const KEYS: usize = 2_000;
    // More attempts than threads: nothing is blocked, so that every single one has to be there.
    let tracker = RetryTracker::new(10);
    let (barrier, now) = (Barrier::new(THREADS), Timestamp::from_unix_millis(0));
    let key = |number: usize| RetryKey::of_conversation(&number.to_string(), "read_file");
    let findings = [ValidationError::new("VAL-001", Severity::Error)];
    let arguments = json!({});
    std::thread::scope(|scope| {
        for thread in 0..THREADS as u64 {
            let (tracker, barrier, findings, arguments) =
                (&tracker, &barrier, &findings, &arguments);
            scope.spawn(move || {
                let call = TrackedCall::new("read_file", "c", arguments, findings, [0; 10])
                    .with_turn(thread);
                for number in 0..KEYS {
                    // All at once, or the threads would pass one behind the other.
                    barrier.wait();
                    tracker.call(&key(number), &call, now);
                }
            });
        }
    });
    for number in 0..KEYS {
        let state = tracker.state(&key(number), now).unwrap();
        let calls: usize = state.attempts().iter().map(|attempt| usize::from(attempt.calls)).sum();
        assert_eq!((state.attempts().len(), calls), (THREADS, THREADS), "key {number}");
    }
    let tally = tracker.tally();
    let (_, counts) = tally.tools().next().unwrap();
    let all = (THREADS * KEYS) as u64;
    assert_eq!((counts.calls, counts.failed), (all, all));
}
