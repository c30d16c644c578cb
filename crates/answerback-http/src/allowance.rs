use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How many of something one caller may have open at a time. Clones share the count.
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
    /// So many for each caller.
    pub fn new(most: usize) -> Self {
        Self { most, held: CountsByCaller::default() }
    }

    /// How many each caller may have.
    pub const fn most(&self) -> usize {
        self.most
    }

    /// One more for this caller, until it is dropped; nothing, where the caller has all that it may.
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

/// One of what an [`Allowance`] allows.
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
