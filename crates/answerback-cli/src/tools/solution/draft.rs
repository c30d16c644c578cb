//! Builds envelopes with the parts that every run shares.

use std::time::Duration;

use answerback::UuidV4;
use answerback::contract::Invalid;
use answerback::contract::tool::{
    Action, EnvelopeBuilder, EnvelopeResponse, ErrorObject, Intent, ToolTimer,
};
use serde_json::{Map, Value};

use crate::tools::environment::ToolEnvironment;
use crate::tools::issue::Issues;

/// The version of our tools.
const VERSION: &str = "1.0.0";

/// The content of an envelope before it is built.
#[derive(Debug, Default)]
pub(crate) struct EnvelopeDraft {
    pub(crate) summary: String,
    pub(crate) data: Map<String, Value>,
    pub(crate) issues: Issues,
    pub(crate) intent: Option<Intent>,
    pub(crate) actions: Vec<Action>,
    pub(crate) write_to: Option<&'static str>,
}

impl EnvelopeDraft {
    /// Creates an envelope without data that reports an error.
    pub(crate) fn failed(summary: impl Into<String>, error: ErrorObject) -> Self {
        let mut draft = Self { summary: summary.into(), ..Self::default() };
        draft.issues.error(error);
        draft
    }

    /// Sets the suggested next call.
    pub(crate) fn with_intent(mut self, intent: Intent) -> Self {
        self.intent = Some(intent);
        self
    }

    /// Adds a suggested action.
    pub(crate) fn with_action(mut self, action: Action) -> Self {
        self.actions.push(action);
        self
    }
}

/// One run of a tool.
pub(crate) struct ToolRun<'s> {
    environment: &'s ToolEnvironment,
    timer: ToolTimer<Box<dyn Fn() -> Duration + 's>>,
    correlation_id: Option<&'s UuidV4>,
}

impl<'s> ToolRun<'s> {
    pub(crate) fn start(
        environment: &'s ToolEnvironment,
        correlation_id: Option<&'s UuidV4>,
    ) -> Self {
        let clock: Box<dyn Fn() -> Duration + 's> = Box::new(|| environment.elapsed());
        Self { environment, timer: ToolTimer::start(clock), correlation_id }
    }

    pub(crate) fn now(&self) -> answerback::Timestamp {
        self.environment.now()
    }

    /// Builds the envelope of a draft.
    pub(crate) fn finish(
        &self,
        tool: &str,
        source: &str,
        draft: EnvelopeDraft,
    ) -> Result<EnvelopeResponse, Invalid> {
        let envelope = EnvelopeBuilder::new(tool, VERSION)
            .summary(draft.summary)
            .all_data(draft.data)
            .source(source)
            .host(self.environment.host());
        let mut envelope = draft.issues.into_envelope(envelope);
        if let Some(id) = self.correlation_id {
            envelope = envelope.correlation_id(id.as_str());
        }
        if let Some(path) = draft.write_to {
            envelope = envelope.write_to(path);
        }
        if let Some(intent) = draft.intent {
            envelope = envelope.intent(intent);
        }
        for action in draft.actions {
            envelope = envelope.action(action);
        }
        envelope.timed_by(&self.timer).build(self.now())
    }
}
