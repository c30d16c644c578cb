use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::wire::Id;

/// The prefix of the bridge's ids. The gateway uses another prefix, because it may use a bridged link.
const OURS: &str = "answerback-era/";

/// Generates the ids of the bridge's own requests. Clones never generate the same id, because a response may
/// arrive after its requester is gone.
#[derive(Clone, Debug)]
pub(super) struct GeneratedIds {
    numbers: Arc<AtomicU64>,
    prefix: Arc<str>,
}

impl Default for GeneratedIds {
    /// Generates predictable ids, for tests.
    fn default() -> Self {
        Self { numbers: Arc::default(), prefix: OURS.into() }
    }
}

impl GeneratedIds {
    /// Generates random ids. With a predictable id, one side could forge a response or use an id of the bridge.
    pub(super) fn random() -> Self {
        let mut random = [0; 8];
        // Without randomness the ids are predictable. Everything else that needs randomness then fails.
        let _ = getrandom::fill(&mut random);
        let prefix = format!("{OURS}{:016x}/", u64::from_be_bytes(random));
        Self { numbers: Arc::default(), prefix: prefix.into() }
    }

    /// Returns an id that was not used before.
    pub(super) fn next(&self) -> Id {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        Id::of_text(&format!("{}{number}", self.prefix))
    }

    /// Returns true if this instance or a clone generated the id. Other bridges on the same path have another
    /// prefix.
    pub(super) fn generated(&self, id: &Id) -> bool {
        id.as_json().strip_prefix('"').is_some_and(|text| text.starts_with(&*self.prefix))
    }
}
