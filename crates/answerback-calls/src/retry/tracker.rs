use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use answerback_json::{Timestamp, UuidV7};

use super::shard::Shard;
use super::{
    AttemptOutcome, Context, FailureTally, HideSecrets, Policies, Redactor, RetryEvent, RetryKey,
    RetryState, Suspect, TrackedCall, observe, step,
};
use crate::case::Decision;

/// Keeps the [`RetryState`] of every key in memory: a lookup is O(1), and threads that work on different
/// keys hardly ever wait for each other.
///
/// Memory is bounded. Keys forget themselves after a time. Beyond the most open keys (100,000 unless
/// set), the key that was opened first gives way: of those in the same shard, of which there are 64
/// at large bounds and one at bounds below 256. A blocked key never gives way to an open one; beyond as many
/// blocked keys, the one that was blocked first gives way to the new one.
///
/// ```
/// use answerback_calls::retry::{TrackedCall, AttemptOutcome, RetryKey, RetryTracker};
/// use answerback_findings::{Severity, ValidationError};
/// use answerback_json::Timestamp;
///
/// let tracker = RetryTracker::new(3);
/// let key = RetryKey::of_conversation("thread-7", "read_file");
/// let now = Timestamp::from_unix_millis(0);
/// let arguments = serde_json::json!({});
/// let findings = [ValidationError::new("VAL-001", Severity::Error)];
/// let call = TrackedCall::new("read_file", "c1", &arguments, &findings, [7; 10]);
///
/// assert!(matches!(tracker.call(&key, &call, now), AttemptOutcome::Retry(retry) if retry.attempt == 1));
/// // A parallel call shares the attempt; after the answer was delivered, the next one does not.
/// assert!(matches!(tracker.call(&key, &call, now), AttemptOutcome::Retry(retry) if retry.attempt == 1));
/// tracker.delivered(&key, now);
/// assert!(matches!(tracker.call(&key, &call, now), AttemptOutcome::Retry(retry) if retry.attempt == 2));
/// ```
pub struct RetryTracker {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
    policies: Policies,
    redactor: Box<dyn Redactor>,
    tally: Mutex<FailureTally>,
}

/// The most open keys, unless it is set.
const MOST_KEYS: usize = 100_000;
/// The most shards.
const MOST_SHARDS: usize = 64;
/// A shard smaller than this would make "the oldest gives way" a lottery.
const SMALLEST_SHARD: usize = 128;

impl RetryTracker {
    /// A tracker under these policies: `3`, a policy, or one for each tool.
    pub fn new(policies: impl Into<Policies>) -> Self {
        Self {
            shards: shards(MOST_KEYS),
            hasher: RandomState::new(),
            policies: policies.into(),
            redactor: Box::new(HideSecrets),
            tally: Mutex::default(),
        }
    }

    /// Sets the most open keys, at least one. What was tracked so far is forgotten.
    #[must_use]
    pub fn with_max_keys(mut self, keys: usize) -> Self {
        self.shards = shards(keys);
        self
    }

    /// Sets the redactor for everything that is stored and sent.
    #[must_use]
    pub fn with_redactor(mut self, redactor: impl Redactor + 'static) -> Self {
        self.redactor = Box::new(redactor);
        self
    }

    /// Counts a checked call, tells operators about it and says what to do.
    pub fn call(&self, key: &RetryKey, call: &TrackedCall<'_>, now: Timestamp) -> AttemptOutcome {
        let policy = self.policies.of(call.tool);
        let context = Context::new(policy, &*self.redactor, now);
        let outcome = self.step(key, RetryEvent::Call(*call), &context);
        observe(call, &outcome, &context, &mut lock(&self.tally));
        outcome
    }

    /// Notes that the model has the answer to the last failing call.
    pub fn delivered(&self, key: &RetryKey, now: Timestamp) -> AttemptOutcome {
        let policy = self.policies.of("");
        self.step(key, RetryEvent::Delivered, &Context::new(policy, &*self.redactor, now))
    }

    /// Applies a person's decision about the escalation of this id.
    pub fn decide(
        &self,
        key: &RetryKey,
        case: &UuidV7,
        decision: &Decision,
        now: Timestamp,
    ) -> AttemptOutcome {
        let tool = self.state(key, now).map(|state| state.tool().to_owned()).unwrap_or_default();
        let context = Context::new(self.policies.of(&tool), &*self.redactor, now);
        self.step(key, RetryEvent::Decision { case, decision }, &context)
    }

    /// Returns the number of failed attempts of a key.
    pub fn attempts(&self, key: &RetryKey, now: Timestamp) -> u8 {
        let (hash, shard) = self.shard(key);
        lock(shard).attempts(hash, key, now)
    }

    /// Returns the state of a key.
    pub fn state(&self, key: &RetryKey, now: Timestamp) -> Option<RetryState> {
        let (hash, shard) = self.shard(key);
        lock(shard).state(hash, key, now).cloned()
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }

    /// Returns true if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets every key whose time is up. Keys that are asked for forget themselves; this frees the
    /// memory of those that never are.
    pub fn sweep(&self, now: Timestamp) {
        for shard in &self.shards {
            lock(shard).sweep(now);
        }
    }

    /// Returns the counts by tool, place and code.
    pub fn tally(&self) -> FailureTally {
        lock(&self.tally).clone()
    }

    /// The places of schemas that look wrong, the most frequent first.
    pub fn suspects(&self) -> Vec<Suspect> {
        lock(&self.tally).suspects()
    }

    /// The hash of a key and the shard that it belongs to.
    fn shard(&self, key: &RetryKey) -> (u64, &Mutex<Shard>) {
        let hash = self.hasher.hash_one(key);
        // The number of shards is a power of two. The table inside goes by the lowest and the highest
        // bits: among keys of one shard these must differ.
        let middle = usize::try_from(hash >> 32 & 0xffff).unwrap_or(0);
        (hash, &self.shards[middle & (self.shards.len() - 1)])
    }

    /// Load, step, put back: under the shard's lock, so that no attempt is lost.
    fn step(&self, key: &RetryKey, event: RetryEvent<'_>, context: &Context<'_>) -> AttemptOutcome {
        let (hash, shard) = self.shard(key);
        let mut shard = lock(shard);
        let taken = step(shard.take(hash, key), event, context);
        shard.put(hash, key, taken.state);
        taken.outcome
    }
}

impl std::fmt::Debug for RetryTracker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RetryTracker").field("keys", &self.len()).finish_non_exhaustive()
    }
}

fn shards(keys: usize) -> Box<[Mutex<Shard>]> {
    let wanted = (keys / SMALLEST_SHARD).clamp(1, MOST_SHARDS);
    // Rounded down to a power of two.
    let count = 1 << wanted.ilog2();
    let most = keys.max(1).div_ceil(count);
    (0..count).map(|_| Mutex::new(Shard::new(most))).collect()
}

/// A thread that panicked while it held a lock harms no other key: a shard changes only in `put`,
/// which does not panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use answerback_findings::{Severity, ValidationError};
    use serde_json::json;

    use super::super::{RetryPolicy, WhileBlocked};
    use super::*;

    fn failing() -> [ValidationError; 1] {
        [ValidationError::new("VAL-001", Severity::Error).with_path("/path".try_into().unwrap())]
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_millis(1_800_000_000_000 + seconds * 1000)
    }

    fn key(number: usize) -> RetryKey {
        RetryKey::of_conversation(&number.to_string(), "read_file")
    }

    /// Fails once under the key, in this turn.
    fn fail(tracker: &RetryTracker, key: &RetryKey, turn: u64, now: Timestamp) -> AttemptOutcome {
        let (arguments, findings) = (json!({}), failing());
        let call =
            TrackedCall::new("read_file", "c", &arguments, &findings, [0; 10]).with_turn(turn);
        tracker.call(key, &call, now)
    }

    #[test]
    fn the_oldest_open_key_gives_way_and_a_blocked_one_never() {
        let tracker = RetryTracker::new(2).with_max_keys(3);
        for turn in 1..=2 {
            fail(&tracker, &key(0), turn, at(0));
        }
        assert!(tracker.state(&key(0), at(0)).unwrap().is_blocked());
        for number in 1..=5 {
            fail(&tracker, &key(number), 1, at(0));
        }
        let kept: Vec<_> =
            (0..=5).filter(|number| tracker.attempts(&key(*number), at(0)) > 0).collect();
        assert_eq!(kept, [0, 3, 4, 5]);
        // Blocked keys are bounded among themselves.
        for number in 10..20 {
            for turn in 1..=2 {
                fail(&tracker, &key(number), turn, at(0));
            }
        }
        let blocked: Vec<_> =
            (0..20).filter(|number| tracker.attempts(&key(*number), at(0)) == 2).collect();
        assert_eq!(blocked, [17, 18, 19]);
    }

    #[test]
    fn keys_forget_themselves() {
        let tracker = RetryTracker::new(RetryPolicy::from(2).with_idle_seconds(60));
        fail(&tracker, &key(1), 1, at(0));
        assert_eq!((tracker.attempts(&key(1), at(59)), tracker.attempts(&key(1), at(60))), (1, 0));
        fail(&tracker, &key(2), 1, at(0));
        fail(&tracker, &key(2), 2, at(0));
        tracker.sweep(at(61));
        assert_eq!((tracker.len(), tracker.is_empty()), (1, false));
        tracker.sweep(at(15 * 60));
        assert!(tracker.is_empty());
    }

    #[test]
    fn tools_have_their_own_policies() {
        let lenient = RetryPolicy::from(5).with_while_blocked(WhileBlocked::AllowValid);
        let policies = Policies::from(1).with_tool("write_file", lenient);
        let tracker = RetryTracker::new(policies);
        assert!(matches!(fail(&tracker, &key(1), 1, at(0)), AttemptOutcome::Blocked(_)));
        let (arguments, findings) = (json!({}), failing());
        let call = TrackedCall::new("write_file", "c", &arguments, &findings, [0; 10]);
        let outcome = tracker.call(&RetryKey::new("w"), &call, at(0));
        assert!(matches!(outcome, AttemptOutcome::Retry(retry) if retry.max_attempts == 5));
    }

    #[test]
    fn a_decision_reopens_a_key() {
        let tracker = RetryTracker::new(1);
        let AttemptOutcome::Blocked(blocked) = fail(&tracker, &key(1), 1, at(0)) else { panic!() };
        let message = "use an absolute path".to_owned();
        let decision = Decision::Respond { message: message.clone() };
        let other = UuidV7::from_time(at(0), [9; 10]);
        assert_eq!(tracker.decide(&key(1), &other, &decision, at(1)), AttemptOutcome::Ignored);
        let case = &blocked.escalation.id;
        assert_eq!(tracker.decide(&key(1), case, &decision, at(1)), AttemptOutcome::Applied);
        assert_eq!(tracker.decide(&key(1), case, &decision, at(1)), AttemptOutcome::Ignored);
        let arguments = json!({"path": "/a"});
        let valid = TrackedCall::new("read_file", "c", &arguments, &[], [0; 10]);
        let AttemptOutcome::Proceed(proceed) = tracker.call(&key(1), &valid, at(2)) else {
            panic!()
        };
        assert_eq!(proceed.guidance, Some(message));
        assert!(tracker.is_empty());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test is about threads")]
    fn no_attempt_is_lost_between_threads() {
        const THREADS: usize = 8;
        const ROUNDS: usize = 500;
        // Every thread fails once under every key, in a turn of its own; ten attempts block a key.
        let tracker = std::sync::Arc::new(RetryTracker::new(10).with_max_keys(1 << 16));
        let escalations = std::sync::Arc::new(Mutex::new(HashMap::<usize, usize>::new()));
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (tracker, escalations) = (tracker.clone(), escalations.clone());
                std::thread::spawn(move || {
                    for round in 0..ROUNDS {
                        for repeat in 0..2 {
                            let turn = (thread * 2 + repeat) as u64;
                            let outcome = fail(&tracker, &key(round), turn, at(0));
                            if matches!(&outcome, AttemptOutcome::Blocked(blocked) if blocked.is_new) {
                                *lock(&escalations).entry(round).or_default() += 1;
                            }
                        }
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        // 16 failures under each key: ten attempts counted, one escalation, never two.
        for round in 0..ROUNDS {
            assert_eq!(tracker.attempts(&key(round), at(0)), 10, "{round}");
            assert_eq!(lock(&escalations).get(&round), Some(&1), "{round}");
        }
    }
}
