//! Defines the content of artifacts. Counts and time spans are computed whenever content is written. The
//! values that a parsed document has for them are dropped.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A table: `{columns, rows, row_count, column_count}`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = schema::table))]
#[serde(remote = "Self")]
#[non_exhaustive]
pub struct TableArtifact {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, each with one cell a column.
    pub rows: Vec<Vec<Value>>,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl TableArtifact {
    /// Creates a table from its columns and rows.
    ///
    /// ```
    /// use answerback_contracts::ui::TableArtifact;
    ///
    /// let table = TableArtifact::new(["Name", "Status"], [["Ada", "active"], ["Bo", "idle"]]);
    /// assert_eq!((table.row_count(), table.column_count()), (2, 2));
    /// ```
    pub fn new(
        columns: impl IntoIterator<Item: Into<String>>,
        rows: impl IntoIterator<Item: IntoIterator<Item: Into<Value>>>,
    ) -> Self {
        Self {
            columns: columns.into_iter().map(Into::into).collect(),
            rows: rows.into_iter().map(|row| row.into_iter().map(Into::into).collect()).collect(),
            extra: Map::new(),
        }
    }

    /// Returns the number of rows.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of columns.
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }
}

/// A chart: `{chart_type, data}`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ChartArtifact {
    /// The type of chart, one of [`ChartArtifact::TYPES`].
    pub chart_type: String,
    /// The data of the chart: `labels`, and `datasets` of `label` and `data`.
    pub data: Map<String, Value>,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl ChartArtifact {
    /// The chart types that readers know.
    pub const TYPES: [&'static str; 4] = ["line", "bar", "pie", "scatter"];

    /// Creates a chart from its data.
    pub fn new(chart_type: impl Into<String>, data: Map<String, Value>) -> Self {
        Self { chart_type: chart_type.into(), data, extra: Map::new() }
    }

    /// Creates a chart with these labels and no dataset.
    pub fn over(
        chart_type: impl Into<String>,
        labels: impl IntoIterator<Item: Into<Value>>,
    ) -> Self {
        let labels = labels.into_iter().map(Into::into).collect();
        let mut data = Map::new();
        data.insert("labels".to_owned(), Value::Array(labels));
        data.insert("datasets".to_owned(), Value::Array(Vec::new()));
        Self::new(chart_type, data)
    }

    /// Adds a dataset: a name, and one value for each label.
    ///
    /// ```
    /// use answerback_contracts::ui::ChartArtifact;
    ///
    /// let chart = ChartArtifact::over("line", ["Jan", "Feb"]).with_dataset("Sales", [100, 200]);
    /// assert_eq!(chart.data["datasets"][0]["data"][1], 200);
    /// ```
    #[must_use]
    pub fn with_dataset(
        mut self,
        label: impl Into<String>,
        values: impl IntoIterator<Item: Into<Value>>,
    ) -> Self {
        let values: Vec<Value> = values.into_iter().map(Into::into).collect();
        let dataset = serde_json::json!({"label": label.into(), "data": values});
        let datasets = self.data.entry("datasets").or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(datasets) = datasets {
            datasets.push(dataset);
        } else {
            *datasets = Value::Array(vec![dataset]);
        }
        self
    }

    /// Counts the values of all datasets.
    pub fn point_count(&self) -> usize {
        let datasets = self.data.get("datasets").and_then(Value::as_array);
        let values = |dataset: &Value| dataset.get("data").and_then(Value::as_array).map(Vec::len);
        datasets.into_iter().flatten().filter_map(values).sum()
    }
}

/// A document: `{format, sections, section_count}`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = schema::document))]
#[serde(remote = "Self")]
#[non_exhaustive]
pub struct DocumentArtifact {
    /// The format of the sections, such as `markdown`.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub format: String,
    /// The sections, in reading order.
    pub sections: Vec<Section>,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl DocumentArtifact {
    /// Creates a document from its sections.
    pub fn new(format: impl Into<String>, sections: impl IntoIterator<Item = Section>) -> Self {
        Self { format: format.into(), sections: sections.into_iter().collect(), extra: Map::new() }
    }

    /// Creates a document in Markdown.
    pub fn markdown(sections: impl IntoIterator<Item = Section>) -> Self {
        Self::new("markdown", sections)
    }

    /// Returns the number of sections.
    pub fn section_count(&self) -> usize {
        self.sections.len()
    }
}

/// A section of a document: an object with any members. Readers know `heading` and `content`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
#[non_exhaustive]
pub struct Section {
    /// All members.
    pub members: Map<String, Value>,
}

impl Section {
    /// Creates a section with a heading and a text.
    pub fn new(heading: impl Into<String>, content: impl Into<String>) -> Self {
        Self::default().with("heading", heading.into()).with("content", content.into())
    }

    /// Sets a member.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.members.insert(name.into(), value.into());
        self
    }

    /// Returns the heading, if there is one.
    pub fn heading(&self) -> Option<&str> {
        self.members.get("heading")?.as_str()
    }

    /// Returns the text, if there is one.
    pub fn content(&self) -> Option<&str> {
        self.members.get("content")?.as_str()
    }
}

/// Source code: `{code, language, line_count}`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = schema::code_block))]
#[serde(remote = "Self")]
#[non_exhaustive]
pub struct CodeBlockArtifact {
    /// The code.
    pub code: String,
    /// The language it is written in.
    pub language: String,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl CodeBlockArtifact {
    /// Creates a block of code in this language.
    pub fn new(code: impl Into<String>, language: impl Into<String>) -> Self {
        Self { code: code.into(), language: language.into(), extra: Map::new() }
    }

    /// Returns the number of lines: one more than there are line breaks.
    pub fn line_count(&self) -> usize {
        line_count(&self.code)
    }
}

/// Counts the lines of code: one more than there are line breaks.
pub(super) fn line_count(code: &str) -> usize {
    code.bytes().filter(|byte| *byte == b'\n').count() + 1
}

/// A timeline of events: `{events, event_count, start_time, end_time}`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = schema::timeline))]
#[serde(remote = "Self")]
#[non_exhaustive]
pub struct TimelineArtifact {
    /// The events, from first to last.
    pub events: Vec<TimelineEvent>,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl TimelineArtifact {
    /// Creates a timeline from its events.
    pub fn new(events: impl IntoIterator<Item = TimelineEvent>) -> Self {
        Self { events: events.into_iter().collect(), extra: Map::new() }
    }

    /// Returns the number of events.
    pub fn event_count(&self) -> usize {
        self.events.len()
    }

    /// Returns the time of the first event, as it is written there.
    pub fn start_time(&self) -> Option<&str> {
        self.events.first()?.timestamp()
    }

    /// Returns the time of the last event, as it is written there.
    pub fn end_time(&self) -> Option<&str> {
        self.events.last()?.timestamp()
    }
}

/// An event of a timeline: an object with any members. Readers know `timestamp`, `event` and
/// `status`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
#[non_exhaustive]
pub struct TimelineEvent {
    /// All members.
    pub members: Map<String, Value>,
}

impl TimelineEvent {
    /// Creates an event at a time.
    pub fn new(timestamp: answerback_json::Timestamp, event: impl Into<String>) -> Self {
        Self::default().with("timestamp", timestamp.to_offset_micros()).with("event", event.into())
    }

    /// Sets the status, such as `success`.
    #[must_use]
    pub fn with_status(self, status: impl Into<String>) -> Self {
        self.with("status", status.into())
    }

    /// Sets a member.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.members.insert(name.into(), value.into());
        self
    }

    /// Returns the time of the event as it is written, if there is one.
    pub fn timestamp(&self) -> Option<&str> {
        self.members.get("timestamp")?.as_str()
    }

    /// Returns the description of the event, if there is one.
    pub fn event(&self) -> Option<&str> {
        self.members.get("event")?.as_str()
    }

    /// Returns the status, if there is one.
    pub fn status(&self) -> Option<&str> {
        self.members.get("status")?.as_str()
    }
}

/// A file outside the envelope: `{file_path, file_type, size_bytes}`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FileReferenceArtifact {
    /// The path of the file. It is displayed, never opened.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub file_path: String,
    /// The type of the file, such as `csv`.
    pub file_type: String,
    /// The size of the file, if it is known.
    #[serde(default)]
    pub size_bytes: Option<u64>,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl FileReferenceArtifact {
    /// Creates a reference to a file of unknown size.
    pub fn new(file_path: impl Into<String>, file_type: impl Into<String>) -> Self {
        Self {
            file_path: file_path.into(),
            file_type: file_type.into(),
            size_bytes: None,
            extra: Map::new(),
        }
    }

    /// Sets the size of the file.
    #[must_use]
    pub fn with_size(mut self, bytes: u64) -> Self {
        self.size_bytes = Some(bytes);
        self
    }
}

/// Implements serde for content with computed members. It writes the given members, then the computed ones,
/// then the unknown ones. Parsing drops the computed ones.
macro_rules! computed {
    ($content:ident { $($given:ident),+ } gives { $($computed:ident),+ }) => {
        impl Serialize for $content {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut members = serializer.serialize_map(None)?;
                $(members.serialize_entry(stringify!($given), &self.$given)?;)+
                $(members.serialize_entry(stringify!($computed), &self.$computed())?;)+
                for (name, value) in &self.extra {
                    members.serialize_entry(name, value)?;
                }
                members.end()
            }
        }

        impl<'de> Deserialize<'de> for $content {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut content = Self::deserialize(deserializer)?;
                $(content.extra.shift_remove(stringify!($computed));)+
                Ok(content)
            }
        }
    };
}

computed!(TableArtifact { columns, rows } gives { row_count, column_count });
computed!(DocumentArtifact { format, sections } gives { section_count });
computed!(CodeBlockArtifact { code, language } gives { line_count });
computed!(TimelineArtifact { events } gives { event_count, start_time, end_time });

/// Adds the computed members to the JSON Schemas. A document may omit them.
#[cfg(feature = "schema")]
mod schema {
    use schemars::Schema;
    use serde_json::{Value, json};

    pub(super) fn table(schema: &mut Schema) {
        add(schema, &["row_count", "column_count"], &count());
    }

    pub(super) fn document(schema: &mut Schema) {
        add(schema, &["section_count"], &count());
    }

    pub(super) fn code_block(schema: &mut Schema) {
        add(schema, &["line_count"], &count());
    }

    pub(super) fn timeline(schema: &mut Schema) {
        add(schema, &["event_count"], &count());
        add(schema, &["start_time", "end_time"], &json!({"type": ["string", "null"]}));
    }

    fn count() -> Value {
        json!({"type": "integer", "minimum": 0})
    }

    fn add(schema: &mut Schema, names: &[&str], form: &Value) {
        let properties = schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
        for name in names {
            properties[*name] = form.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rewritten<T: Serialize + for<'de> Deserialize<'de>>(document: Value) -> String {
        serde_json::to_string(&serde_json::from_value::<T>(document).unwrap()).unwrap()
    }

    #[test]
    fn counts_are_computed_whatever_was_said() {
        let table = json!({"note": 1, "row_count": 9, "rows": [["x"], ["y"]], "columns": ["a"]});
        insta::assert_snapshot!(rewritten::<TableArtifact>(table), @r#"{"columns":["a"],"rows":[["x"],["y"]],"row_count":2,"column_count":1,"note":1}"#);
        let document = json!({"sections": [{"heading": "H", "extra": 1}], "format": "markdown"});
        insta::assert_snapshot!(rewritten::<DocumentArtifact>(document), @r#"{"format":"markdown","sections":[{"heading":"H","extra":1}],"section_count":1}"#);
        let code =
            json!({"code": "a\nb\n", "language": "text", "line_count": null, "row_count": 4});
        insta::assert_snapshot!(rewritten::<CodeBlockArtifact>(code), @r#"{"code":"a\nb\n","language":"text","line_count":3,"row_count":4}"#);
        let events = json!({"events": [{"timestamp": "t1"}, {"timestamp": 2}], "end_time": "x"});
        insta::assert_snapshot!(rewritten::<TimelineArtifact>(events), @r#"{"events":[{"timestamp":"t1"},{"timestamp":2}],"event_count":2,"start_time":"t1","end_time":null}"#);
        insta::assert_snapshot!(rewritten::<TimelineArtifact>(json!({"events": []})), @r#"{"events":[],"event_count":0,"start_time":null,"end_time":null}"#);
        let file = json!({"file_type": "csv", "file_path": "a.csv"});
        insta::assert_snapshot!(rewritten::<FileReferenceArtifact>(file), @r#"{"file_path":"a.csv","file_type":"csv","size_bytes":null}"#);
    }

    #[test]
    fn datasets_are_added_whatever_was_there() {
        let mut chart = ChartArtifact::new("bar", Map::new()).with_dataset("a", [1, 2]);
        assert_eq!(chart.point_count(), 2);
        chart.data.insert("datasets".to_owned(), Value::Null);
        assert_eq!(chart.point_count(), 0);
        assert_eq!(chart.with_dataset("b", [1]).point_count(), 1);
    }
}
