//! Records the active policy at each start, so that an entry can be read with the rules that applied to it.

use answerback::config::ToolSettings;
use answerback_ledger::leaf::Subject;
use answerback_store::StoreError;
use serde_json::{Map, Value, json};

use crate::Gateway;
use crate::gateway_settings::{CheckMode, EnvelopeMode, ToolModes, UnknownTool};

impl Gateway {
    /// Records a start and the policy that applies from then on.
    pub(crate) async fn record_start(
        &self,
        upstream: Option<&str>,
        started: &Value,
    ) -> Result<(), StoreError> {
        self.record_config(Subject::Start, upstream, started).await?;
        self.record_config(Subject::Policy, upstream, &self.policy()).await
    }

    /// Records a configuration document that applies from now on, or until now.
    pub(crate) async fn record_config(
        &self,
        subject: Subject,
        upstream: Option<&str>,
        document: &Value,
    ) -> Result<(), StoreError> {
        let Some(recorder) = self.recorder() else { return Ok(()) };
        let written = recorder.config(subject, upstream, document).await;
        written.or_else(|error| recorder.store().apply_failure_policy(error))
    }

    /// The rules by which calls and results are checked.
    fn policy(&self) -> Value {
        let (settings, validation) = (&self.settings, &self.applied_validation);
        let mut tools = Map::new();
        for (name, modes) in &settings.tools {
            tools.insert(name.clone(), modes_document(*modes));
        }
        for (name, tool) in &validation.overrides {
            let document = tools.entry(name.clone()).or_insert_with(|| json!({}));
            document["validation"] = tool_document(tool);
        }
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "default": modes_document(settings.default),
            "validation": tool_document(&validation.default),
            "tools": tools,
            "allow": settings.allow,
            "deny": settings.deny,
            "unknown_tool": match settings.unknown_tool {
                UnknownTool::Error => "error",
                UnknownTool::Result => "result",
            },
            "envelope": match settings.envelope {
                EnvelopeMode::Off => "off",
                EnvelopeMode::Meta => "meta",
                EnvelopeMode::Structured => "structured",
            },
            "pinning": mode_name(settings.pinning),
            "shown_bytes": settings.shown_bytes,
        })
    }
}

fn modes_document(modes: ToolModes) -> Value {
    json!({"input": mode_name(modes.input), "output": mode_name(modes.output)})
}

const fn mode_name(mode: CheckMode) -> &'static str {
    match mode {
        CheckMode::Off => "off",
        CheckMode::Warn => "warn",
        CheckMode::Enforce => "enforce",
    }
}

fn tool_document(settings: &ToolSettings) -> Value {
    json!({
        "max_attempts": settings.retry.max_attempts(),
        "strict": settings.strict,
        "formats": settings.formats.as_str(),
        "repair": settings.repair.unwrap_or_default().as_str(),
    })
}
