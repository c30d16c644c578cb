use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::wire::Id;

/// What our ids begin with. The gateway's own begin in another way, since it may sit on a bridged link.
const OURS: &str = "answerback-era/";

/// The ids of requests that a bridge makes itself. Clones never give the same one: an answer may come after what asked
/// for it is gone.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnIds(Arc<AtomicU64>);

impl OwnIds {
    /// An id that was not given out before.
    pub(super) fn next(&self) -> Id {
        let number = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        Id::of_text(&format!("{OURS}{number}"))
    }

    /// Whether an id is one of ours.
    pub(super) fn has_made(id: &Id) -> bool {
        id.as_json().strip_prefix('"').is_some_and(|text| text.starts_with(OURS))
    }
}
