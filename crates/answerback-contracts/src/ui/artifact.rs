use std::fmt;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::content::{
    ChartArtifact, CodeBlockArtifact, DocumentArtifact, FileReferenceArtifact, TableArtifact,
    TimelineArtifact,
};

/// The type of an artifact's content.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "the contract defines exactly these nine")]
pub enum ArtifactType {
    /// Rows under columns.
    Table,
    /// Data for a chart.
    Chart,
    /// Sections of text.
    Document,
    /// Source code.
    CodeBlock,
    /// Events in time.
    Timeline,
    /// A file outside the envelope.
    FileReference,
    /// Any JSON value.
    JsonData,
    /// A mission that waits for approval.
    MissionDraft,
    /// Several signals.
    SignalBatch,
}

impl ArtifactType {
    /// All types, in the order of the contract.
    pub const ALL: [Self; 9] = [
        Self::Table,
        Self::Chart,
        Self::Document,
        Self::CodeBlock,
        Self::Timeline,
        Self::FileReference,
        Self::JsonData,
        Self::MissionDraft,
        Self::SignalBatch,
    ];

    /// Returns the word used on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Chart => "chart",
            Self::Document => "document",
            Self::CodeBlock => "code_block",
            Self::Timeline => "timeline",
            Self::FileReference => "file_reference",
            Self::JsonData => "json_data",
            Self::MissionDraft => "mission_draft",
            Self::SignalBatch => "signal_batch",
        }
    }
}

impl fmt::Display for ArtifactType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A structured output: `{artifact_type, title, content, metadata}`.
///
/// ```
/// use answerback_contracts::ui::{Artifact, ArtifactType, CodeBlockArtifact};
///
/// let artifact = Artifact::new("Script", CodeBlockArtifact::new("print(1)", "python"));
/// assert_eq!(artifact.artifact_type(), ArtifactType::CodeBlock);
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "ArtifactMembers")]
#[non_exhaustive]
pub struct Artifact {
    /// The title shown above the artifact.
    pub title: String,
    /// The content, which also determines the type.
    pub content: ArtifactContent,
    /// Further data about the artifact.
    pub metadata: Map<String, Value>,
    /// Members that the contract does not define, stored unchanged.
    pub extra: Map<String, Value>,
}

impl Artifact {
    /// Creates an artifact without metadata.
    pub fn new(title: impl Into<String>, content: impl Into<ArtifactContent>) -> Self {
        Self {
            title: title.into(),
            content: content.into(),
            metadata: Map::new(),
            extra: Map::new(),
        }
    }

    /// Adds a member to the metadata.
    #[must_use]
    pub fn with_metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }

    /// Returns the type of the artifact.
    pub const fn artifact_type(&self) -> ArtifactType {
        self.content.artifact_type()
    }
}

/// The content of an artifact.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[expect(clippy::exhaustive_enums, reason = "the contract defines exactly these nine")]
pub enum ArtifactContent {
    /// Rows under columns.
    Table(TableArtifact),
    /// Data for a chart.
    Chart(ChartArtifact),
    /// Sections of text.
    Document(DocumentArtifact),
    /// Source code.
    CodeBlock(CodeBlockArtifact),
    /// Events in time.
    Timeline(TimelineArtifact),
    /// A file outside the envelope.
    FileReference(FileReferenceArtifact),
    /// Any JSON value.
    JsonData(Value),
    /// A mission that waits for approval, in any form.
    MissionDraft(Value),
    /// Several signals, in any form.
    SignalBatch(Value),
}

impl ArtifactContent {
    /// Returns the type of this content.
    pub const fn artifact_type(&self) -> ArtifactType {
        match self {
            Self::Table(_) => ArtifactType::Table,
            Self::Chart(_) => ArtifactType::Chart,
            Self::Document(_) => ArtifactType::Document,
            Self::CodeBlock(_) => ArtifactType::CodeBlock,
            Self::Timeline(_) => ArtifactType::Timeline,
            Self::FileReference(_) => ArtifactType::FileReference,
            Self::JsonData(_) => ArtifactType::JsonData,
            Self::MissionDraft(_) => ArtifactType::MissionDraft,
            Self::SignalBatch(_) => ArtifactType::SignalBatch,
        }
    }

    fn read(artifact_type: ArtifactType, content: Value) -> Result<Self, serde_json::Error> {
        Ok(match artifact_type {
            ArtifactType::Table => Self::Table(serde_json::from_value(content)?),
            ArtifactType::Chart => Self::Chart(serde_json::from_value(content)?),
            ArtifactType::Document => Self::Document(serde_json::from_value(content)?),
            ArtifactType::CodeBlock => Self::CodeBlock(serde_json::from_value(content)?),
            ArtifactType::Timeline => Self::Timeline(serde_json::from_value(content)?),
            ArtifactType::FileReference => Self::FileReference(serde_json::from_value(content)?),
            ArtifactType::JsonData => Self::JsonData(content),
            ArtifactType::MissionDraft => Self::MissionDraft(content),
            ArtifactType::SignalBatch => Self::SignalBatch(content),
        })
    }
}

/// Implements `From` for typed content. Free-form content must name its variant.
macro_rules! typed_content {
    ($($content:ident => $variant:ident),+ $(,)?) => {$(
        impl From<$content> for ArtifactContent {
            fn from(content: $content) -> Self {
                Self::$variant(content)
            }
        }
    )+};
}

typed_content! {
    TableArtifact => Table,
    ChartArtifact => Chart,
    DocumentArtifact => Document,
    CodeBlockArtifact => CodeBlock,
    TimelineArtifact => Timeline,
    FileReferenceArtifact => FileReference,
}

impl Serialize for Artifact {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(None)?;
        members.serialize_entry("artifact_type", &self.artifact_type())?;
        members.serialize_entry("title", &self.title)?;
        members.serialize_entry("content", &self.content)?;
        members.serialize_entry("metadata", &self.metadata)?;
        for (name, value) in &self.extra {
            members.serialize_entry(name, value)?;
        }
        members.end()
    }
}

/// The form of an artifact on the wire. The content can only be parsed once the type is known.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ArtifactMembers {
    /// The type of the content.
    artifact_type: ArtifactType,
    /// The title shown above the artifact.
    title: String,
    /// The content, not parsed yet.
    content: Value,
    /// Further data about the artifact.
    #[serde(default)]
    metadata: Map<String, Value>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl TryFrom<ArtifactMembers> for Artifact {
    type Error = serde_json::Error;

    fn try_from(wire: ArtifactMembers) -> Result<Self, Self::Error> {
        Ok(Self {
            title: wire.title,
            content: ArtifactContent::read(wire.artifact_type, wire.content)?,
            metadata: wire.metadata,
            extra: wire.extra,
        })
    }
}

/// Describes an artifact. Its type decides which content is valid.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Artifact {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Artifact".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = ArtifactMembers::json_schema(generator);
        let typed = [
            (ArtifactType::Table, generator.subschema_for::<TableArtifact>()),
            (ArtifactType::Chart, generator.subschema_for::<ChartArtifact>()),
            (ArtifactType::Document, generator.subschema_for::<DocumentArtifact>()),
            (ArtifactType::CodeBlock, generator.subschema_for::<CodeBlockArtifact>()),
            (ArtifactType::Timeline, generator.subschema_for::<TimelineArtifact>()),
            (ArtifactType::FileReference, generator.subschema_for::<FileReferenceArtifact>()),
        ];
        let when = |(artifact_type, content): (ArtifactType, schemars::Schema)| {
            serde_json::json!({
                "if": {
                    "properties": {"artifact_type": {"const": artifact_type}},
                    "required": ["artifact_type"],
                },
                "then": {"properties": {"content": content}},
            })
        };
        schema.insert("allOf".to_owned(), typed.into_iter().map(when).collect());
        schema.insert("description".to_owned(), "A structured output.".into());
        schema
    }
}
