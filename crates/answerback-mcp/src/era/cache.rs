use std::sync::{Arc, Mutex, PoisonError};

/// An era of the protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a bridge has two ends")]
pub enum Era {
    /// 2024-11-05 to 2025-11-25: `initialize`, sessions, requests of the server to the client.
    Legacy,
    /// From 2026-07-28 on: every request stands alone.
    Modern,
}

/// What is known of the eras that a server speaks; shared by all links to it. It may speak both.
#[derive(Clone, Debug, Default)]
pub struct EraCache(Arc<Mutex<CachedAnswer>>);

#[derive(Debug, Default)]
struct CachedAnswer {
    legacy: Option<bool>,
    modern: Option<bool>,
}

impl EraCache {
    /// Whether the server speaks this era, where that is known.
    pub fn speaks(&self, era: Era) -> Option<bool> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match era {
            Era::Legacy => known.legacy,
            Era::Modern => known.modern,
        }
    }

    /// Keeps what a server showed, or that it is not known any more.
    pub(super) fn learn(&self, era: Era, speaks: impl Into<Option<bool>>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match era {
            Era::Legacy => known.legacy = speaks.into(),
            Era::Modern => known.modern = speaks.into(),
        }
    }
}
