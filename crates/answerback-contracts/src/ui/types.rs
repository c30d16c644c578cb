use std::fmt;

use answerback_findings::Profile;
use answerback_json::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Artifact;
use crate::Invalid;

/// The kind of answer, which tells a user interface what to render.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "the contract defines exactly these seven")]
pub enum ResponseType {
    /// A simple message.
    #[default]
    Text,
    /// Tabular data.
    Table,
    /// A document of several sections.
    Report,
    /// A prediction.
    Forecast,
    /// Work in progress that can be watched.
    LiveExecution,
    /// Several artifacts, missions or signals.
    ArtifactBundle,
    /// A question to the person.
    ClarificationRequest,
}

impl ResponseType {
    /// All types, in the order of the contract.
    pub const ALL: [Self; 7] = [
        Self::Text,
        Self::Table,
        Self::Report,
        Self::Forecast,
        Self::LiveExecution,
        Self::ArtifactBundle,
        Self::ClarificationRequest,
    ];

    /// Returns the word used on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Table => "table",
            Self::Report => "report",
            Self::Forecast => "forecast",
            Self::LiveExecution => "live_execution",
            Self::ArtifactBundle => "artifact_bundle",
            Self::ClarificationRequest => "clarification_request",
        }
    }
}

impl fmt::Display for ResponseType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// An agent's answer for a user interface. It contains data and never code of a user interface.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "UiEnvelope"))]
#[non_exhaustive]
pub struct ResponseEnvelope {
    /// The kind of answer.
    pub response_type: ResponseType,
    /// The answer in words. It is never empty.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub summary: String,
    /// Structured outputs.
    #[serde(default)]
    pub artifacts: Vec<Artifact>,
    /// Missions that the agent proposed or created.
    #[serde(default)]
    pub missions_spawned: Vec<MissionReference>,
    /// Signals that the agent emitted.
    #[serde(default)]
    pub signals_emitted: Vec<SignalReference>,
    /// The id of the stream on which the work can be watched.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub live_stream_id: Option<String>,
    /// Suggestions for the display of the answer.
    #[serde(default)]
    pub ui_hints: Option<UiHints>,
    /// The time of the answer, written with microseconds.
    #[serde(with = "wire_time")]
    #[cfg_attr(feature = "schema", schemars(with = "String", regex(pattern = TIME_PATTERN)))]
    pub timestamp: Timestamp,
    /// Further data. Its member `answerback` is the extension slot.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl ResponseEnvelope {
    /// Creates an envelope that has only a summary.
    pub(super) fn new(response_type: ResponseType, summary: String, now: Timestamp) -> Self {
        Self {
            response_type,
            summary,
            artifacts: Vec::new(),
            missions_spawned: Vec::new(),
            signals_emitted: Vec::new(),
            live_stream_id: None,
            ui_hints: None,
            timestamp: wire_time::held(now),
            metadata: Map::new(),
            extra: Map::new(),
        }
    }

    /// Parses an envelope that meets the lenient profile. Counts are computed, so the document's own counts
    /// are ignored.
    ///
    /// # Errors
    ///
    /// Returns [`Invalid`] if the document does not meet the contract.
    ///
    /// ```
    /// use answerback_contracts::ui::ResponseEnvelope;
    ///
    /// let envelope = ResponseEnvelope::from_document(&serde_json::json!({
    ///     "response_type": "text", "summary": "Done", "timestamp": "2026-02-07T20:07:00Z",
    /// }))?;
    /// let document = envelope.to_document();
    /// assert_eq!(document["timestamp"], "2026-02-07T20:07:00.000000+00:00");
    /// assert!(document["ui_hints"].is_null());
    /// # Ok::<(), answerback_contracts::Invalid>(())
    /// ```
    pub fn from_document(document: &Value) -> Result<Self, Invalid> {
        Invalid::unless_valid(super::check(document, Profile::Lenient))?;
        Self::deserialize(document).map_err(|error| Invalid::unreadable(&error))
    }

    /// Returns the envelope as a JSON document. It has all nine keys in the order of the contract, and
    /// computed counts.
    #[doc(alias = "to_dict")]
    pub fn to_document(&self) -> Value {
        document_of(self)
    }

    /// Returns the envelope as JSON text on one line.
    pub fn to_json(&self) -> String {
        // Writing plain data with string keys into memory cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A reference to a mission.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MissionReference {
    /// The mission's id.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub mission_id: String,
    /// The status of the mission, such as `proposed`, `active`, `completed` or `failed`.
    pub status: String,
    /// The type of the objective, such as `navigate`, `extract` or `synthesize`.
    pub objective_type: String,
    /// The objective, for people.
    pub objective_description: String,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl MissionReference {
    /// Creates a reference from the mission's id, status, objective type and objective.
    pub fn new(
        mission_id: impl Into<String>,
        status: impl Into<String>,
        objective_type: impl Into<String>,
        objective_description: impl Into<String>,
    ) -> Self {
        Self {
            mission_id: mission_id.into(),
            status: status.into(),
            objective_type: objective_type.into(),
            objective_description: objective_description.into(),
            extra: Map::new(),
        }
    }
}

/// Converts the mission to the content of a mission draft.
impl From<&MissionReference> for Value {
    fn from(mission: &MissionReference) -> Self {
        document_of(mission)
    }
}

/// A reference to a signal that was emitted while the answer was produced.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SignalReference {
    /// The type of the signal, such as `selector_outcome`.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub signal_type: String,
    /// The layer of the signal, such as `selector`, `intent`, `mission` or `aggregate`.
    pub signal_layer: String,
    /// The component that emitted the signal.
    pub signal_source: String,
    /// The time of the signal, written with microseconds.
    #[serde(with = "wire_time")]
    #[cfg_attr(feature = "schema", schemars(with = "String", regex(pattern = TIME_PATTERN)))]
    pub timestamp: Timestamp,
    /// A summary for people.
    #[serde(default)]
    pub summary: Option<String>,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl SignalReference {
    /// Creates a signal without a summary.
    pub fn new(
        signal_type: impl Into<String>,
        signal_layer: impl Into<String>,
        signal_source: impl Into<String>,
        timestamp: Timestamp,
    ) -> Self {
        Self {
            signal_type: signal_type.into(),
            signal_layer: signal_layer.into(),
            signal_source: signal_source.into(),
            timestamp: wire_time::held(timestamp),
            summary: None,
            extra: Map::new(),
        }
    }

    /// Adds a summary for people.
    #[must_use]
    pub fn with_summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }
}

/// Converts the signal to an entry of a signal batch.
impl From<&SignalReference> for Value {
    fn from(signal: &SignalReference) -> Self {
        document_of(signal)
    }
}

/// Suggestions for the display of an answer. A user interface may ignore them.
///
/// ```
/// use answerback_contracts::ui::UiHints;
///
/// let hints = UiHints::default().with_priority("urgent").with_actions(["Approve", "Reject"]);
/// assert!(UiHints::PRIORITIES.contains(&hints.priority.as_deref().unwrap()));
/// ```
#[doc(alias = "UIHints")]
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct UiHints {
    /// The layout, one of [`UiHints::LAYOUTS`].
    pub layout: Option<String>,
    /// The priority, one of [`UiHints::PRIORITIES`].
    pub priority: Option<String>,
    /// Actions that a person is likely to take next.
    pub suggested_actions: Vec<String>,
    /// The color scheme, one of [`UiHints::COLOR_SCHEMES`].
    pub color_scheme: Option<String>,
    /// A symbol, such as `clipboard`, `alert` or `checkmark`.
    pub icon: Option<String>,
    /// True if the answer can be collapsed, which is the default.
    pub expandable: bool,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl UiHints {
    /// The layouts that readers know.
    pub const LAYOUTS: [&'static str; 4] = ["fullscreen", "split", "inline", "modal"];
    /// The priorities that readers know.
    pub const PRIORITIES: [&'static str; 3] = ["urgent", "normal", "low"];
    /// The color schemes that readers know.
    pub const COLOR_SCHEMES: [&'static str; 4] = ["success", "warning", "error", "info"];

    /// Sets the layout, one of [`UiHints::LAYOUTS`].
    #[must_use]
    pub fn with_layout(mut self, layout: impl Into<String>) -> Self {
        self.layout = Some(layout.into());
        self
    }

    /// Sets the priority, one of [`UiHints::PRIORITIES`].
    #[must_use]
    pub fn with_priority(mut self, priority: impl Into<String>) -> Self {
        self.priority = Some(priority.into());
        self
    }

    /// Replaces the suggested actions.
    #[must_use]
    pub fn with_actions(mut self, actions: impl IntoIterator<Item: Into<String>>) -> Self {
        self.suggested_actions = actions.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the color scheme, one of [`UiHints::COLOR_SCHEMES`].
    #[must_use]
    pub fn with_color_scheme(mut self, scheme: impl Into<String>) -> Self {
        self.color_scheme = Some(scheme.into());
        self
    }

    /// Sets the icon.
    #[must_use]
    pub fn with_icon(mut self, icon: impl Into<String>) -> Self {
        self.icon = Some(icon.into());
        self
    }

    /// Allows or forbids collapsing the response.
    #[must_use]
    pub fn with_expandable(mut self, expandable: bool) -> Self {
        self.expandable = expandable;
        self
    }
}

impl Default for UiHints {
    fn default() -> Self {
        Self {
            layout: None,
            priority: None,
            suggested_actions: Vec::new(),
            color_scheme: None,
            icon: None,
            expandable: true,
            extra: Map::new(),
        }
    }
}

/// The pattern of accepted times. `format: date-time` would reject a time without a zone.
#[cfg(feature = "schema")]
const TIME_PATTERN: &str =
    r"^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d([.,]\d{1,9})?([Zz]|[+-]\d\d(:?\d\d)?)?$";

fn document_of(data: &impl Serialize) -> Value {
    // Serializing plain data into a tree cannot fail.
    serde_json::to_value(data).unwrap_or_default()
}

/// Reads and writes the times of this contract.
mod wire_time {
    use answerback_json::time::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Returns the time in the precision of the wire format, rounded down to a microsecond.
    pub(super) fn held(time: Timestamp) -> Timestamp {
        let micros = time.nanos_since(Timestamp::from_unix_micros(0)).div_euclid(1_000);
        i64::try_from(micros).map_or(time, Timestamp::from_unix_micros)
    }

    pub(super) fn serialize<S: Serializer>(
        time: &Timestamp,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&time.to_offset_micros())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Timestamp, D::Error> {
        Timestamp::deserialize(deserializer).map(held)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_read_is_written_again() {
        let document = json!({
            "later": {"x": 1},
            "response_type": "artifact_bundle", "summary": "Done",
            "timestamp": "2026-02-07T22:07:00.123456789+02:00",
            "artifacts": [{
                "artifact_type": "table", "title": "T", "tag": "kept",
                "content": {"columns": ["a"], "rows": [[1]], "row_count": 7, "note": "kept"},
            }],
            "missions_spawned": [{
                "mission_id": "m", "status": "", "objective_type": "x",
                "objective_description": "", "owner": "kept",
            }],
            "signals_emitted": [{
                "signal_type": "s", "signal_layer": "l", "signal_source": "o",
                "timestamp": "2026-02-07 20:07:00", "weight": 2,
            }],
            "ui_hints": {"layout": "sideways", "theme": "kept"},
        });
        let envelope = ResponseEnvelope::from_document(&document).unwrap();
        assert_eq!(ResponseEnvelope::from_document(&envelope.to_document()).unwrap(), envelope);
        insta::assert_snapshot!(serde_json::to_string_pretty(&envelope).unwrap(), @r#"
        {
          "response_type": "artifact_bundle",
          "summary": "Done",
          "artifacts": [
            {
              "artifact_type": "table",
              "title": "T",
              "content": {
                "columns": [
                  "a"
                ],
                "rows": [
                  [
                    1
                  ]
                ],
                "row_count": 1,
                "column_count": 1,
                "note": "kept"
              },
              "metadata": {},
              "tag": "kept"
            }
          ],
          "missions_spawned": [
            {
              "mission_id": "m",
              "status": "",
              "objective_type": "x",
              "objective_description": "",
              "owner": "kept"
            }
          ],
          "signals_emitted": [
            {
              "signal_type": "s",
              "signal_layer": "l",
              "signal_source": "o",
              "timestamp": "2026-02-07T20:07:00.000000+00:00",
              "summary": null,
              "weight": 2
            }
          ],
          "live_stream_id": null,
          "ui_hints": {
            "layout": "sideways",
            "priority": null,
            "suggested_actions": [],
            "color_scheme": null,
            "icon": null,
            "expandable": true,
            "theme": "kept"
          },
          "timestamp": "2026-02-07T20:07:00.123456+00:00",
          "metadata": {},
          "later": {
            "x": 1
          }
        }
        "#);
    }

    #[test]
    fn the_text_is_the_document() {
        let envelope = ResponseEnvelope::new(
            ResponseType::Text,
            "Done".to_owned(),
            Timestamp::from_unix_millis(0),
        );
        let read: Value = serde_json::from_str(&envelope.to_json()).unwrap();
        assert_eq!(read, envelope.to_document());
    }

    #[test]
    fn a_document_that_breaks_a_rule_is_refused() {
        let refused = ResponseEnvelope::from_document(&json!({"summary": "x"})).unwrap_err();
        assert_eq!(refused.findings.len(), 2);
    }
}
