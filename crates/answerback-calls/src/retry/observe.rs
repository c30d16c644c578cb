use super::{AttemptOutcome, Context, FailureTally, TrackedCall};

/// Tells operators about a checked call: a structured `tracing` event (feature `tracing`), counters
/// (feature `metrics`), and the tally that finds suspect schemas. Never a value of an argument.
///
/// [`super::RetryTracker`] calls this itself. A caller that stores states elsewhere calls it once per call.
///
/// The events carry `tool_name`, `error_count`, `retry_attempt`, `max_retries`, `errors` (a JSON list
/// of `path` and `code`) and `correlation_id`. Errors are logged at WARN, warnings at INFO, notes at
/// DEBUG, escalations at WARN. The counters are `answerback_calls_total{tool}`,
/// `answerback_validation_failures_total{tool,path,code}`, `answerback_retry_attempts_total{tool}`,
/// `answerback_escalations_total{tool}` and `answerback_schema_suspects_total{tool,path,code}`; their
/// labels are bounded, since names come from models.
pub fn observe(
    call: &TrackedCall<'_>,
    outcome: &AttemptOutcome,
    context: &Context<'_>,
    tally: &mut FailureTally,
) {
    let labels = tally.count(call, context.redactor);
    #[cfg(feature = "metrics")]
    count(labels, outcome);
    #[cfg(not(feature = "metrics"))]
    drop(labels);
    #[cfg(feature = "tracing")]
    log(call, outcome, context);
    #[cfg(not(any(feature = "tracing", feature = "metrics")))]
    let _ = outcome;
}

#[cfg(feature = "metrics")]
fn count(labels: super::tally::CallLabels, outcome: &AttemptOutcome) {
    let tool = labels.label;
    metrics::counter!("answerback_calls_total", "tool" => tool.clone()).increment(1);
    for (code, path) in labels.places {
        let labels = [("tool", tool.clone()), ("path", path), ("code", code)];
        metrics::counter!("answerback_validation_failures_total", &labels).increment(1);
    }
    for (code, path) in labels.suspects {
        let labels = [("tool", tool.clone()), ("path", path), ("code", code)];
        metrics::counter!("answerback_schema_suspects_total", &labels).increment(1);
    }
    let is_attempt = match outcome {
        AttemptOutcome::Retry(retry) => retry.is_new,
        AttemptOutcome::Blocked(blocked) => blocked.is_new,
        _ => false,
    };
    if is_attempt {
        metrics::counter!("answerback_retry_attempts_total", "tool" => tool.clone()).increment(1);
    }
    if matches!(outcome, AttemptOutcome::Blocked(blocked) if blocked.is_new) {
        metrics::counter!("answerback_escalations_total", "tool" => tool).increment(1);
    }
}

#[cfg(feature = "tracing")]
fn log(call: &TrackedCall<'_>, outcome: &AttemptOutcome, context: &Context<'_>) {
    use answerback_findings::Severity;

    use super::history::redacted_pointer;
    use super::redactor::bounded;

    /// The most findings that one line lists.
    const MOST_LISTED: usize = 20;

    let max = context.policy.max_attempts();
    let attempt = match outcome {
        AttemptOutcome::Retry(retry) => retry.attempt,
        AttemptOutcome::Blocked(blocked) => blocked.attempt,
        AttemptOutcome::Proceed(proceed) => proceed.failed_attempts,
        AttemptOutcome::Stopped { .. } | AttemptOutcome::Applied | AttemptOutcome::Ignored => 0,
    };
    let Some(severity) = call.findings.iter().map(|finding| finding.severity).min() else { return };
    // Notes are held back while there are errors.
    let told = || call.findings.iter().filter(|finding| finding.severity == severity);
    let errors: serde_json::Value = told()
        .take(MOST_LISTED)
        .map(|finding| {
            let path = redacted_pointer(&finding.field_path, context.redactor);
            serde_json::json!({"path": path, "code": bounded(finding.error_code.as_ref(), 16)})
        })
        .collect();
    let (tool, count) = (bounded(context.redactor.text(call.tool), 128), told().count());
    let correlation_id = call.correlation_id.map(|id| bounded(context.redactor.text(id), 128));
    macro_rules! event {
        ($level:ident, $message:literal) => {
            tracing::event!(
                target: "answerback::retry",
                tracing::Level::$level,
                tool_name = tool.as_str(),
                error_count = count,
                retry_attempt = attempt,
                max_retries = max,
                errors = %errors,
                correlation_id = correlation_id.as_deref(),
                $message
            )
        };
    }
    match severity {
        Severity::Error => event!(WARN, "Tool validation failed"),
        Severity::Warning => event!(INFO, "Tool validation warned"),
        Severity::Info => event!(DEBUG, "Tool validation noted"),
    }
    if matches!(outcome, AttemptOutcome::Blocked(blocked) if blocked.is_new) {
        event!(WARN, "Tool validation escalated");
    }
}

#[cfg(test)]
#[cfg(all(feature = "tracing", feature = "metrics"))]
mod tests {
    use std::fmt::Write;
    use std::sync::{Arc, Mutex};

    use answerback_findings::{Severity, ValidationError};
    use answerback_json::Timestamp;
    use serde_json::json;

    use super::super::{RetryKey, RetryTracker};
    use super::*;

    /// Writes down every event as one line.
    struct Capture(Arc<Mutex<String>>);

    impl tracing::Subscriber for Capture {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }

        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

        fn event(&self, event: &tracing::Event<'_>) {
            let mut line = event.metadata().level().to_string();
            event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
                write!(line, " {}={value:?}", field.name()).unwrap();
            });
            writeln!(self.0.lock().unwrap(), "{line}").unwrap();
        }

        fn enter(&self, _: &tracing::span::Id) {}

        fn exit(&self, _: &tracing::span::Id) {}
    }

    /// Writes down every increment as one line.
    #[derive(Default)]
    struct CounterLog(Arc<Mutex<Vec<String>>>);

    struct Counter(Arc<Mutex<Vec<String>>>, String);

    impl metrics::CounterFn for Counter {
        fn increment(&self, value: u64) {
            self.0.lock().unwrap().push(format!("{} +{value}", self.1));
        }

        fn absolute(&self, _: u64) {}
    }

    impl metrics::Recorder for CounterLog {
        fn describe_counter(
            &self,
            _: metrics::KeyName,
            _: Option<metrics::Unit>,
            _: metrics::SharedString,
        ) {
        }

        fn describe_gauge(
            &self,
            _: metrics::KeyName,
            _: Option<metrics::Unit>,
            _: metrics::SharedString,
        ) {
        }

        fn describe_histogram(
            &self,
            _: metrics::KeyName,
            _: Option<metrics::Unit>,
            _: metrics::SharedString,
        ) {
        }

        fn register_counter(
            &self,
            key: &metrics::Key,
            _: &metrics::Metadata<'_>,
        ) -> metrics::Counter {
            let labels: Vec<_> =
                key.labels().map(|one| format!("{}={}", one.key(), one.value())).collect();
            let name = format!("{}{{{}}}", key.name(), labels.join(","));
            metrics::Counter::from_arc(Arc::new(Counter(self.0.clone(), name)))
        }

        fn register_gauge(&self, _: &metrics::Key, _: &metrics::Metadata<'_>) -> metrics::Gauge {
            metrics::Gauge::noop()
        }

        fn register_histogram(
            &self,
            _: &metrics::Key,
            _: &metrics::Metadata<'_>,
        ) -> metrics::Histogram {
            metrics::Histogram::noop()
        }
    }

    fn finding(code: &'static str, path: &str, severity: Severity) -> ValidationError {
        ValidationError::new(code, severity)
            .with_path(path.try_into().unwrap())
            .with_message("the value is s3cret")
            .with_expected("s3cret")
            .with_actual("s3cret")
    }

    /// Returns the log and the metrics of a model that fails twice, with a note in between.
    fn observed() -> (String, String) {
        let (log, counters) = (Arc::new(Mutex::new(String::new())), CounterLog::default());
        let tracker = RetryTracker::new(2);
        let (key, now) = (RetryKey::new("k"), Timestamp::from_unix_millis(0));
        let arguments = json!({"path": "s3cret"});
        let errors = [
            finding("VAL-001", "/path", Severity::Error),
            finding("VAL-008", "/items/3/encoding", Severity::Error),
            finding("VAL-005", "/extra", Severity::Warning),
        ];
        metrics::with_local_recorder(&counters, || {
            tracing::subscriber::with_default(Capture(log.clone()), || {
                for (turn, findings) in [
                    (1_u64, &errors[..2]),
                    (1, &errors[..1]),
                    (2, &errors[2..]),
                    (3, &errors),
                    (4, &errors),
                ] {
                    let call = TrackedCall::new("read_file", "c", &arguments, findings, [0; 10])
                        .with_correlation_id("abc-123")
                        .with_turn(turn);
                    tracker.call(&key, &call, now);
                }
            });
        });
        let counts = counters.0.lock().unwrap().join("\n");
        let lines = log.lock().unwrap().clone();
        (lines, counts)
    }

    #[test]
    fn operators_see_fields_and_never_values() {
        let (lines, counts) = observed();
        assert!(!lines.contains("s3cret") && !counts.contains("s3cret"), "{lines}{counts}");
        insta::assert_snapshot!(lines, @r#"
        WARN message=Tool validation failed tool_name="read_file" error_count=2 retry_attempt=1 max_retries=2 errors=[{"path":"/path","code":"VAL-001"},{"path":"/items/3/encoding","code":"VAL-008"}] correlation_id="abc-123"
        WARN message=Tool validation failed tool_name="read_file" error_count=1 retry_attempt=1 max_retries=2 errors=[{"path":"/path","code":"VAL-001"}] correlation_id="abc-123"
        INFO message=Tool validation warned tool_name="read_file" error_count=1 retry_attempt=1 max_retries=2 errors=[{"path":"/extra","code":"VAL-005"}] correlation_id="abc-123"
        WARN message=Tool validation failed tool_name="read_file" error_count=2 retry_attempt=1 max_retries=2 errors=[{"path":"/path","code":"VAL-001"},{"path":"/items/3/encoding","code":"VAL-008"}] correlation_id="abc-123"
        WARN message=Tool validation failed tool_name="read_file" error_count=2 retry_attempt=2 max_retries=2 errors=[{"path":"/path","code":"VAL-001"},{"path":"/items/3/encoding","code":"VAL-008"}] correlation_id="abc-123"
        WARN message=Tool validation escalated tool_name="read_file" error_count=2 retry_attempt=2 max_retries=2 errors=[{"path":"/path","code":"VAL-001"},{"path":"/items/3/encoding","code":"VAL-008"}] correlation_id="abc-123"
        "#);
        insta::assert_snapshot!(counts, @"
        answerback_calls_total{tool=read_file} +1
        answerback_validation_failures_total{tool=read_file,path=/path,code=VAL-001} +1
        answerback_validation_failures_total{tool=read_file,path=/items/*/encoding,code=VAL-008} +1
        answerback_retry_attempts_total{tool=read_file} +1
        answerback_calls_total{tool=read_file} +1
        answerback_validation_failures_total{tool=read_file,path=/path,code=VAL-001} +1
        answerback_calls_total{tool=read_file} +1
        answerback_calls_total{tool=read_file} +1
        answerback_validation_failures_total{tool=read_file,path=/path,code=VAL-001} +1
        answerback_validation_failures_total{tool=read_file,path=/items/*/encoding,code=VAL-008} +1
        answerback_retry_attempts_total{tool=read_file} +1
        answerback_calls_total{tool=read_file} +1
        answerback_validation_failures_total{tool=read_file,path=/path,code=VAL-001} +1
        answerback_validation_failures_total{tool=read_file,path=/items/*/encoding,code=VAL-008} +1
        answerback_retry_attempts_total{tool=read_file} +1
        answerback_escalations_total{tool=read_file} +1
        ");
    }
}
