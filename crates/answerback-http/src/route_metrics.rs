use std::fmt;
use std::sync::{OnceLock, PoisonError, RwLock};
use std::time::Duration;

use metrics::{Counter, Histogram, counter, histogram};

/// Counts and times the requests to one route. The metric handles are created once, so a request only adds to them.
pub(crate) struct RouteMetrics {
    /// The route's pattern. Paths contain ids, and the number of series must not grow with them.
    route: String,
    /// Counters by method and status. Both have few values, because unknown methods share one name.
    requests: RwLock<Vec<(&'static str, u16, Counter)>>,
    seconds: OnceLock<Histogram>,
}

impl RouteMetrics {
    /// Creates the metrics of the route with this pattern.
    pub(crate) fn new(route: &str) -> Self {
        Self { route: route.to_owned(), requests: RwLock::default(), seconds: OnceLock::new() }
    }

    /// Creates the metrics of requests that match no route.
    pub(crate) fn unmatched() -> Self {
        Self::new("none")
    }

    pub(crate) fn route(&self) -> &str {
        &self.route
    }

    /// Counts a response and records how long it took.
    pub(crate) fn record_response(&self, method: &'static str, status: u16, elapsed: Duration) {
        let is_same = |(counted_method, counted_status, _): &&(&str, u16, Counter)| {
            *counted_method == method && *counted_status == status
        };
        let counters = self.requests.read().unwrap_or_else(PoisonError::into_inner);
        match counters.iter().find(is_same) {
            Some((_, _, counter)) => counter.increment(1),
            None => {
                drop(counters);
                let counter = self.counter(method, status);
                counter.increment(1);
                let mut counters = self.requests.write().unwrap_or_else(PoisonError::into_inner);
                // Another request may have added the same counter in between.
                if !counters.iter().any(|counter| is_same(&counter)) {
                    counters.push((method, status, counter));
                }
            }
        }
        let register =
            || histogram!("answerback_http_request_seconds", "route" => self.route.clone());
        self.seconds.get_or_init(register).record(elapsed.as_secs_f64());
    }

    fn counter(&self, method: &'static str, status: u16) -> Counter {
        counter!(
            "answerback_http_requests_total",
            "method" => method, "route" => self.route.clone(), "status" => status.to_string()
        )
    }
}

impl fmt::Debug for RouteMetrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RouteMetrics").field(&self.route).finish()
    }
}
