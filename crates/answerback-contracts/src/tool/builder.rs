use std::time::Duration;

use answerback_json::time::Timestamp;
use serde_json::{Map, Value};

use super::types::{Action, Audit, EnvelopeResponse, ErrorObject, Intent, McpHost};
use super::{EnvelopeCheckOptions, check};
use crate::Invalid;

/// Builds the envelope of a tool's response. The result passes the strict check, and its status is computed.
///
/// ```
/// use answerback_json::Timestamp;
/// use answerback_contracts::tool::{EnvelopeBuilder, Intent, EnvelopeStatus};
///
/// let now = Timestamp::from_unix_millis(1_767_362_220_000);
/// let answer = EnvelopeBuilder::new("solution.structure", "1.0.0")
///     .summary("Found 12 projects.")
///     .data("projects", 12)
///     .source("tools/solution_structure.rs")
///     .duration_ms(45)
///     .intent(Intent::new("solution.info", "See what the solution is about."))
///     .build(now)?;
/// assert_eq!(answer.status(), EnvelopeStatus::Ok);
/// assert_eq!(answer.audit.timestamp, "2026-01-02T13:57:00Z");
/// # Ok::<(), answerback_contracts::Invalid>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct EnvelopeBuilder {
    tool: String,
    version: String,
    summary: String,
    data: Map<String, Value>,
    warnings: Vec<ErrorObject>,
    errors: Vec<ErrorObject>,
    source: String,
    duration_ms: u64,
    host: Option<McpHost>,
    correlation_id: Option<String>,
    write_to: Option<String>,
    intent: Option<Intent>,
    actions: Vec<Action>,
    meta: Map<String, Value>,
    options: EnvelopeCheckOptions,
}

impl EnvelopeBuilder {
    /// Starts an envelope for this version of the tool.
    pub fn new(tool: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            tool: tool.into(),
            version: version.into(),
            summary: String::new(),
            data: Map::new(),
            warnings: Vec::new(),
            errors: Vec::new(),
            source: String::new(),
            duration_ms: 0,
            host: None,
            correlation_id: None,
            write_to: None,
            intent: None,
            actions: Vec::new(),
            meta: Map::new(),
            options: EnvelopeCheckOptions::default(),
        }
    }

    /// Sets the summary: one sentence that says what happened.
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = summary.into();
        self
    }

    /// Adds a member to the output.
    pub fn data(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.data.insert(name.into(), value.into());
        self
    }

    /// Replaces the whole output.
    pub fn all_data(mut self, data: Map<String, Value>) -> Self {
        self.data = data;
        self
    }

    /// Adds an error.
    pub fn error(mut self, error: ErrorObject) -> Self {
        self.errors.push(error);
        self
    }

    /// Adds a warning.
    pub fn warning(mut self, warning: ErrorObject) -> Self {
        self.warnings.push(warning);
        self
    }

    /// Sets the relative path of the tool's own script or module.
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }

    /// Sets the duration of the tool's run in milliseconds.
    pub fn duration_ms(mut self, duration_ms: u64) -> Self {
        self.duration_ms = duration_ms;
        self
    }

    /// Sets the duration of the tool's run from a timer.
    pub fn timed_by<C: Fn() -> Duration>(self, timer: &ToolTimer<C>) -> Self {
        self.duration_ms(timer.duration_ms())
    }

    /// Sets the host in which the tool ran.
    pub fn host(mut self, host: Option<McpHost>) -> Self {
        self.host = host;
        self
    }

    /// Sets the id that links the envelope to related operations.
    pub fn correlation_id(mut self, id: impl Into<String>) -> Self {
        self.correlation_id = Some(id.into());
        self
    }

    /// Sets the relative path of the file that was written.
    pub fn write_to(mut self, path: impl Into<String>) -> Self {
        self.write_to = Some(path.into());
        self
    }

    /// Suggests the tool to call next.
    pub fn intent(mut self, intent: Intent) -> Self {
        self.intent = Some(intent);
        self
    }

    /// Adds an action that a person or an agent could take next.
    pub fn action(mut self, action: Action) -> Self {
        self.actions.push(action);
        self
    }

    /// Adds a member to the extension slot.
    pub fn meta(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(name.into(), value.into());
        self
    }

    /// Sets the options with which [`build`](Self::build) checks the envelope, such as more codes.
    pub fn with_check_options(mut self, options: impl Into<EnvelopeCheckOptions>) -> Self {
        self.options = options.into();
        self
    }

    /// Finishes the envelope, dated `now`.
    ///
    /// # Errors
    ///
    /// Returns [`Invalid`] with every finding if the envelope does not pass the check, or is nested too deep.
    pub fn build(self, now: Timestamp) -> Result<EnvelopeResponse, Invalid> {
        let mut audit = Audit::new(now, self.duration_ms, self.source);
        audit.host = self.host.map(|host| host.as_str().to_owned());
        audit.correlation_id = self.correlation_id;
        audit.write_to = self.write_to;
        let mut envelope = EnvelopeResponse::new(self.tool, self.version, self.summary, audit);
        envelope.data = self.data;
        self.warnings.into_iter().for_each(|warning| envelope.push_warning(warning));
        self.errors.into_iter().for_each(|error| envelope.push_error(error));
        envelope.intent = self.intent;
        envelope.actions = self.actions;
        envelope.meta = self.meta;
        let document = envelope.to_document();
        Invalid::unless_emittable(&document, check(&document, self.options))?;
        Ok(envelope)
    }
}

/// Measures the duration of a tool's run, with a monotonic clock that the caller provides.
///
/// ```
/// use std::time::Duration;
/// use answerback_contracts::tool::ToolTimer;
///
/// // In a program: `let epoch = Instant::now(); ToolTimer::start(move || epoch.elapsed())`.
/// let now = std::cell::Cell::new(Duration::ZERO);
/// let timer = ToolTimer::start(|| now.get());
/// now.set(Duration::from_micros(45_900));
/// assert_eq!(timer.duration_ms(), 45);
/// ```
#[derive(Clone, Debug)]
pub struct ToolTimer<C> {
    clock: C,
    started: Duration,
}

impl<C: Fn() -> Duration> ToolTimer<C> {
    /// Starts measuring.
    pub fn start(clock: C) -> Self {
        let started = clock();
        Self { clock, started }
    }

    /// Returns the whole milliseconds since the start.
    pub fn duration_ms(&self) -> u64 {
        let elapsed = (self.clock)().saturating_sub(self.started);
        u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tool::EnvelopeStatus;

    fn now() -> Timestamp {
        Timestamp::from_unix_millis(1_767_362_220_000)
    }

    #[test]
    fn keys_stand_in_the_documents_order_and_empty_ones_are_left_out() {
        let full = EnvelopeBuilder::new("solution.project.register", "1.0.0")
            .summary("Registered 'Axiome.Bot' with alias 'be' and 3 tags.")
            .data("success", true)
            .warning(ErrorObject::new("ALIAS_CONFLICT", "taken").with_path("a/b.md"))
            .error(ErrorObject::new("IO_ERROR", "disk full").with_detail("free", 0))
            .source(".bot/mcp/tools/solution-project-register/script.ps1")
            .duration_ms(34)
            .host(Some(McpHost::Warp))
            .correlation_id("550e8400-e29b-41d4-a716-446655440000")
            .write_to(".bot/solution/projects.json")
            .intent(Intent::new("solution.structure", "See it.").with_parameter("deep", true))
            .action(Action::suggestion("view", "View", "See it in context", "solution.structure"))
            .meta("trace", "t-1")
            .build(now())
            .unwrap();
        assert_eq!(full.status(), EnvelopeStatus::Error);
        insta::assert_snapshot!(serde_json::to_string_pretty(&full).unwrap(), @r#"
        {
          "schema_id": "dotbot-mcp-response@1",
          "tool": "solution.project.register",
          "version": "1.0.0",
          "status": "error",
          "summary": "Registered 'Axiome.Bot' with alias 'be' and 3 tags.",
          "data": {
            "success": true
          },
          "warnings": [
            {
              "code": "ALIAS_CONFLICT",
              "message": "taken",
              "path": "a/b.md"
            }
          ],
          "errors": [
            {
              "code": "IO_ERROR",
              "message": "disk full",
              "details": {
                "free": 0
              }
            }
          ],
          "audit": {
            "timestamp": "2026-01-02T13:57:00Z",
            "duration_ms": 34,
            "source": ".bot/mcp/tools/solution-project-register/script.ps1",
            "host": "warp",
            "correlation_id": "550e8400-e29b-41d4-a716-446655440000",
            "write_to": ".bot/solution/projects.json"
          },
          "intent": {
            "recommended_next": "solution.structure",
            "reason": "See it.",
            "parameters": {
              "deep": true
            }
          },
          "actions": [
            {
              "id": "view",
              "type": "suggestion",
              "label": "View",
              "reason": "See it in context",
              "tool": "solution.structure",
              "parameters": {}
            }
          ],
          "_meta": {
            "trace": "t-1"
          }
        }
        "#);
        let least = EnvelopeBuilder::new("a", "1.0.0").summary("Done.").source("a.rs").build(now());
        let least = least.unwrap().to_document();
        let names: Vec<&String> = least.as_object().unwrap().keys().collect();
        assert_eq!(
            names,
            [
                "schema_id",
                "tool",
                "version",
                "status",
                "summary",
                "data",
                "warnings",
                "errors",
                "audit"
            ]
        );
        assert_eq!(
            least["audit"],
            json!({"timestamp": "2026-01-02T13:57:00Z", "duration_ms": 0, "source": "a.rs"})
        );
    }

    #[test]
    fn an_answer_that_readers_could_not_read_is_refused() {
        for (levels, is_built) in [(100, true), (126, false), (600, false)] {
            let deep = (0..levels).fold(json!(1), |inner, _| json!([inner]));
            let answer = EnvelopeBuilder::new("a", "1.0.0").summary("Done.").data("deep", deep);
            let built = answer.source("a.rs").build(now());
            assert_eq!(built.is_ok(), is_built, "{levels}: {built:?}");
        }
    }

    #[test]
    fn a_bad_answer_is_refused_with_every_reason() {
        let refused = EnvelopeBuilder::new("a", "one").source("/etc/x").build(now()).unwrap_err();
        let places: Vec<&str> =
            refused.findings.iter().map(|finding| finding.field_path.as_str()).collect();
        assert_eq!(places, ["/version", "/summary", "/audit/source"]);
        assert_eq!(
            refused.to_string(),
            "error TOOL-006 at /version: expected a version such as 1.0.0 (and 2 more)"
        );
    }

    #[test]
    fn what_is_read_is_written_again() {
        let document = json!({
            "schema_id": "dotbot-mcp-response@1", "tool": "a", "version": "1.0.0", "status": "warning",
            "summary": "Done.", "data": {}, "warnings": ["bare"], "errors": [],
            "audit": {"timestamp": "2026-01-02T13:57:00Z", "duration_ms": 1, "source": "a", "host": null},
            "intent": null, "actions": null, "later": 1,
        });
        let envelope = EnvelopeResponse::from_document(&document).unwrap();
        assert_eq!(envelope.warnings(), [ErrorObject::new("UNSPECIFIED", "bare")]);
        assert_eq!(envelope.extra["later"], 1);
        assert_eq!(envelope.status(), EnvelopeStatus::Warning);
        assert!(EnvelopeResponse::from_document(&json!({})).is_err());
    }
}
