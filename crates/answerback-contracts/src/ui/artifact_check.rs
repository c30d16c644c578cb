use answerback_findings::Rule;
use answerback_json::ValuePath;
use answerback_json::time::Timestamp;
use serde_json::{Map, Value};

use super::check::{ISO_8601, metadata, non_null, plain, rule, timestamp, words};
use super::content::{ChartArtifact, line_count};
use super::{ArtifactType, size};
use crate::ContractFindings;

type Members = Map<String, Value>;

/// Checks an artifact. Content of more than `budget` bytes is reported.
pub(super) fn artifact(
    report: &mut ContractFindings,
    place: &ValuePath<'_>,
    value: &Value,
    budget: usize,
) {
    let Some(members) = report.object(&rule::ARTIFACT_WRONG, place, value) else { return };
    let missing = &rule::ARTIFACT_MEMBER_MISSING;
    let kind = report
        .required(missing, place, members, "artifact_type", "one of the nine types")
        .and_then(|value| artifact_type(report, &place.key("artifact_type"), value));
    if let Some(value) = report.required(missing, place, members, "title", "a string") {
        let place = place.key("title");
        if let Some(title) = report.string(&rule::TITLE_WRONG, &place, value) {
            plain(report, &place, title);
        }
    }
    if let Some(value) = report.required(missing, place, members, "content", "what it holds") {
        let place = place.key("content");
        if let Some(kind) = kind {
            content(report, &place, kind, value);
        }
        if size::exceeds(value, budget) {
            let message = format!("the content takes more than {budget} bytes");
            report.add(&rule::CONTENT_LARGE, &place, message).expected_value =
                Some(format!("at most {budget} bytes, or a file_reference"));
        }
    }
    metadata(report, place, members);
}

fn artifact_type(
    report: &mut ContractFindings,
    place: &ValuePath<'_>,
    value: &Value,
) -> Option<ArtifactType> {
    let words = ArtifactType::ALL.map(ArtifactType::as_str);
    let word = report.one_of(&rule::ARTIFACT_TYPE_WRONG, place, value, &words)?;
    ArtifactType::ALL.into_iter().find(|kind| kind.as_str() == word)
}

fn content(
    report: &mut ContractFindings,
    place: &ValuePath<'_>,
    kind: ArtifactType,
    value: &Value,
) {
    let check = match kind {
        ArtifactType::Table => ContentCheck::table,
        ArtifactType::Chart => ContentCheck::chart,
        ArtifactType::Document => ContentCheck::document,
        ArtifactType::CodeBlock => ContentCheck::code_block,
        ArtifactType::Timeline => ContentCheck::timeline,
        ArtifactType::FileReference => ContentCheck::file_reference,
        ArtifactType::JsonData | ArtifactType::MissionDraft | ArtifactType::SignalBatch => return,
    };
    if let Some(members) = report.object(&rule::CONTENT_WRONG, place, value) {
        check(&mut ContentCheck { report, place, members });
    }
}

struct ContentCheck<'c, 'd> {
    report: &'c mut ContractFindings,
    place: &'c ValuePath<'c>,
    members: &'d Members,
}

impl<'d> ContentCheck<'_, 'd> {
    fn required(&mut self, name: &str, expected: &str) -> Option<&'d Value> {
        let missing = &rule::CONTENT_MEMBER_MISSING;
        self.report.required(missing, self.place, self.members, name, expected)
    }

    fn array(&mut self, rule: &'static Rule, name: &str) -> Option<&'d [Value]> {
        let value = self.required(name, "an array")?;
        self.report.array(rule, &self.place.key(name), value)
    }

    /// Checks a count. It may be absent, but must not be wrong.
    fn count(&mut self, name: &str, right: usize) {
        if let Some(value) = self.members.get(name)
            && value.as_u64() != u64::try_from(right).ok()
        {
            self.report.wrong(&rule::COUNT_WRONG, &self.place.key(name), value, right.to_string());
        }
    }

    fn table(&mut self) {
        let columns = self.array(&rule::COLUMNS_WRONG, "columns");
        let rows = self.array(&rule::ROWS_WRONG, "rows");
        let here = self.place.key("columns");
        for (index, column) in columns.unwrap_or_default().iter().enumerate() {
            let place = here.index(index);
            if let Some(name) = self.report.string(&rule::COLUMNS_WRONG, &place, column) {
                plain(self.report, &place, name);
            }
        }
        let here = self.place.key("rows");
        for (index, row) in rows.unwrap_or_default().iter().enumerate() {
            let place = here.index(index);
            let Some(cells) = self.report.array(&rule::ROWS_WRONG, &place, row) else { continue };
            if let Some(columns) = columns
                && cells.len() != columns.len()
            {
                let expected = format!("{} cells, one a column", columns.len());
                self.report.wrong(&rule::ROW_RAGGED, &place, row, expected);
            }
            for (index, cell) in cells.iter().enumerate() {
                if let Value::String(text) = cell {
                    plain(self.report, &place.index(index), text);
                }
            }
        }
        if let Some(rows) = rows {
            self.count("row_count", rows.len());
        }
        if let Some(columns) = columns {
            self.count("column_count", columns.len());
        }
    }

    fn chart(&mut self) {
        let mut is_scatter = false;
        if let Some(value) = self.required("chart_type", "line, bar, pie or scatter") {
            let place = self.place.key("chart_type");
            if let Some(word) = self.report.string(&rule::CHART_TYPE_WRONG, &place, value) {
                is_scatter = word == "scatter";
                if !ChartArtifact::TYPES.contains(&word) {
                    let known = "one of: line, bar, pie, scatter";
                    self.report.wrong(&rule::CHART_TYPE_UNKNOWN, &place, value, known);
                }
            }
        }
        if let Some(value) = self.required("data", "an object with labels and datasets") {
            let place = self.place.key("data");
            if let Some(data) = self.report.object(&rule::CHART_DATA_WRONG, &place, value) {
                chart_data(self.report, &place, data, is_scatter);
            }
        }
    }

    fn document(&mut self) {
        if let Some(format) = self.required("format", "a format such as markdown") {
            self.report.text(&rule::FORMAT_WRONG, &self.place.key("format"), format);
        }
        let Some(sections) = self.array(&rule::SECTIONS_WRONG, "sections") else { return };
        let here = self.place.key("sections");
        for (index, section) in sections.iter().enumerate() {
            let place = here.index(index);
            if let Some(members) = self.report.object(&rule::SECTIONS_WRONG, &place, section) {
                for name in ["heading", "content"] {
                    words(self.report, &rule::SECTION_INCOMPLETE, &place, members, name);
                }
            }
        }
        self.count("section_count", sections.len());
    }

    fn code_block(&mut self) {
        // Code may contain markup, so it is not searched for it.
        let code = self.required("code", "a string").and_then(|value| {
            self.report.string(&rule::CODE_WRONG, &self.place.key("code"), value)
        });
        if let Some(value) = self.required("language", "a language such as python") {
            self.report.string(&rule::CODE_WRONG, &self.place.key("language"), value);
        }
        if let Some(code) = code {
            self.count("line_count", line_count(code));
        }
    }

    fn timeline(&mut self) {
        let Some(events) = self.array(&rule::EVENTS_WRONG, "events") else { return };
        let here = self.place.key("events");
        for (index, event) in events.iter().enumerate() {
            let place = here.index(index);
            if let Some(members) = self.report.object(&rule::EVENTS_WRONG, &place, event) {
                let wrong = &rule::EVENT_TIME_WRONG;
                if let Some(time) =
                    self.report.required(wrong, &place, members, "timestamp", ISO_8601)
                {
                    timestamp(self.report, wrong, &place.key("timestamp"), time);
                }
                words(self.report, &rule::EVENT_TEXT_WRONG, &place, members, "event");
            }
        }
        self.count("event_count", events.len());
        self.span("start_time", events.first());
        self.span("end_time", events.last());
    }

    /// Checks the start or end time. It may be absent, but must be the time of the first or last event.
    fn span(&mut self, name: &str, event: Option<&Value>) {
        let Some(value) = self.members.get(name) else { return };
        let right = event.and_then(|event| event.get("timestamp")?.as_str());
        let is_right = match (value, right) {
            (Value::Null, None) => true,
            (Value::String(text), Some(right)) => text == right || same_time(text, right),
            _ => false,
        };
        if !is_right {
            let expected =
                right.map_or_else(|| "null".to_owned(), |_| "the time of that event".to_owned());
            self.report.wrong(&rule::SPAN_WRONG, &self.place.key(name), value, expected);
        }
    }

    fn file_reference(&mut self) {
        if let Some(path) = self.required("file_path", "where the file lies") {
            self.report.text(&rule::FILE_WRONG, &self.place.key("file_path"), path);
        }
        if let Some(kind) = self.required("file_type", "a type such as csv") {
            self.report.string(&rule::FILE_WRONG, &self.place.key("file_type"), kind);
        }
        if let Some(size) = non_null(self.members, "size_bytes")
            && !size.is_u64()
        {
            let whole = "a whole number, 0 or more, or null";
            self.report.wrong(&rule::FILE_SIZE_WRONG, &self.place.key("size_bytes"), size, whole);
        }
    }
}

/// Checks labels and datasets. A scatter chart may omit the labels, because its points have coordinates.
fn chart_data(
    report: &mut ContractFindings,
    place: &ValuePath<'_>,
    data: &Members,
    is_scatter: bool,
) {
    let shape = &rule::CHART_SHAPE_WRONG;
    let labels = if is_scatter && !data.contains_key("labels") {
        None
    } else {
        report
            .required(shape, place, data, "labels", "an array")
            .and_then(|value| report.array(shape, &place.key("labels"), value))
    };
    let here = place.key("labels");
    for (index, label) in labels.unwrap_or_default().iter().enumerate() {
        if let Value::String(text) = label {
            plain(report, &here.index(index), text);
        }
    }
    let here = place.key("datasets");
    let datasets = report
        .required(shape, place, data, "datasets", "an array")
        .and_then(|value| report.array(shape, &here, value));
    for (index, dataset) in datasets.unwrap_or_default().iter().enumerate() {
        let place = here.index(index);
        let Some(members) = report.object(shape, &place, dataset) else { continue };
        if let Some(Value::String(label)) = members.get("label") {
            plain(report, &place.key("label"), label);
        }
        let Some(value) = report.required(shape, &place, members, "data", "an array") else {
            continue;
        };
        let place = place.key("data");
        let Some(values) = report.array(shape, &place, value) else { continue };
        if let Some(labels) = labels
            && values.len() != labels.len()
        {
            let expected = format!("{} values, one a label", labels.len());
            report.wrong(&rule::CHART_LENGTH_WRONG, &place, value, expected);
        }
        for (index, value) in values.iter().enumerate() {
            if !is_chart_value(value) {
                let expected = "a number, a point of x and y, or null";
                report.wrong(&rule::CHART_VALUE_WRONG, &place.index(index), value, expected);
            }
        }
    }
}

fn is_chart_value(value: &Value) -> bool {
    match value {
        Value::Number(_) | Value::Null => true,
        Value::Object(point) => point.contains_key("x") && point.contains_key("y"),
        Value::Array(point) => point.len() == 2 && point.iter().all(Value::is_number),
        Value::Bool(_) | Value::String(_) => false,
    }
}

fn same_time(one: &str, other: &str) -> bool {
    let time = |text| Timestamp::parse(text).ok().map(|(time, _)| time);
    time(one).is_some_and(|one| time(other) == Some(one))
}
