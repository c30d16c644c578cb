//! Updates the metrics that are read on demand instead of counted: those of the store, the servers and open
//! cases.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use answerback_store::{CaseFilter, CaseStatus, Store, StoreStats};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge};

use super::{Current, Service};

/// The largest number of cases that are counted.
const MOST_CASES: usize = 1000;

/// Counts the restarts of servers in earlier configurations.
#[derive(Debug, Default)]
pub(super) struct Before(Mutex<BTreeMap<String, u64>>);

impl Before {
    /// Adds the restarts of a configuration's servers before another configuration replaces it.
    pub(super) fn keep(&self, current: &Current) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for backend in current.all() {
            let restarts = u64::from(backend.health().restarts());
            *kept.entry(backend.name().to_owned()).or_default() += restarts;
        }
    }

    fn of(&self, server: &str) -> u64 {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(server).copied().unwrap_or_default()
    }
}

impl Service {
    /// Updates the metrics that are read on demand. It reads the store, so it may block.
    pub fn show_figures(&self) {
        describe();
        let current = self.current();
        for backend in current.all() {
            let name = backend.name().to_owned();
            let is_up = f64::from(u8::from(backend.is_up()));
            gauge!("answerback_gateway_upstream_up", "upstream" => name.clone()).set(is_up);
            let restarts = self.before.of(&name) + u64::from(backend.health().restarts());
            counter!("answerback_gateway_upstream_restarts_total", "upstream" => name)
                .absolute(restarts);
        }
        if let Some(recorder) = current.gateway.recorder() {
            show_store(&recorder.store().stats());
            show_cases(recorder.store());
        }
    }
}

fn show_cases(store: &Store) {
    let waiting = CaseFilter::default().with_status(CaseStatus::Waiting);
    // Other metrics report a store that cannot be read. This one keeps its last value.
    if let Ok(page) = store.cases(&waiting, None, MOST_CASES) {
        gauge!("answerback_gateway_open_cases").set(number(page.cases.len() as u64));
    }
}

fn show_store(stats: &StoreStats) {
    let is_good = stats.health.check().is_ok();
    gauge!("answerback_store_healthy").set(f64::from(u8::from(is_good)));
    gauge!("answerback_store_warnings").set(number(stats.warnings.len() as u64));
    gauge!("answerback_store_witnesses_failing").set(number(stats.witness_trouble.len() as u64));
    gauge!("answerback_store_waiting").set(number(stats.waiting));
    gauge!("answerback_store_text_position").set(number(stats.text_position));
    for (name, count) in [
        ("answerback_store_entries_total", stats.entries),
        ("answerback_store_units_total", stats.units),
        ("answerback_store_units_failed_total", stats.units_failed),
        ("answerback_store_batches_total", stats.batches),
        ("answerback_store_queue_full_total", stats.queue_full),
        ("answerback_store_lock_timeouts_total", stats.lock_timeouts),
        ("answerback_store_poisonings_total", stats.poisonings),
        ("answerback_store_anchor_failures_total", stats.anchor_failures),
        ("answerback_store_witness_failures_total", stats.witness_failures),
        ("answerback_store_clock_steps_total", stats.clock_steps),
        ("answerback_store_withheld_total", stats.withheld),
        ("answerback_store_unrecorded_total", stats.unrecorded),
    ] {
        counter!(name).absolute(count);
    }
}

/// Converts a count to the value of a gauge. The conversion is exact for every realistic count.
#[expect(clippy::cast_precision_loss, reason = "no count here reaches 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}

fn describe() {
    for (name, help) in [
        (
            "answerback_gateway_calls_total",
            "Calls that were looked at: forwarded, answered without running, or put before a person",
        ),
        ("answerback_gateway_results_total", "What came of calls that were forwarded"),
        (
            "answerback_gateway_upstream_restarts_total",
            "How often a server that was gone was started or reached again",
        ),
        ("answerback_store_entries_total", "Entries that this process appended"),
        ("answerback_store_units_total", "Units of work that were committed"),
        ("answerback_store_units_failed_total", "Units of work that were not"),
        ("answerback_store_batches_total", "Transactions"),
        ("answerback_store_queue_full_total", "Units that found no room in the queue"),
        (
            "answerback_store_lock_timeouts_total",
            "Transactions that another process kept out for too long",
        ),
        ("answerback_store_poisonings_total", "Failures after which the store was opened anew"),
        ("answerback_store_anchor_failures_total", "Checkpoints that an anchor did not take"),
        ("answerback_store_witness_failures_total", "Checkpoints that a witness did not sign"),
        ("answerback_store_clock_steps_total", "How often the clock stepped back"),
        (
            "answerback_store_withheld_total",
            "Calls and answers that were withheld because they could not be recorded",
        ),
        (
            "answerback_store_unrecorded_total",
            "Calls and answers that were passed on although they could not be recorded",
        ),
    ] {
        describe_counter!(name, help);
    }
    for (name, help) in [
        ("answerback_gateway_upstream_up", "Whether a server is there"),
        ("answerback_gateway_open_cases", "Cases that wait for a person, at most 1000"),
        ("answerback_store_healthy", "Whether the store could be written when it was last tried"),
        (
            "answerback_store_warnings",
            "What an operator should know about how durable the store is; the log says what",
        ),
        ("answerback_store_witnesses_failing", "Witnesses that did not sign last time"),
        ("answerback_store_waiting", "Units of work in the queue"),
        ("answerback_store_text_position", "The next entry for the index of full text"),
    ] {
        describe_gauge!(name, help);
    }
    describe_histogram!(
        "answerback_gateway_call_seconds",
        "From when a call came in until there was something to answer"
    );
}
