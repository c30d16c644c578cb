use std::fmt;

use answerback_findings::Profile;
use answerback_json::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error_catalog::UNSPECIFIED;
use crate::Invalid;

/// The schema id of every tool envelope.
pub const SCHEMA_ID: &str = "dotbot-mcp-response@1";

/// The marker of a tool envelope. It has one value, [`SCHEMA_ID`].
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SchemaId {
    /// `dotbot-mcp-response@1`
    #[default]
    #[serde(rename = "dotbot-mcp-response@1")]
    V1,
}

/// The outcome of an operation. It is computed from the errors and warnings and never set.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Status"))]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contract defines exactly these three")]
pub enum EnvelopeStatus {
    /// No errors, no warnings.
    #[default]
    Ok,
    /// Warnings, but no errors.
    Warning,
    /// At least one error.
    Error,
}

impl EnvelopeStatus {
    /// Returns the status for these numbers of errors and warnings.
    pub const fn of(errors: usize, warnings: usize) -> Self {
        match (errors, warnings) {
            (0, 0) => Self::Ok,
            (0, _) => Self::Warning,
            _ => Self::Error,
        }
    }

    /// Returns the word used on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A tool envelope: the answer of a tool.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ToolEnvelope", transform = super::check::schema_rules))]
#[serde(remote = "Self")]
#[non_exhaustive]
pub struct EnvelopeResponse {
    /// The schema id, which is always [`SCHEMA_ID`].
    pub schema_id: SchemaId,
    /// The tool that answers, under its declared name, such as `solution.info`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub tool: String,
    /// The version of the tool, by Semantic Versioning.
    pub version: String,
    status: EnvelopeStatus,
    /// The outcome in one sentence.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub summary: String,
    /// The tool's own output.
    pub data: Map<String, Value>,
    warnings: Vec<ErrorObject>,
    errors: Vec<ErrorObject>,
    /// The time, the duration and the source of the execution.
    pub audit: Audit,
    /// The tool that should be called next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// Next steps that a person or an agent could take.
    #[serde(default, deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<Action>>"))]
    pub actions: Vec<Action>,
    /// The extension slot.
    #[serde(
        default,
        rename = "_meta",
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Map::is_empty"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Map<String, Value>>"))]
    pub meta: Map<String, Value>,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl EnvelopeResponse {
    /// Creates an envelope without errors, warnings, intent or actions.
    pub(super) fn new(tool: String, version: String, summary: String, audit: Audit) -> Self {
        Self {
            schema_id: SchemaId::V1,
            tool,
            version,
            status: EnvelopeStatus::Ok,
            summary,
            data: Map::new(),
            warnings: Vec::new(),
            errors: Vec::new(),
            audit,
            intent: None,
            actions: Vec::new(),
            meta: Map::new(),
            extra: Map::new(),
        }
    }

    /// Parses an envelope that meets the lenient profile. Warnings that are bare strings become objects with
    /// the code `UNSPECIFIED`.
    ///
    /// # Errors
    ///
    /// Returns [`Invalid`] if the document does not meet the contract.
    pub fn from_document(document: &Value) -> Result<Self, Invalid> {
        Invalid::unless_valid(super::check(document, Profile::Lenient))?;
        Self::deserialize_checked(document)
    }

    fn deserialize_checked(document: &Value) -> Result<Self, Invalid> {
        Deserialize::deserialize(document)
            .map_err(|error: serde_json::Error| Invalid::unreadable(&error))
    }

    /// Returns the status, which is computed from the errors and warnings.
    pub const fn status(&self) -> EnvelopeStatus {
        self.status
    }

    /// Returns the errors.
    pub fn errors(&self) -> &[ErrorObject] {
        &self.errors
    }

    /// Returns the warnings, which did not stop the operation.
    pub fn warnings(&self) -> &[ErrorObject] {
        &self.warnings
    }

    /// Adds an error.
    pub fn push_error(&mut self, error: ErrorObject) {
        self.errors.push(error);
        self.settle();
    }

    /// Adds a warning.
    pub fn push_warning(&mut self, warning: ErrorObject) {
        self.warnings.push(warning);
        self.settle();
    }

    /// Returns the envelope as a JSON document, with its keys in the order of the contract.
    pub fn to_document(&self) -> Value {
        // Serializing plain data into a tree cannot fail.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns the text of [`to_document`](Self::to_document). It skips the tree in between if the text stays
    /// the same.
    pub fn to_text(&self) -> String {
        // An unknown member may have the name of a member of the contract. A tree holds such a name only
        // once.
        if self.extra.is_empty()
            && self.audit.extra.is_empty()
            && let Ok(text) = serde_json::to_string(self)
        {
            return text;
        }
        self.to_document().to_string()
    }

    fn settle(&mut self) {
        self.status = EnvelopeStatus::of(self.errors.len(), self.warnings.len());
    }
}

impl Serialize for EnvelopeResponse {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for EnvelopeResponse {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut envelope = Self::deserialize(deserializer)?;
        envelope.settle();
        Ok(envelope)
    }
}

/// An error or a warning.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "ReportedText")]
#[cfg_attr(feature = "schema", schemars(!from))]
#[non_exhaustive]
pub struct ErrorObject {
    /// A code of the [`super::ErrorCatalog`].
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^[A-Z][A-Z0-9_]*$")))]
    pub code: String,
    /// The message for people.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub message: String,
    /// The path of the file that the error or warning is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Structured details.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Map<String, Value>>"))]
    pub details: Map<String, Value>,
}

impl ErrorObject {
    /// Creates an error or a warning with a code of the [`super::ErrorCatalog`].
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), path: None, details: Map::new() }
    }

    /// Sets the file that the error or warning is about.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Adds a member to the details.
    #[must_use]
    pub fn with_detail(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.details.insert(name.into(), value.into());
        self
    }
}

/// An error or a warning as other programs write it: an object, or a bare sentence.
#[derive(Deserialize)]
#[serde(untagged)]
enum ReportedText {
    Sentence(String),
    Object {
        code: String,
        message: String,
        #[serde(default)]
        path: Option<String>,
        #[serde(default, deserialize_with = "null_is_empty")]
        details: Map<String, Value>,
    },
}

impl From<ReportedText> for ErrorObject {
    fn from(reported: ReportedText) -> Self {
        match reported {
            ReportedText::Sentence(message) => Self::new(UNSPECIFIED, message),
            ReportedText::Object { code, message, path, details } => {
                Self { code, message, path, details }
            }
        }
    }
}

/// Metadata about an execution.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Audit {
    /// The time of the execution, in UTC, by RFC 3339.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub timestamp: String,
    /// The duration in milliseconds.
    pub duration_ms: u64,
    /// The relative path of the tool's own script or module.
    pub source: String,
    /// The MCP host, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The id that links related operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// The relative path of the file that was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_to: Option<String>,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Audit {
    pub(super) fn new(time: Timestamp, duration_ms: u64, source: String) -> Self {
        Self {
            timestamp: time.to_utc_seconds(),
            duration_ms,
            source,
            host: None,
            correlation_id: None,
            write_to: None,
            extra: Map::new(),
        }
    }
}

/// A tool's suggestion for the next call.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Intent {
    /// The tool to call.
    pub recommended_next: String,
    /// The reason for the suggestion.
    pub reason: String,
    /// The arguments of the suggested call.
    #[serde(default, deserialize_with = "null_is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Map<String, Value>>"))]
    pub parameters: Map<String, Value>,
}

impl Intent {
    /// Creates a suggestion without arguments.
    pub fn new(recommended_next: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            recommended_next: recommended_next.into(),
            reason: reason.into(),
            parameters: Map::new(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn with_parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }
}

/// A next step that a person or an agent could take.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Action {
    /// The id of the action within the answer.
    pub id: String,
    /// The kind of action, which is `suggestion`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The label that is shown to people.
    pub label: String,
    /// The reason for the action.
    pub reason: String,
    /// The tool to call.
    pub tool: String,
    /// The arguments of the suggested call.
    #[serde(default, deserialize_with = "null_is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Map<String, Value>>"))]
    pub parameters: Map<String, Value>,
}

impl Action {
    /// Creates a suggestion without arguments.
    pub fn suggestion(
        id: impl Into<String>,
        label: impl Into<String>,
        reason: impl Into<String>,
        tool: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            kind: "suggestion".to_owned(),
            label: label.into(),
            reason: reason.into(),
            tool: tool.into(),
            parameters: Map::new(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn with_parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }
}

/// The MCP client in which a tool runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum McpHost {
    /// The Warp terminal.
    Warp,
    /// The Claude desktop application.
    ClaudeDesktop,
    /// A continuous integration run.
    Ci,
}

impl McpHost {
    /// All hosts that can be detected.
    pub const ALL: [Self; 3] = [Self::Warp, Self::ClaudeDesktop, Self::Ci];

    /// Detects the host from environment variables. The caller passes in the lookup: `detect(|name|
    /// env::var_os(name).is_some())`.
    ///
    /// ```
    /// use answerback_contracts::tool::McpHost;
    ///
    /// assert_eq!(McpHost::detect(|name| name == "CI"), Some(McpHost::Ci));
    /// assert_eq!(McpHost::detect(|_| false), None);
    /// ```
    pub fn detect(is_set: impl Fn(&str) -> bool) -> Option<Self> {
        Self::ALL.into_iter().find(|host| is_set(host.variable()))
    }

    /// Returns the word used on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warp => "warp",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Ci => "ci",
        }
    }

    /// Returns the environment variable that identifies the host. If several are set, the first host in
    /// [`McpHost::ALL`] wins.
    const fn variable(self) -> &'static str {
        match self {
            Self::Warp => "WARP_SESSION",
            Self::ClaudeDesktop => "CLAUDE_DESKTOP",
            Self::Ci => "CI",
        }
    }
}

impl fmt::Display for McpHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// True if two names refer to the same tool. The separators `.`, `-` and `_` count as the same.
pub fn same_tool(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.replace(['.', '-'], "_");
    plain(one) == plain(other)
}

/// Deserializes `null` like an absent member, as the default value.
fn null_is_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
