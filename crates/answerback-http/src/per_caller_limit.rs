use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Limits how many resources, such as streams, each caller may hold open at a time. Clones share the counts.
///
/// ```
/// use answerback_http::PerCallerLimit;
///
/// let streams = PerCallerLimit::new(1);
/// let permit = streams.acquire("a").unwrap();
/// assert!(streams.acquire("a").is_none() && streams.acquire("b").is_some());
/// drop(permit);
/// assert!(streams.acquire("a").is_some());
/// ```
#[derive(Clone, Debug)]
pub struct PerCallerLimit {
    limit: usize,
    counts: CountsByCaller,
}

type CountsByCaller = Arc<Mutex<HashMap<String, usize>>>;

impl PerCallerLimit {
    /// Creates a limit of `limit` resources for each caller.
    pub fn new(limit: usize) -> Self {
        Self { limit, counts: CountsByCaller::default() }
    }

    /// The number of resources that each caller may hold.
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// Counts one more resource for this caller until the permit is dropped. Returns `None` if the caller has reached
    /// the limit.
    pub fn acquire(&self, caller: &str) -> Option<PerCallerPermit> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(caller.to_owned()).or_default();
        if *count >= self.limit {
            return None;
        }
        *count += 1;
        Some(PerCallerPermit { caller: caller.to_owned(), counts: Arc::clone(&self.counts) })
    }
}

/// A permit of a [`PerCallerLimit`]. Dropping it lets the caller open another resource.
#[derive(Debug)]
#[must_use]
pub struct PerCallerPermit {
    caller: String,
    counts: CountsByCaller,
}

impl Drop for PerCallerPermit {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.caller);
            }
        }
    }
}
