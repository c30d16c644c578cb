use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::wire::Id;

/// What our ids begin with. The gateway's own begin in another way, since it may sit on a bridged link.
const OURS: &str = "answerback-era/";

/// The ids of requests that a bridge makes itself. Clones never give the same one: an answer may come after what asked
/// for it is gone.
#[derive(Clone, Debug)]
pub(super) struct GeneratedIds {
    numbers: Arc<AtomicU64>,
    prefix: Arc<str>,
}

impl Default for GeneratedIds {
    /// Ids that can be foretold, for scripts.
    fn default() -> Self {
        Self { numbers: Arc::default(), prefix: OURS.into() }
    }
}

impl GeneratedIds {
    /// Ids that nobody can guess: whoever could would answer for another, or be taken for us.
    pub(super) fn unguessable() -> Self {
        let mut random = [0; 8];
        // Without randomness the ids can be guessed, and everything else that needs it fails.
        let _ = getrandom::fill(&mut random);
        let prefix = format!("{OURS}{:016x}/", u64::from_be_bytes(random));
        Self { numbers: Arc::default(), prefix: prefix.into() }
    }

    /// An id that was not given out before.
    pub(super) fn next(&self) -> Id {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        Id::of_text(&format!("{}{number}", self.prefix))
    }

    /// Whether an id is one of ours. Those of another bridge, before or behind us, are not.
    pub(super) fn has_made(&self, id: &Id) -> bool {
        id.as_json().strip_prefix('"').is_some_and(|text| text.starts_with(&*self.prefix))
    }
}
