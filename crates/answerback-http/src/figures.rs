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
    pub(crate) fn of(route: &str) -> Self {
        Self { route: route.to_owned(), requests: RwLock::default(), seconds: OnceLock::new() }
    }

    /// Creates the metrics of requests that match no route.
    pub(crate) fn of_none() -> Self {
        Self::of("none")
    }

    pub(crate) fn route(&self) -> &str {
        &self.route
    }

    /// Counts a response and records how long it took.
    pub(crate) fn answered(&self, method: &'static str, status: u16, elapsed: Duration) {
        let is_it = |(known, with, _): &&(&str, u16, Counter)| *known == method && *with == status;
        let known = self.requests.read().unwrap_or_else(PoisonError::into_inner);
        match known.iter().find(is_it) {
            Some((_, _, counter)) => counter.increment(1),
            None => {
                drop(known);
                let counter = self.counter(method, status);
                counter.increment(1);
                let mut known = self.requests.write().unwrap_or_else(PoisonError::into_inner);
                // Another request may have added the same counter in between.
                if !known.iter().any(|it| is_it(&it)) {
                    known.push((method, status, counter));
                }
            }
        }
        let begin = || histogram!("answerback_http_request_seconds", "route" => self.route.clone());
        self.seconds.get_or_init(begin).record(elapsed.as_secs_f64());
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
        formatter.debug_tuple("RouteFigures").field(&self.route).finish()
    }
}
