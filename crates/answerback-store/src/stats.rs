use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use answerback_ledger::LeafKind;

/// The health of the store, as of the last attempt to write.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a caller must handle each state")]
pub enum StoreHealth {
    /// Writing works.
    #[default]
    Good,
    /// Another process held the write lock for too long.
    Locked,
    /// Writing failed. The store is reopened and checked before it acknowledges anything.
    Poisoned {
        /// The reason of the failure.
        reason: String,
    },
}

impl StoreHealth {
    /// Checks whether the store can be written.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be written. The error is the reason.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Good => Ok(()),
            Self::Locked => Err("another process keeps the store locked".to_owned()),
            Self::Poisoned { reason } => Err(reason.clone()),
        }
    }
}

/// Holds the statistics of this process's handle since it was opened.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names are self-explanatory")]
pub struct StoreStats {
    pub health: StoreHealth,
    /// Warnings about the durability of the store, and about anchors that currently fail.
    pub warnings: Vec<String>,
    pub entries: u64,
    pub units: u64,
    pub units_failed: u64,
    pub batches: u64,
    pub queue_full: u64,
    pub lock_timeouts: u64,
    pub poisonings: u64,
    pub anchor_failures: u64,
    pub witness_failures: u64,
    /// The errors of the witnesses whose last cosignature failed. Empty if all of them signed.
    pub witness_trouble: Vec<String>,
    pub clock_steps: u64,
    /// The number of replies withheld because they could not be recorded.
    pub withheld: u64,
    /// The number of replies sent although they could not be recorded.
    pub unrecorded: u64,
    /// The number of units in the queue.
    pub waiting: u64,
    /// The index of the next entry that the full-text index will read.
    pub text_position: u64,
}

/// Counts the content of a log.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct LogTotals {
    /// The number of stored entries of each kind.
    pub kinds: BTreeMap<LeafKind, u64>,
    /// The total size of their leaves in bytes.
    pub leaf_bytes: u64,
    /// The number of stored parts.
    pub parts: u64,
    /// The total size of these parts in bytes.
    pub part_bytes: u64,
    /// The number of stored checkpoints.
    pub checkpoints: u64,
}

macro_rules! counters {
    ($($name:ident),*) => {
        #[derive(Debug, Default)]
        pub(crate) struct StoreCounters {
            $(pub(crate) $name: AtomicU64,)*
            health: Mutex<StoreHealth>,
            warnings: Mutex<Vec<String>>,
            witness_trouble: Mutex<Vec<String>>,
            anchors_failing: Mutex<Vec<String>>,
        }

        impl StoreCounters {
            pub(crate) fn read(&self) -> StoreStats {
                let lines = |kept: &Mutex<Vec<String>>| {
                    kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
                };
                StoreStats {
                    warnings: [lines(&self.warnings), lines(&self.anchors_failing)].concat(),
                    witness_trouble: lines(&self.witness_trouble),
                    health: self.health(),
                    $($name: self.$name.load(Ordering::Relaxed),)*
                }
            }
        }
    };
}

counters!(
    entries,
    units,
    units_failed,
    batches,
    queue_full,
    lock_timeouts,
    poisonings,
    anchor_failures,
    witness_failures,
    clock_steps,
    withheld,
    unrecorded,
    waiting,
    text_position
);

impl StoreCounters {
    pub(crate) fn add(counter: &AtomicU64, number: u64) {
        counter.fetch_add(number, Ordering::Relaxed);
    }

    pub(crate) fn set_warnings(&self, warnings: Vec<String>) {
        let mut kept = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        for warning in warnings.iter().filter(|warning| !kept.contains(warning)) {
            tracing::warn!(%warning, "the store is less durable than it could be");
        }
        *kept = warnings;
    }

    #[cfg(feature = "witness")]
    pub(crate) fn set_witness_trouble(&self, trouble: Vec<String>) {
        let mut kept = self.witness_trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if *kept == trouble {
            return;
        }
        match trouble.join("; ") {
            none if none.is_empty() => tracing::info!("the witnesses sign again"),
            trouble => {
                tracing::warn!(%trouble, "a witness does not sign: the log goes on without it");
            }
        }
        *kept = trouble;
    }

    /// Stores the errors of the anchors, and logs when they change.
    pub(crate) fn set_anchors_failing(&self, reasons: Vec<String>) {
        let mut kept = self.anchors_failing.lock().unwrap_or_else(PoisonError::into_inner);
        if *kept == reasons {
            return;
        }
        match reasons.join("; ") {
            none if none.is_empty() => tracing::info!("the anchors are written again"),
            reasons => tracing::warn!(%reasons, "an anchor fails: the log goes on without it"),
        }
        *kept = reasons;
    }

    pub(crate) fn health(&self) -> StoreHealth {
        self.health.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stores the health, and logs when it changes.
    pub(crate) fn set_health(&self, health: StoreHealth) {
        let mut kept = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        if *kept == health {
            return;
        }
        match health.check() {
            // Log the recovery at a level that an operator who saw the failure also sees.
            Ok(()) => tracing::warn!("the store is written again"),
            Err(reason) => tracing::error!(reason, "the store cannot be written"),
        }
        *kept = health;
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::{Debug, Write};
    use std::sync::Arc;

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

    /// Records log events as lines: the level, then the fields.
    #[derive(Default)]
    struct Lines(Mutex<Vec<String>>);

    impl Subscriber for Lines {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            let mut line = Line(event.metadata().level().to_string());
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    struct Line(String);

    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            write!(self.0, " {field}={value:?}").unwrap();
        }
    }

    #[test]
    fn a_failing_anchor_is_logged_once_at_start_and_end() {
        let lines = Arc::new(Lines::default());
        let counters = StoreCounters::default();
        let failing = |reasons: &[&str]| {
            counters.set_anchors_failing(reasons.iter().map(|&reason| reason.to_owned()).collect());
        };
        tracing::subscriber::with_default(Arc::clone(&lines), || {
            failing(&[]);
            failing(&["no room"]);
            failing(&["no room"]);
            assert_eq!(counters.read().warnings, ["no room"]);
            failing(&["no room", "no answer"]);
            failing(&[]);
            failing(&[]);
        });
        assert_eq!(counters.read().warnings, [""; 0]);
        insta::assert_snapshot!(lines.0.lock().unwrap().join("\n"), @r"
        WARN message=an anchor fails: the log goes on without it reasons=no room
        WARN message=an anchor fails: the log goes on without it reasons=no room; no answer
        INFO message=the anchors are written again
        ");
    }
}
