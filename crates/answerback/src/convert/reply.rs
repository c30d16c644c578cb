use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::finding::Severity;
use crate::time::Timestamp;

/// What all contracts share: a reply, whoever carries it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Reply {
    /// How it went.
    pub outcome: Outcome,
    /// What happened, in one line or a few.
    pub summary: String,
    /// The output, by name.
    pub body: Map<String, Value>,
    /// Errors and warnings that the reply reports.
    pub findings: Vec<ReplyProblem>,
    /// Artifacts, as UI envelopes write them.
    pub artifacts: Vec<Value>,
    /// Missions proposed or started, as UI envelopes write them.
    pub missions: Vec<Value>,
    /// Signals emitted, as UI envelopes write them.
    pub signals: Vec<Value>,
    /// What could be done next.
    pub next: Vec<Next>,
    /// Who answers: response id, protocol version and agent, as governed responses write them.
    pub identity: Option<Map<String, Value>>,
    /// What is attested: confidence and governance, as governed responses write them.
    pub attestation: Option<Map<String, Value>>,
    /// What was asked, as governed responses write it.
    pub request: Option<Map<String, Value>>,
    /// Which tool answers, and how it ran.
    pub tool: Option<ToolFacts>,
    /// When.
    pub time: Timestamp,
}

impl Reply {
    /// A reply that went this way, at this time, with nothing else in it.
    pub fn new(outcome: Outcome, summary: impl Into<String>, time: Timestamp) -> Self {
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

    /// The reported errors.
    pub fn errors(&self) -> impl Iterator<Item = &ReplyProblem> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error)
    }

    /// The reported warnings.
    pub fn warnings(&self) -> impl Iterator<Item = &ReplyProblem> {
        self.findings.iter().filter(|finding| finding.severity != Severity::Error)
    }
}

/// How a reply went, in the finest words that any contract has.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contracts define these five outcomes")]
pub enum Outcome {
    /// All was done.
    Ok,
    /// All was done, with something to look at.
    Warning,
    /// A part was done.
    Partial,
    /// It failed.
    Error,
    /// It was refused.
    Refused,
}

impl Outcome {
    /// Whether the request was not served.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Error | Self::Refused)
    }
}

/// An error or a warning that a reply reports.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ReplyProblem {
    /// Error or warning.
    pub severity: Severity,
    /// Its code.
    pub code: String,
    /// What happened.
    pub message: String,
    /// The file or field it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// More, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

impl ReplyProblem {
    /// An error or warning with nothing but a code and a message.
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

/// Something that could be done next.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Next {
    /// What kind of step it is.
    pub kind: NextKind,
    /// What people see: a label, a question, or what is needed.
    pub label: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The tool or agent that does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The action's own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// With which arguments.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// Whether nothing is complete without it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
}

impl Next {
    /// A step with nothing but a label.
    pub fn new(kind: NextKind, label: impl Into<String>) -> Self {
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
pub enum NextKind {
    /// The tool that a tool envelope recommends.
    Intent,
    /// Something offered: an action of a tool envelope, a suggested action of a UI envelope.
    Action,
    /// Another agent that should take over.
    Handoff,
    /// A question to the caller.
    Question,
    /// Something the agent needs to know.
    Context,
}

/// Which tool answers, and how it ran.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ToolFacts {
    /// The tool's name, as it declares itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The audit members other than the time.
    pub audit: Map<String, Value>,
}

impl ToolFacts {
    /// A tool of this name and version; nothing is known of how it ran.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), audit: Map::new() }
    }
}
