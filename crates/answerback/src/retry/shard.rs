use std::collections::{BTreeMap, HashMap};

use super::{RetryKey, State};
use crate::Timestamp;

/// A part of the tracker's keys, behind one lock.
pub(super) struct Shard {
    /// The most open keys, and the most blocked ones.
    most: usize,
    entries: HashMap<RetryKey, Entry>,
    /// The open keys by the order in which they were opened.
    open: BTreeMap<u64, RetryKey>,
    /// The blocked keys by the order in which they were blocked.
    blocked: BTreeMap<u64, RetryKey>,
    next: u64,
}

struct Entry {
    /// Absent only between `take` and `put`.
    state: Option<Box<State>>,
    /// The place in the order of open or blocked keys.
    serial: u64,
    is_blocked: bool,
}

impl Shard {
    pub(super) fn new(most: usize) -> Self {
        let (open, blocked) = (BTreeMap::new(), BTreeMap::new());
        Self { most, entries: HashMap::new(), open, blocked, next: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn find(&self, key: &RetryKey) -> Option<&State> {
        self.entries.get(key)?.state.as_deref()
    }

    /// Takes a state out; the next thing done with the key is `put`.
    pub(super) fn take(&mut self, key: &RetryKey) -> Option<State> {
        self.entries.get_mut(key)?.state.take().map(|state| *state)
    }

    /// Puts a state in, or forgets the key. Then the oldest keys beyond the bound give way.
    pub(super) fn put(&mut self, key: &RetryKey, state: Option<State>) {
        let Some(state) = state else { return self.forget(key) };
        let is_blocked = state.is_blocked();
        let state = Some(Box::new(state));
        match self.entries.get_mut(key) {
            Some(entry) if entry.is_blocked == is_blocked => {
                entry.state = state;
                return;
            }
            Some(_) => self.forget(key),
            None => {}
        }
        let serial = self.next;
        self.next += 1;
        self.entries.insert(key.clone(), Entry { state, serial, is_blocked });
        let order = if is_blocked { &mut self.blocked } else { &mut self.open };
        order.insert(serial, key.clone());
        if order.len() > self.most
            && let Some((_, oldest)) = order.pop_first()
        {
            self.entries.remove(&oldest);
        }
    }

    /// Forgets every key whose time is up.
    pub(super) fn sweep(&mut self, now: Timestamp) {
        let is_kept =
            |entry: &Entry| entry.state.as_ref().is_some_and(|state| !state.is_expired(now));
        self.entries.retain(|_, entry| is_kept(entry));
        let entries = &self.entries;
        for order in [&mut self.open, &mut self.blocked] {
            order.retain(|serial, key| {
                entries.get(key).is_some_and(|entry| entry.serial == *serial)
            });
        }
    }

    fn forget(&mut self, key: &RetryKey) {
        if let Some(entry) = self.entries.remove(key) {
            let order = if entry.is_blocked { &mut self.blocked } else { &mut self.open };
            order.remove(&entry.serial);
        }
    }
}
