use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Limits how many resources, such as streams, each caller may hold open at a time. Clones share the counts.
///
/// ```
/// use answerback_http::Allowance;
///
/// let streams = Allowance::new(1);
/// let held = streams.take("a").unwrap();
/// assert!(streams.take("a").is_none() && streams.take("b").is_some());
/// drop(held);
/// assert!(streams.take("a").is_some());
/// ```
#[derive(Clone, Debug)]
pub struct Allowance {
    most: usize,
    held: CountsByCaller,
}

type CountsByCaller = Arc<Mutex<HashMap<String, usize>>>;

impl Allowance {
    /// Creates a limit of `most` resources for each caller.
    pub fn new(most: usize) -> Self {
        Self { most, held: CountsByCaller::default() }
    }

    /// Returns the limit for each caller.
    pub const fn most(&self) -> usize {
        self.most
    }

    /// Takes one more place for this caller, which is free again when the result is dropped. Returns `None` if the
    /// caller has reached the limit.
    pub fn take(&self, who: &str) -> Option<Held> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let count = held.entry(who.to_owned()).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Held { who: who.to_owned(), held: Arc::clone(&self.held) })
    }
}

/// Holds one place of an [`Allowance`] until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Held {
    who: String,
    held: CountsByCaller,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.who) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.who);
            }
        }
    }
}
