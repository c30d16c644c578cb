use std::sync::{Arc, Mutex, PoisonError};

/// Identifies an era of the protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the protocol has two eras")]
pub enum Era {
    /// The revisions 2024-11-05 to 2025-11-25, with `initialize`, sessions, and requests from the server to the
    /// client.
    Legacy,
    /// The revisions from 2026-07-28 on, in which every request is independent.
    Modern,
}

/// Stores which eras a server speaks. All links to the server share it. A server may speak both eras.
#[derive(Clone, Debug, Default)]
pub struct EraCache(Arc<Mutex<EraSupport>>);

#[derive(Debug, Default)]
struct EraSupport {
    legacy: Option<bool>,
    modern: Option<bool>,
}

impl EraCache {
    /// Returns true if the server speaks this era, or `None` if that is not known.
    pub fn speaks(&self, era: Era) -> Option<bool> {
        let support = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match era {
            Era::Legacy => support.legacy,
            Era::Modern => support.modern,
        }
    }

    /// Stores if the server speaks an era, or clears that with `None`.
    pub(super) fn learn(&self, era: Era, speaks: impl Into<Option<bool>>) {
        let mut support = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match era {
            Era::Legacy => support.legacy = speaks.into(),
            Era::Modern => support.modern = speaks.into(),
        }
    }
}
