//! Reports the health of a supervised server.

use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use super::link_error_reason;
use crate::wire::Message;

/// Reports the health of a server over all links to it, for operators.
#[derive(Debug, Default)]
pub struct UpstreamHealth {
    /// Counts the links that wait for the server to come back.
    links_in_outage: AtomicU32,
    /// True if the last response was an error of the link instead of a response of the server.
    is_unreachable: AtomicBool,
    has_answered: AtomicBool,
    starts: AtomicU32,
    restarts: AtomicU32,
    last_exit_status: Mutex<Option<ExitStatus>>,
    must_end_quickly: watch::Sender<bool>,
}

impl UpstreamHealth {
    /// Makes the server end at once, because our own process is about to end. The server has very little time to
    /// exit by itself.
    pub fn end_quickly(&self) {
        self.must_end_quickly.send_replace(true);
    }

    /// Waits until [`end_quickly`](Self::end_quickly) was called.
    pub(super) async fn end_quickly_requested(&self) {
        // `self` owns the sender, so it cannot be dropped while we wait.
        let _ = self.must_end_quickly.subscribe().wait_for(|is_requested| *is_requested).await;
    }

    /// Returns true unless a link waits for the server or the last response was an error of the link. A server
    /// that was never used counts as up.
    pub fn is_up(&self) -> bool {
        self.links_in_outage.load(Ordering::Acquire) == 0
            && !self.is_unreachable.load(Ordering::Acquire)
    }

    /// Updates the health from a response.
    pub(super) fn record_response(&self, response: &Message) {
        let is_link_error = link_error_reason(response).is_some();
        self.is_unreachable.store(is_link_error, Ordering::Release);
        self.has_answered.fetch_or(!is_link_error, Ordering::AcqRel);
    }

    /// Returns true if the server has ever answered a request.
    pub fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Acquire)
    }

    /// Counts how often the server was started or reached.
    pub fn starts(&self) -> u32 {
        self.starts.load(Ordering::Acquire)
    }

    /// Counts the starts that were not the first of their link.
    pub fn restarts(&self) -> u32 {
        self.restarts.load(Ordering::Acquire)
    }

    /// Returns the last exit status, if the server is a child process that ended.
    pub fn last_exit_status(&self) -> Option<ExitStatus> {
        *self.last_exit_status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a start of the server, and a restart unless it is the first start of its link.
    pub(super) fn record_start(&self, is_first: bool) {
        self.starts.fetch_add(1, Ordering::AcqRel);
        self.restarts.fetch_add(u32::from(!is_first), Ordering::AcqRel);
    }

    /// Stores the exit status of a child process.
    pub(super) fn record_exit(&self, status: ExitStatus) {
        *self.last_exit_status.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
    }
}

/// Counts a link as waiting for its server while it exists.
pub(super) struct OutageGuard<'a>(&'a UpstreamHealth);

impl<'a> OutageGuard<'a> {
    pub(super) fn begin(health: &'a UpstreamHealth) -> Self {
        health.links_in_outage.fetch_add(1, Ordering::AcqRel);
        Self(health)
    }
}

impl Drop for OutageGuard<'_> {
    fn drop(&mut self) {
        self.0.links_in_outage.fetch_sub(1, Ordering::AcqRel);
    }
}
