use answerback_findings::Severity;
use answerback_json::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A reply in the form that all contracts share.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Reply {
    /// The outcome of the request.
    pub outcome: ReplyOutcome,
    /// A summary of what happened, in one line or a few.
    pub summary: String,
    /// The output, by name.
    pub body: Map<String, Value>,
    /// The errors and warnings that the reply reports.
    pub findings: Vec<ReplyProblem>,
    /// The artifacts, in the form of UI envelopes.
    pub artifacts: Vec<Value>,
    /// The missions that were proposed or started, in the form of UI envelopes.
    pub missions: Vec<Value>,
    /// The signals that were emitted, in the form of UI envelopes.
    pub signals: Vec<Value>,
    /// The steps that could come next.
    pub next: Vec<NextStep>,
    /// The response id, the protocol version and the agent, in the form of governed responses.
    pub identity: Option<Map<String, Value>>,
    /// The confidence and the governance flags, in the form of governed responses.
    pub attestation: Option<Map<String, Value>>,
    /// The request, in the form of governed responses.
    pub request: Option<Map<String, Value>>,
    /// The tool that ran, with its version and audit.
    pub tool: Option<ToolFacts>,
    /// The time of the reply.
    pub time: Timestamp,
}

impl Reply {
    /// Creates a reply with this outcome, summary and time, and nothing else.
    pub fn new(outcome: ReplyOutcome, summary: impl Into<String>, time: Timestamp) -> Self {
        Self {
            outcome,
            summary: summary.into(),
            body: Map::new(),
            findings: Vec::new(),
            artifacts: Vec::new(),
            missions: Vec::new(),
            signals: Vec::new(),
            next: Vec::new(),
            identity: None,
            attestation: None,
            request: None,
            tool: None,
            time,
        }
    }

    /// Iterates over the reported errors.
    pub fn errors(&self) -> impl Iterator<Item = &ReplyProblem> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error)
    }

    /// Iterates over the reported warnings.
    pub fn warnings(&self) -> impl Iterator<Item = &ReplyProblem> {
        self.findings.iter().filter(|finding| finding.severity != Severity::Error)
    }
}

/// The outcome of a request, as finely as any of the contracts distinguishes it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contracts define these five outcomes")]
pub enum ReplyOutcome {
    /// Everything was done.
    Ok,
    /// Everything was done, with warnings.
    Warning,
    /// Only a part was done.
    Partial,
    /// The request failed.
    Error,
    /// The request was refused.
    Refused,
}

impl ReplyOutcome {
    /// True if the request was not served.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Error | Self::Refused)
    }
}

/// An error or a warning that a reply reports.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ReplyProblem {
    /// The severity: error or warning.
    pub severity: Severity,
    /// The code, which programs compare.
    pub code: String,
    /// The message, which says what happened.
    pub message: String,
    /// The file or field that the problem is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Further details, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

impl ReplyProblem {
    /// Creates an error or warning with only a code and a message.
    pub fn new(severity: Severity, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity,
            code: code.into(),
            message: message.into(),
            path: None,
            details: Map::new(),
        }
    }

    /// Sets the details.
    #[must_use]
    pub fn with_details(mut self, details: Map<String, Value>) -> Self {
        self.details = details;
        self
    }
}

/// A step that could come next.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct NextStep {
    /// The kind of step.
    pub kind: NextStepKind,
    /// The text for people: a label, a question, or the information that is needed.
    pub label: String,
    /// The reason for the step.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The tool or agent that does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The id of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The arguments of the step.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// True if the request is incomplete without the step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
}

impl NextStep {
    /// Creates a step with only a label.
    pub fn new(kind: NextStepKind, label: impl Into<String>) -> Self {
        Self {
            kind,
            label: label.into(),
            reason: String::new(),
            target: None,
            id: None,
            parameters: Map::new(),
            required: false,
        }
    }
}

/// The kinds of next steps.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum NextStepKind {
    /// The tool that a tool envelope recommends.
    Intent,
    /// An offer: an action of a tool envelope, or a suggested action of a UI envelope.
    Action,
    /// Another agent that should take over.
    Handoff,
    /// A question to the caller.
    Question,
    /// Information that the agent needs.
    Context,
}

/// The tool that ran, with its version and audit.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ToolFacts {
    /// The tool's name, as it declares itself.
    pub name: String,
    /// The tool's version.
    pub version: String,
    /// The audit members other than the time.
    pub audit: Map<String, Value>,
}

impl ToolFacts {
    /// Creates the facts about a tool with this name and version, and an empty audit.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), audit: Map::new() }
    }
}
