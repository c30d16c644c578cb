//! Updates the metrics that are read on demand instead of counted: those of the store, the servers and open
//! cases.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use answerback_store::{CaseFilter, CaseStatus, Store, StoreStats};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge};

use super::GatewayService;
use super::service_config::ServiceConfig;

/// The largest number of cases that are counted.
const MAX_CASES: usize = 1000;

/// The restarts of servers in earlier configurations.
#[derive(Debug, Default)]
pub(super) struct PastRestarts(Mutex<BTreeMap<String, u64>>);

impl PastRestarts {
    /// Adds the restarts of a configuration's servers before another configuration replaces it.
    pub(super) fn add(&self, config: &ServiceConfig) {
        let mut past = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for backend in config.all() {
            let restarts = u64::from(backend.health().restarts());
            *past.entry(backend.name().to_owned()).or_default() += restarts;
        }
    }

    fn of(&self, server: &str) -> u64 {
        let past = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        past.get(server).copied().unwrap_or_default()
    }
}

impl GatewayService {
    /// Updates the metrics that are read on demand. It reads the store, so it may block.
    pub fn update_metrics(&self) {
        describe();
        let config = self.config();
        for backend in config.all() {
            let name = backend.name().to_owned();
            let is_up = f64::from(u8::from(backend.is_up()));
            gauge!("answerback_gateway_upstream_up", "upstream" => name.clone()).set(is_up);
            let restarts = self.past_restarts.of(&name) + u64::from(backend.health().restarts());
            counter!("answerback_gateway_upstream_restarts_total", "upstream" => name)
                .absolute(restarts);
        }
        if let Some(recorder) = config.gateway.recorder() {
            update_store_metrics(&recorder.store().stats());
            update_case_metrics(recorder.store());
        }
    }
}

fn update_case_metrics(store: &Store) {
    let waiting = CaseFilter::default().with_status(CaseStatus::Waiting);
    // Other metrics report a store that cannot be read. This one keeps its last value.
    if let Ok(page) = store.cases(&waiting, None, MAX_CASES) {
        gauge!("answerback_gateway_open_cases").set(gauge_value(page.cases.len() as u64));
    }
}

fn update_store_metrics(stats: &StoreStats) {
    let is_good = stats.health.check().is_ok();
    gauge!("answerback_store_healthy").set(f64::from(u8::from(is_good)));
    gauge!("answerback_store_warnings").set(gauge_value(stats.warnings.len() as u64));
    gauge!("answerback_store_witnesses_failing")
        .set(gauge_value(stats.witness_trouble.len() as u64));
    gauge!("answerback_store_waiting").set(gauge_value(stats.waiting));
    gauge!("answerback_store_text_position").set(gauge_value(stats.text_position));
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
fn gauge_value(count: u64) -> f64 {
    count as f64
}

fn describe() {
    for (name, help) in [
        (
            "answerback_gateway_calls_total",
            "Received calls: forwarded, answered without running, or submitted to a person",
        ),
        ("answerback_gateway_results_total", "Results of forwarded calls"),
        (
            "answerback_gateway_upstream_restarts_total",
            "Restarts of a server, or reconnections to it",
        ),
        ("answerback_store_entries_total", "Entries that this process appended"),
        ("answerback_store_units_total", "Units of work that were committed"),
        ("answerback_store_units_failed_total", "Units of work that failed"),
        ("answerback_store_batches_total", "Transactions"),
        ("answerback_store_queue_full_total", "Units that found no room in the queue"),
        (
            "answerback_store_lock_timeouts_total",
            "Transactions that waited too long for the lock of another process",
        ),
        ("answerback_store_poisonings_total", "Failures after which the store was reopened"),
        ("answerback_store_anchor_failures_total", "Checkpoints that an anchor did not accept"),
        ("answerback_store_witness_failures_total", "Checkpoints that a witness did not sign"),
        ("answerback_store_clock_steps_total", "How often the clock stepped back"),
        (
            "answerback_store_withheld_total",
            "Calls and responses that were withheld because they could not be recorded",
        ),
        (
            "answerback_store_unrecorded_total",
            "Calls and responses that were forwarded although they could not be recorded",
        ),
    ] {
        describe_counter!(name, help);
    }
    for (name, help) in [
        ("answerback_gateway_upstream_up", "1 if the server is up, 0 if it is down"),
        ("answerback_gateway_open_cases", "Cases that wait for a person, at most 1000"),
        ("answerback_store_healthy", "1 if the last write to the store succeeded, 0 if it failed"),
        (
            "answerback_store_warnings",
            "Warnings about the durability of the store; the log describes them",
        ),
        ("answerback_store_witnesses_failing", "Witnesses that did not sign the last checkpoint"),
        ("answerback_store_waiting", "Units of work in the queue"),
        ("answerback_store_text_position", "The next entry for the index of full text"),
    ] {
        describe_gauge!(name, help);
    }
    describe_histogram!(
        "answerback_gateway_call_seconds",
        "Time from the arrival of a call until its response was ready"
    );
}
