use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::MutexGuard;

use crate::Upstream;

/// Holds the server's tools as one relay knows them. They are unknown until they are listed, and after a change.
#[derive(Debug, Default)]
pub(super) struct ToolListing {
    upstream: RwLock<Option<Arc<Upstream>>>,
    /// The version that the server reports.
    version: RwLock<Option<String>>,
    refresh: tokio::sync::Mutex<()>,
    /// Counts how often the server reported changed tools.
    changes: AtomicU64,
}

impl ToolListing {
    /// Returns the server with its tools, if they are known.
    pub(super) fn upstream(&self) -> Option<Arc<Upstream>> {
        self.upstream.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the version that the server reported, if it reported one.
    pub(super) fn version(&self) -> Option<String> {
        self.version.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_version(&self, version: Option<String>) {
        *self.version.write().unwrap_or_else(PoisonError::into_inner) = version;
    }

    /// Returns how often the server reported changed tools.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Discards the tools, because the server reported a change.
    pub(super) fn invalidate(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        *self.upstream.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Stores the server with its tools, unless the tools have changed since this count.
    pub(super) fn store_unless_changed(&self, upstream: &Arc<Upstream>, changes: u64) {
        if self.changes() == changes {
            *self.upstream.write().unwrap_or_else(PoisonError::into_inner) =
                Some(Arc::clone(upstream));
        }
    }

    /// Waits until no other call requests the tools.
    pub(super) async fn lock_refresh(&self) -> MutexGuard<'_, ()> {
        self.refresh.lock().await
    }
}
