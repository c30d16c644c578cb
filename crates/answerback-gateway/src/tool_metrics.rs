//! Counts calls and results by tool. Metric handles are created once, so a call only increments them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use answerback::finding::display_text;
use metrics::{Counter, Histogram, counter, histogram};

use crate::Toolbox;

/// The number of values of [`CallDisposition`].
const DISPOSITIONS: usize = 3;
/// The outcomes of a forwarded call, as the ledger records them. Any other outcome counts as the last one.
const RESULTS: [&str; 10] = [
    "ok",
    "warned",
    "tool_error",
    "interim",
    "protocol_error",
    "unreadable",
    "no_result",
    "not_sent",
    "unseen",
    "other",
];
/// The label for tools outside the catalog, because a model may invent any name.
const UNKNOWN: &str = "(unknown)";
/// The longest label for a tool, in characters.
const LONGEST_NAME: usize = 128;

/// The outcome of a result that is not inspected.
pub(crate) const UNSEEN: &str = "unseen";

/// The gateway's first decision on a received call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallDisposition {
    /// The call was forwarded to its server.
    Forwarded,
    /// The gateway answered the call itself.
    Answered,
    /// The gateway asked a person about the call.
    Asked,
}

impl CallDisposition {
    const fn label(self) -> &'static str {
        match self {
            Self::Forwarded => "forwarded",
            Self::Answered => "answered",
            Self::Asked => "asked",
        }
    }
}

/// The counters of a server's tools.
#[derive(Debug)]
pub(crate) struct ToolMetrics {
    tools: BTreeMap<String, Arc<ToolCounters>>,
    unknown: Arc<ToolCounters>,
}

impl ToolMetrics {
    pub(crate) fn new(upstream: &str, tools: &Toolbox) -> Self {
        let upstream: Arc<str> = upstream.into();
        let counters = |tool: &str| Arc::new(ToolCounters::new(&upstream, tool));
        Self {
            tools: tools
                .inputs()
                .names()
                .map(|tool| (tool.to_owned(), counters(&display_text(tool, LONGEST_NAME))))
                .collect(),
            unknown: counters(UNKNOWN),
        }
    }

    /// The counters of a tool, or those of all unknown tools.
    pub(crate) fn tool(&self, name: &str) -> Arc<ToolCounters> {
        Arc::clone(self.tools.get(name).unwrap_or(&self.unknown))
    }
}

/// The counters of one tool. Each series is created on first use, because most tools have few outcomes.
#[derive(Debug)]
pub(crate) struct ToolCounters {
    upstream: Arc<str>,
    tool: Arc<str>,
    calls: [OnceLock<MetricHandle<Counter>>; DISPOSITIONS],
    results: [OnceLock<MetricHandle<Counter>>; RESULTS.len()],
    seconds: OnceLock<MetricHandle<Histogram>>,
}

impl ToolCounters {
    fn new(upstream: &Arc<str>, tool: &str) -> Self {
        Self {
            upstream: Arc::clone(upstream),
            tool: tool.into(),
            calls: Default::default(),
            results: Default::default(),
            seconds: OnceLock::new(),
        }
    }

    /// Counts a received call.
    pub(crate) fn count_call(&self, disposition: CallDisposition) {
        let label = disposition.label();
        let register = || MetricHandle(self.counter("answerback_gateway_calls_total", label));
        self.calls[disposition as usize].get_or_init(register).0.increment(1);
    }

    /// Counts the result of a forwarded call, and records the time since the call was received.
    pub(crate) fn result(&self, outcome: &str, elapsed: Duration) {
        let place = RESULTS.iter().position(|label| *label == outcome).unwrap_or(RESULTS.len() - 1);
        let label = RESULTS[place];
        let register = || MetricHandle(self.counter("answerback_gateway_results_total", label));
        self.results[place].get_or_init(register).0.increment(1);
        let register = || {
            let (upstream, tool) = (Arc::clone(&self.upstream), Arc::clone(&self.tool));
            MetricHandle(
                histogram!("answerback_gateway_call_seconds", "upstream" => upstream, "tool" => tool),
            )
        };
        self.seconds.get_or_init(register).0.record(elapsed.as_secs_f64());
    }

    fn counter(&self, name: &'static str, outcome: &'static str) -> Counter {
        let (upstream, tool) = (Arc::clone(&self.upstream), Arc::clone(&self.tool));
        counter!(name, "upstream" => upstream, "tool" => tool, "outcome" => outcome)
    }
}

/// Wraps a metric handle, which has no `Debug` implementation.
struct MetricHandle<T>(T);

impl<T> std::fmt::Debug for MetricHandle<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("MetricHandle")
    }
}
