use std::collections::BTreeMap;

use answerback_json::Timestamp;
use hashbrown::HashTable;

use super::{RetryKey, RetryState};

/// A part of the tracker's keys, behind one lock. The caller passes the hash of the key, which already
/// selected the shard, so that no key is hashed twice.
pub(super) struct Shard {
    /// The most open keys, and the most blocked ones.
    most: usize,
    entries: HashTable<ShardEntry>,
    /// The hashes of the open keys by the order in which they were opened.
    open: BTreeMap<u64, u64>,
    /// The hashes of the blocked keys by the order in which they were blocked.
    blocked: BTreeMap<u64, u64>,
    next: u64,
}

struct ShardEntry {
    hash: u64,
    key: RetryKey,
    /// Absent only between `take` and `put`.
    state: Option<Box<RetryState>>,
    /// The place in the order of open or blocked keys.
    serial: u64,
    /// The expiry of the state, in milliseconds since 1970. Like the attempts, it is stored next to the key.
    /// A query for them then needs no access to the state, which is elsewhere in memory.
    expires: i64,
    attempts: u8,
    is_blocked: bool,
}

impl ShardEntry {
    fn is(&self, hash: u64, key: &RetryKey) -> bool {
        self.hash == hash && self.key == *key
    }

    fn is_expired(&self, now: Timestamp) -> bool {
        now.unix_millis() >= self.expires
    }

    fn keep(&mut self, state: RetryState) {
        self.expires = state.expires_millis();
        self.attempts = state.attempt_count();
        self.state = Some(Box::new(state));
    }
}

impl Shard {
    pub(super) fn new(most: usize) -> Self {
        let (open, blocked) = (BTreeMap::new(), BTreeMap::new());
        Self { most, entries: HashTable::new(), open, blocked, next: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of failed attempts of a key, or 0 if its state expired.
    pub(super) fn attempts(&self, hash: u64, key: &RetryKey, now: Timestamp) -> u8 {
        self.find(hash, key, now).map_or(0, |entry| entry.attempts)
    }

    /// Returns the state of a key, or `None` if it expired.
    pub(super) fn state(&self, hash: u64, key: &RetryKey, now: Timestamp) -> Option<&RetryState> {
        self.find(hash, key, now)?.state.as_deref()
    }

    fn find(&self, hash: u64, key: &RetryKey, now: Timestamp) -> Option<&ShardEntry> {
        let entry = self.entries.find(hash, |entry| entry.is(hash, key));
        entry.filter(|entry| entry.state.is_some() && !entry.is_expired(now))
    }

    /// Takes a state out; the next thing done with the key is `put`.
    pub(super) fn take(&mut self, hash: u64, key: &RetryKey) -> Option<RetryState> {
        let entry = self.entries.find_mut(hash, |entry| entry.is(hash, key))?;
        entry.state.take().map(|state| *state)
    }

    /// Puts a state in, or forgets the key. Then the oldest keys beyond the bound give way.
    pub(super) fn put(&mut self, hash: u64, key: &RetryKey, state: Option<RetryState>) {
        let Some(state) = state else { return self.forget(hash, key) };
        let is_blocked = state.is_blocked();
        match self.entries.find_mut(hash, |entry| entry.is(hash, key)) {
            Some(entry) if entry.is_blocked == is_blocked => return entry.keep(state),
            Some(_) => self.forget(hash, key),
            None => {}
        }
        let serial = self.next;
        self.next += 1;
        let key = key.clone();
        let mut entry =
            ShardEntry { hash, key, state: None, serial, expires: 0, attempts: 0, is_blocked };
        entry.keep(state);
        self.entries.insert_unique(hash, entry, |entry| entry.hash);
        let order = if is_blocked { &mut self.blocked } else { &mut self.open };
        order.insert(serial, hash);
        if order.len() > self.most
            && let Some((oldest, hash)) = order.pop_first()
        {
            self.remove(hash, |entry| entry.serial == oldest);
        }
    }

    /// Forgets every key whose time is up.
    pub(super) fn sweep(&mut self, now: Timestamp) {
        let Self { entries, open, blocked, .. } = self;
        entries.retain(|entry| {
            let is_kept = entry.state.is_some() && !entry.is_expired(now);
            if !is_kept {
                let order = if entry.is_blocked { &mut *blocked } else { &mut *open };
                order.remove(&entry.serial);
            }
            is_kept
        });
    }

    fn forget(&mut self, hash: u64, key: &RetryKey) {
        if let Some(entry) = self.remove(hash, |entry| entry.is(hash, key)) {
            let order = if entry.is_blocked { &mut self.blocked } else { &mut self.open };
            order.remove(&entry.serial);
        }
    }

    fn remove(
        &mut self,
        hash: u64,
        is_sought: impl FnMut(&ShardEntry) -> bool,
    ) -> Option<ShardEntry> {
        let found = self.entries.find_entry(hash, is_sought).ok()?;
        Some(found.remove().0)
    }
}
