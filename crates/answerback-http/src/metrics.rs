//! Records metrics and renders them for Prometheus.
//!
//! This is our own recorder. The usual exporter adds a second hash table, a second random number generator and quantile
//! sketches. We need only three kinds of atomic numbers and a page of text.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use ::metrics::{
    Counter, CounterFn, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use axum::http::header;
use axum::routing::get;

use crate::{Routes, Scope};

/// The largest number of stored series. The code that sets labels keeps their values few; this limit holds when it
/// fails to.
const MAX_SERIES: usize = 20_000;
/// The upper bounds of the histogram buckets, in seconds.
const BUCKETS: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Holds the metrics of this process.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<MetricRegistry>);

impl Metrics {
    /// Installs the recorder of the process. A second call returns the recorder of the first one.
    ///
    /// # Errors
    ///
    /// If another recorder was installed.
    pub fn install() -> Result<Self, MetricsError> {
        static INSTALLED: OnceLock<Result<Metrics, MetricsError>> = OnceLock::new();
        let install = || {
            let metrics = Self::new();
            let installed = ::metrics::set_global_recorder(metrics.clone());
            installed.map(|()| metrics).map_err(|_| MetricsError)
        };
        INSTALLED.get_or_init(install).clone()
    }

    fn new() -> Self {
        Self(Arc::new(MetricRegistry::default()))
    }

    /// Renders all metrics in the Prometheus text format.
    pub fn render(&self) -> String {
        let families = self.0.families.read().unwrap_or_else(PoisonError::into_inner);
        let mut page = String::new();
        for (name, family) in families.iter() {
            // Writing to a string cannot fail.
            let _ = family.render(name, &mut page);
        }
        page
    }

    /// The route `GET /metrics`, which needs the scope `read`.
    pub fn routes(&self) -> Routes {
        self.routes_with_update(|| ())
    }

    /// The same route as [`Self::routes`], but calls `update` before each page. `update` sets metrics that
    /// are read on demand instead of counted as they happen. It may block.
    pub fn routes_with_update(&self, update: impl Fn() + Send + Sync + 'static) -> Routes {
        let (metrics, update) = (self.clone(), Arc::new(update));
        let page = move || async move {
            // If `update` panics, the metrics keep their earlier values.
            let _ = tokio::task::spawn_blocking(move || update()).await;
            ([(header::CONTENT_TYPE, CONTENT_TYPE)], metrics.render())
        };
        Routes::new().route("/metrics", Scope::Read, get(page))
    }

    fn describe(&self, name: &KeyName, kind: MetricKind, help: SharedString) {
        let mut families = self.0.families.write().unwrap_or_else(PoisonError::into_inner);
        let family =
            families.entry(metric_name(name.as_str())).or_insert_with(|| MetricFamily::new(kind));
        family.help = help.into_owned();
    }

    /// Finds or creates the series of this key. The result is `None` if there are too many series, or if the name
    /// belongs to another kind.
    fn series(&self, key: &Key, kind: MetricKind) -> Option<Arc<MetricSeries>> {
        let cached = self.0.by_key.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((cached_kind, series)) = cached.get(key) {
            return (*cached_kind == kind).then(|| Arc::clone(series));
        }
        drop(cached);
        let series = self.get_or_create(key, kind)?;
        let mut cached = self.0.by_key.write().unwrap_or_else(PoisonError::into_inner);
        // The same labels in another order are a different key of the same series.
        if cached.len() < MAX_SERIES {
            cached.insert(key.clone(), (kind, Arc::clone(&series)));
        }
        Some(series)
    }

    /// Finds or creates the series with this name and these labels.
    fn get_or_create(&self, key: &Key, kind: MetricKind) -> Option<Arc<MetricSeries>> {
        let name = metric_name(key.name());
        let labels = MetricLabels::new(key);
        let mut families = self.0.families.write().unwrap_or_else(PoisonError::into_inner);
        let count: usize = families.values().map(|family| family.series.len()).sum();
        let family = families.entry(name).or_insert_with(|| MetricFamily::new(kind));
        if family.kind != kind || (count >= MAX_SERIES && !family.series.contains_key(&labels)) {
            return None;
        }
        Some(family.series.entry(labels).or_default().clone())
    }
}

#[derive(Debug, Default)]
struct MetricRegistry {
    families: RwLock<BTreeMap<String, MetricFamily>>,
    /// Series by the key of the caller. A request updates several series, and formatting labels costs more than
    /// counting.
    by_key: RwLock<HashMap<Key, (MetricKind, Arc<MetricSeries>)>>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// All series of one name.
#[derive(Debug)]
struct MetricFamily {
    kind: MetricKind,
    help: String,
    series: BTreeMap<MetricLabels, Arc<MetricSeries>>,
}

impl MetricFamily {
    fn new(kind: MetricKind) -> Self {
        Self { kind, help: String::new(), series: BTreeMap::new() }
    }

    fn render(&self, name: &str, page: &mut String) -> fmt::Result {
        if self.series.is_empty() {
            return Ok(());
        }
        if !self.help.is_empty() {
            writeln!(
                page,
                "# HELP {name} {}",
                self.help.replace('\\', "\\\\").replace('\n', "\\n")
            )?;
        }
        let kind = match self.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        writeln!(page, "# TYPE {name} {kind}")?;
        for (labels, series) in &self.series {
            match self.kind {
                MetricKind::Counter => {
                    writeln!(
                        page,
                        "{name}{} {}",
                        labels.render(None),
                        series.count.load(Ordering::Relaxed)
                    )?;
                }
                MetricKind::Gauge => {
                    writeln!(page, "{name}{} {}", labels.render(None), series.value())?;
                }
                MetricKind::Histogram => series.render_histogram(name, labels, page)?,
            }
        }
        Ok(())
    }
}

/// The formatted labels of a series, sorted by name.
#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
struct MetricLabels(String);

impl MetricLabels {
    fn new(key: &Key) -> Self {
        let mut labels: Vec<(String, String)> =
            key.labels().map(|label| (metric_name(label.key()), escaped(label.value()))).collect();
        labels.sort();
        let written: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        Self(written.join(","))
    }

    /// Formats the labels in braces, with the label `le` if a bucket's bound is given.
    fn render(&self, bound: Option<&str>) -> String {
        match (self.0.as_str(), bound) {
            ("", None) => String::new(),
            (labels, None) => format!("{{{labels}}}"),
            ("", Some(bound)) => format!("{{le=\"{bound}\"}}"),
            (labels, Some(bound)) => format!("{{{labels},le=\"{bound}\"}}"),
        }
    }
}

/// The numbers of one series: a count, a value and histogram buckets. Each kind uses those that it needs.
#[derive(Debug, Default)]
struct MetricSeries {
    count: AtomicU64,
    /// The bits of an `f64`: the value of a gauge, or the sum of a histogram.
    value: AtomicU64,
    buckets: [AtomicU64; BUCKETS.len()],
}

impl MetricSeries {
    fn value(&self) -> f64 {
        f64::from_bits(self.value.load(Ordering::Relaxed))
    }

    fn render_histogram(
        &self,
        name: &str,
        labels: &MetricLabels,
        page: &mut String,
    ) -> fmt::Result {
        let mut below = 0;
        for (bound, bucket) in BUCKETS.iter().zip(&self.buckets) {
            below += bucket.load(Ordering::Relaxed);
            writeln!(page, "{name}_bucket{} {below}", labels.render(Some(&bound.to_string())))?;
        }
        // The count is read last and raised to the sum of the buckets, because `record` adds to a bucket first.
        let count = self.count.load(Ordering::Relaxed).max(below);
        writeln!(page, "{name}_bucket{} {count}", labels.render(Some("+Inf")))?;
        writeln!(page, "{name}_sum{} {}", labels.render(None), self.value())?;
        writeln!(page, "{name}_count{} {count}", labels.render(None))
    }
}

impl CounterFn for MetricSeries {
    fn increment(&self, value: u64) {
        self.count.fetch_add(value, Ordering::Relaxed);
    }

    fn absolute(&self, value: u64) {
        self.count.fetch_max(value, Ordering::Relaxed);
    }
}

impl ::metrics::GaugeFn for MetricSeries {
    fn increment(&self, value: f64) {
        let add = |bits| Some((f64::from_bits(bits) + value).to_bits());
        // The update cannot fail, because `add` always returns a value.
        let _ = self.value.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    fn decrement(&self, value: f64) {
        ::metrics::GaugeFn::increment(self, -value);
    }

    fn set(&self, value: f64) {
        self.value.store(value.to_bits(), Ordering::Relaxed);
    }
}

impl HistogramFn for MetricSeries {
    fn record(&self, value: f64) {
        let bucket = BUCKETS.iter().position(|bound| value <= *bound);
        if let Some(bucket) = bucket.and_then(|position| self.buckets.get(position)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        ::metrics::GaugeFn::increment(self, value);
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

impl Recorder for Metrics {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, MetricKind::Counter, help);
    }

    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, MetricKind::Gauge, help);
    }

    fn describe_histogram(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, MetricKind::Histogram, help);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        self.series(key, MetricKind::Counter).map_or_else(Counter::noop, Counter::from_arc)
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        self.series(key, MetricKind::Gauge).map_or_else(Gauge::noop, Gauge::from_arc)
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.series(key, MetricKind::Histogram).map_or_else(Histogram::noop, Histogram::from_arc)
    }
}

/// Converts a name to the characters that Prometheus accepts: letters, digits and underscores. Every other character
/// becomes an underscore.
fn metric_name(name: &str) -> String {
    let mut written: String = name
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() { character } else { '_' })
        .collect();
    if written.starts_with(|first: char| first.is_ascii_digit()) {
        written.insert(0, '_');
    }
    written
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The error of [`Metrics::install`] if the process already has another recorder.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the process already has another metrics recorder")]
pub struct MetricsError;

#[cfg(test)]
mod tests {
    use ::metrics::{counter, describe_counter, gauge, histogram, with_local_recorder};

    use super::*;

    #[test]
    fn the_page_is_in_the_prometheus_text_format() {
        let metrics = Metrics::new();
        with_local_recorder(&metrics, || {
            describe_counter!("answerback_calls_total", "calls \\ checked\nso far");
            counter!("answerback_calls_total", "tool" => "a\"b\\c\nd").increment(2);
            counter!("answerback_calls_total", "tool" => "add").increment(1);
            counter!("answerback_calls_total", "tool" => "add").increment(1);
            gauge!("open-streams").set(3);
            gauge!("open-streams").decrement(0.5);
            // A name keeps the kind of its first use.
            gauge!("answerback_calls_total").set(9);
            for seconds in [0.001, 0.2, 99.0] {
                histogram!("answerback_http_request_seconds", "route" => "/x").record(seconds);
            }
        });
        insta::assert_snapshot!(metrics.render(), @r#"
        # HELP answerback_calls_total calls \\ checked\nso far
        # TYPE answerback_calls_total counter
        answerback_calls_total{tool="a\"b\\c\nd"} 2
        answerback_calls_total{tool="add"} 2
        # TYPE answerback_http_request_seconds histogram
        answerback_http_request_seconds_bucket{route="/x",le="0.001"} 1
        answerback_http_request_seconds_bucket{route="/x",le="0.0025"} 1
        answerback_http_request_seconds_bucket{route="/x",le="0.005"} 1
        answerback_http_request_seconds_bucket{route="/x",le="0.01"} 1
        answerback_http_request_seconds_bucket{route="/x",le="0.025"} 1
        answerback_http_request_seconds_bucket{route="/x",le="0.05"} 1
        answerback_http_request_seconds_bucket{route="/x",le="0.1"} 1
        answerback_http_request_seconds_bucket{route="/x",le="0.25"} 2
        answerback_http_request_seconds_bucket{route="/x",le="0.5"} 2
        answerback_http_request_seconds_bucket{route="/x",le="1"} 2
        answerback_http_request_seconds_bucket{route="/x",le="2.5"} 2
        answerback_http_request_seconds_bucket{route="/x",le="10"} 2
        answerback_http_request_seconds_bucket{route="/x",le="+Inf"} 3
        answerback_http_request_seconds_sum{route="/x"} 99.201
        answerback_http_request_seconds_count{route="/x"} 3
        # TYPE open_streams gauge
        open_streams 2.5
        "#);
    }

    #[test]
    fn series_are_bounded() {
        let metrics = Metrics::new();
        with_local_recorder(&metrics, || {
            for number in 0..MAX_SERIES + 5 {
                counter!("many", "number" => number.to_string()).increment(1);
            }
            counter!("many", "number" => "0").increment(1);
        });
        let page = metrics.render();
        assert_eq!(page.lines().count(), MAX_SERIES + 1);
        assert!(page.contains("many{number=\"0\"} 2\n"));
    }
}
