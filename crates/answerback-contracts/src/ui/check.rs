use answerback_findings::{Profile, Rule, ValidationError};
use answerback_json::ValuePath;
use answerback_json::time::Timestamp;
use serde_json::{Map, Value};

use super::types::{ResponseType, UiHints};
use super::{artifact_check, markup};
use crate::{ContractFindings, Invalid};

/// The settings for the check of a UI envelope.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct UiCheckOptions {
    /// The strictness of the check.
    pub profile: Profile,
    /// The largest size of an artifact's content, in bytes of compact JSON. Larger content belongs in a file.
    pub content_budget: usize,
}

impl UiCheckOptions {
    /// The default budget for an artifact's content: 64 KiB.
    pub const CONTENT_BUDGET: usize = 64 << 10;

    /// Sets the largest size of an artifact's content, in bytes.
    #[must_use]
    pub fn with_content_budget(mut self, bytes: usize) -> Self {
        self.content_budget = bytes;
        self
    }
}

impl Default for UiCheckOptions {
    fn default() -> Self {
        Self { profile: Profile::default(), content_budget: Self::CONTENT_BUDGET }
    }
}

impl From<Profile> for UiCheckOptions {
    fn from(profile: Profile) -> Self {
        Self { profile, ..Self::default() }
    }
}

/// Defines the rules of the UI envelope, each with its code.
pub mod rule {
    answerback_findings::rules! {
        NOT_AN_OBJECT = "UI-001", Error,
            "The envelope is a JSON object",
            "Everything that is shown is a member of it.",
            "Wrap the text: {\"response_type\": \"text\", \"summary\": ..., \"timestamp\": ...}.";
        MEMBER_MISSING = "UI-002", Error,
            "response_type, summary and timestamp are present",
            "They are the kind, the content and the time of the answer.",
            "Add the member. The builder writes all nine.";
        RESPONSE_TYPE_WRONG = "UI-003", Error,
            "response_type is one of the seven types",
            "User interfaces branch on it.",
            "Write text, table, report, forecast, live_execution, artifact_bundle or clarification_request.";
        SUMMARY_WRONG = "UI-004", Error,
            "summary is text that is not blank",
            "It is displayed when nothing else can be.",
            "Say in words what the answer is.";
        TIMESTAMP_WRONG = "UI-005", Error,
            "timestamp is an ISO 8601 date and time",
            "Answers and signals are sorted by time. A time without an offset counts as UTC.",
            "Write it such as 2026-02-07T20:07:00.000000+00:00.";
        LIST_WRONG = "UI-006", Error,
            "artifacts, missions_spawned and signals_emitted are arrays",
            "Readers process their entries in order.",
            "Write [] when there are none, or leave the member out.";
        METADATA_WRONG = "UI-007", Error,
            "metadata is an object",
            "Its members are looked up by name.",
            "Give the value a name, or leave metadata out.";
        STREAM_ID_WRONG = "UI-008", Error,
            "live_stream_id is a string that is not blank, or null",
            "It is the only way to find the stream.",
            "Write the stream's id, or null when there is no stream.";
        MEMBER_UNKNOWN = "UI-009", Warning,
            "The envelope has no other members",
            "Readers ignore them. Conversions preserve them.",
            "Put the value into metadata.";
        MARKUP = "UI-010", Warning,
            "Text is text: no HTML, no event handlers, no links that run scripts",
            "The envelope is data. A careless renderer would execute markup; ours displays it as text.",
            "Write plain text or Markdown. Put code into a code_block.";

        ARTIFACT_WRONG = "UI-011", Error,
            "An artifact is an object",
            "Its type, title and content are looked up by name.",
            "Write {\"artifact_type\": ..., \"title\": ..., \"content\": ...}.";
        ARTIFACT_MEMBER_MISSING = "UI-012", Error,
            "An artifact has artifact_type, title and content",
            "Without a type it cannot be displayed, and without a title it cannot be referred to.",
            "Add the member.";
        ARTIFACT_TYPE_WRONG = "UI-013", Error,
            "artifact_type is one of the nine types",
            "It decides how the content is read.",
            "Write table, chart, document, code_block, timeline, file_reference, json_data, mission_draft or signal_batch.";
        TITLE_WRONG = "UI-014", Error,
            "An artifact's title is a string",
            "It is shown above the content.",
            "Write a title.";
        CONTENT_WRONG = "UI-015", Error,
            "The content of a typed artifact is an object",
            "Its members are looked up by name. Only json_data, mission_draft and signal_batch are free.",
            "Write the members of the type, or use json_data.";
        CONTENT_MEMBER_MISSING = "UI-016", Error,
            "The content has the members of its type",
            "There is nothing to show without them. Counts may be left out, they are computed.",
            "Add the member.";
        CONTENT_LARGE = "UI-017", Warning,
            "An artifact's content stays within its budget",
            "A large artifact slows down every reader, even one that only needs the summary.",
            "Write the data to a file and send a file_reference, or send the part that matters.";
        COUNT_WRONG = "UI-018", Error / Warning,
            "row_count, column_count, section_count, line_count and event_count are right",
            "Readers use them for layout and paging before they read the data.",
            "Leave the counts to the builder, or leave them out.";
        COLUMNS_WRONG = "UI-019", Error,
            "columns is an array of strings",
            "They are the headings of the table.",
            "Name each column.";
        ROWS_WRONG = "UI-020", Error,
            "rows is an array of arrays",
            "A cell is found by its position.",
            "Write each row as an array with one cell for each column.";
        ROW_RAGGED = "UI-021", Error / Warning,
            "A row has one cell for each column",
            "In a shorter or longer row the cells appear in the wrong columns.",
            "Write null for an empty cell.";
        CHART_TYPE_WRONG = "UI-022", Error,
            "chart_type is a string",
            "It decides how the data is drawn.",
            "Write line, bar, pie or scatter.";
        CHART_TYPE_UNKNOWN = "UI-023", Warning,
            "chart_type is line, bar, pie or scatter",
            "Readers know these four. They draw nothing, or another chart, for any other type.",
            "Use one of the four.";
        CHART_DATA_WRONG = "UI-024", Error,
            "A chart's data is an object",
            "Its labels and datasets are looked up by name.",
            "Write {\"labels\": [...], \"datasets\": [{\"label\": ..., \"data\": [...]}]}.";
        CHART_SHAPE_WRONG = "UI-025", Warning,
            "A chart has labels, and datasets with data",
            "A reader that does not find them has nothing to draw. A scatter chart of points needs no labels.",
            "Write {\"labels\": [...], \"datasets\": [{\"label\": ..., \"data\": [...]}]}.";
        CHART_LENGTH_WRONG = "UI-026", Warning,
            "A dataset has one value for each label",
            "Values without a label are left out, labels without a value leave a gap.",
            "Write null where there is no value.";
        CHART_VALUE_WRONG = "UI-027", Warning,
            "A value of a chart is a number, a point of x and y, or null",
            "Nothing else has a place on an axis.",
            "Write the number, not its text.";
        FORMAT_WRONG = "UI-028", Error,
            "A document's format is a string that is not blank",
            "It is the format of the sections.",
            "Write markdown.";
        SECTIONS_WRONG = "UI-029", Error,
            "sections is an array of objects",
            "Each is shown as a heading and a text.",
            "Write {\"heading\": ..., \"content\": ...} for each.";
        SECTION_INCOMPLETE = "UI-030", Warning,
            "A section has a heading and content, both strings",
            "Readers show these two and nothing else.",
            "Add the member as a string.";
        CODE_WRONG = "UI-031", Error,
            "code and language are strings",
            "The code is displayed unchanged, with highlighting for its language.",
            "Write the code as one string with line breaks, and the language as a word.";
        EVENTS_WRONG = "UI-032", Error,
            "events is an array of objects",
            "Each is shown as a time and what happened then.",
            "Write {\"timestamp\": ..., \"event\": ...} for each.";
        EVENT_TIME_WRONG = "UI-033", Warning,
            "An event's timestamp is an ISO 8601 date and time",
            "An event without a time cannot be placed on the timeline.",
            "Write it such as 2026-02-07T20:07:00Z.";
        EVENT_TEXT_WRONG = "UI-034", Warning,
            "An event has a description",
            "A time alone is no information.",
            "Write it into event, in words.";
        SPAN_WRONG = "UI-035", Error / Warning,
            "start_time and end_time are those of the first and the last event",
            "Readers scale the timeline by them.",
            "Leave them to the builder, or leave them out; null when there are no events.";
        FILE_WRONG = "UI-036", Error,
            "file_path is a string that is not blank, file_type a string",
            "Without a path the file cannot be found.",
            "Write the path and the type of the file, such as csv.";
        FILE_SIZE_WRONG = "UI-037", Error,
            "size_bytes is a whole number, 0 or more, or null",
            "It is shown and summed.",
            "Write the size in bytes, or null when it is not known.";

        MISSION_WRONG = "UI-038", Error,
            "A mission is an object with mission_id, status, objective_type and objective_description",
            "People use these to decide about the mission.",
            "Add the member; status, objective_type and objective_description are strings.";
        MISSION_ID_WRONG = "UI-039", Error,
            "mission_id is a string that is not blank",
            "An approval refers to its mission by this id.",
            "Write the mission's id.";
        SIGNAL_WRONG = "UI-040", Error,
            "A signal is an object with signal_type, signal_layer, signal_source and timestamp",
            "Signals are grouped by these.",
            "Add the member; layer and source are strings, summary is a string or null.";
        SIGNAL_TYPE_WRONG = "UI-041", Error,
            "signal_type is a string that is not blank",
            "It is the meaning of the signal.",
            "Write the type, such as selector_outcome.";
        HINTS_WRONG = "UI-042", Error,
            "ui_hints is an object, or null",
            "Hints are looked up by name.",
            "Write null when there are none.";
        HINT_WRONG = "UI-043", Error,
            "layout, priority, color_scheme and icon are strings or null, suggested_actions an array of strings, expandable true or false",
            "A hint of another type cannot be followed.",
            "Fix the hint, or leave it out.";
        HINT_UNKNOWN = "UI-044", Warning,
            "layout, priority and color_scheme are words that readers know",
            "Readers ignore unknown hints.",
            "layout: fullscreen, split, inline, modal; priority: urgent, normal, low; color_scheme: success, warning, error, info.";
    }
}
pub use rule::RULES;

/// Checks a UI envelope and returns every finding.
///
/// ```
/// use answerback_findings::Profile;
/// use answerback_contracts::ui;
///
/// let findings = ui::check(&serde_json::json!({"response_type": "text", "summary": ""}), Profile::Strict);
/// let places: Vec<&str> = findings.iter().map(|finding| finding.field_path.as_str()).collect();
/// assert_eq!(places, ["/summary", "/timestamp"]);
/// ```
pub fn check(document: &Value, options: impl Into<UiCheckOptions>) -> Vec<ValidationError> {
    let options = options.into();
    let mut report = ContractFindings::new(options.profile);
    if let Some(members) = report.root(&rule::NOT_AN_OBJECT, document) {
        let mut envelope = UiEnvelopeCheck { report: &mut report, members };
        envelope.answer();
        envelope.list("artifacts", |report, place, artifact| {
            artifact_check::artifact(report, place, artifact, options.content_budget);
        });
        envelope.list("missions_spawned", mission);
        envelope.list("signals_emitted", signal);
        envelope.optional_members();
        report.unknown_members(&rule::MEMBER_UNKNOWN, &ValuePath::Root, members, MEMBERS);
    }
    report.into_findings()
}

/// Checks a UI envelope against the strict profile, for use in assertions.
///
/// # Errors
///
/// Returns [`Invalid`] with every finding if the document does not meet the contract.
#[doc(alias = "ResponseValidationError")]
pub fn validate_response_envelope(document: &Value) -> Result<(), Invalid> {
    Invalid::unless_valid(check(document, Profile::Strict))
}

const MEMBERS: &[&str] = &[
    "response_type",
    "summary",
    "artifacts",
    "missions_spawned",
    "signals_emitted",
    "live_stream_id",
    "ui_hints",
    "timestamp",
    "metadata",
];

type Members = Map<String, Value>;

struct UiEnvelopeCheck<'c, 'd> {
    report: &'c mut ContractFindings,
    members: &'d Members,
}

impl<'d> UiEnvelopeCheck<'_, 'd> {
    fn required(&mut self, name: &str, expected: &str) -> Option<&'d Value> {
        self.report.required(&rule::MEMBER_MISSING, &ValuePath::Root, self.members, name, expected)
    }

    /// Checks the type, the summary and the timestamp of the response.
    fn answer(&mut self) {
        if let Some(value) = self.required("response_type", "one of the seven types") {
            let place = ValuePath::Root.key("response_type");
            let words = ResponseType::ALL.map(ResponseType::as_str);
            self.report.one_of(&rule::RESPONSE_TYPE_WRONG, &place, value, &words);
        }
        if let Some(value) = self.required("summary", "the answer in words") {
            let place = ValuePath::Root.key("summary");
            if let Some(summary) = self.report.text(&rule::SUMMARY_WRONG, &place, value) {
                plain(self.report, &place, summary);
            }
        }
        if let Some(value) = self.required("timestamp", ISO_8601) {
            timestamp(
                self.report,
                &rule::TIMESTAMP_WRONG,
                &ValuePath::Root.key("timestamp"),
                value,
            );
        }
    }

    fn list(&mut self, name: &str, check: impl Fn(&mut ContractFindings, &ValuePath<'_>, &Value)) {
        let Some(value) = self.members.get(name) else { return };
        let place = ValuePath::Root.key(name);
        let entries = self.report.array(&rule::LIST_WRONG, &place, value).unwrap_or_default();
        for (index, entry) in entries.iter().enumerate() {
            check(self.report, &place.index(index), entry);
        }
    }

    /// Checks the stream, the hints and the metadata.
    fn optional_members(&mut self) {
        if let Some(id) = non_null(self.members, "live_stream_id") {
            self.report.text(&rule::STREAM_ID_WRONG, &ValuePath::Root.key("live_stream_id"), id);
        }
        if let Some(value) = non_null(self.members, "ui_hints") {
            let place = ValuePath::Root.key("ui_hints");
            if let Some(members) = self.report.object(&rule::HINTS_WRONG, &place, value) {
                hints(self.report, &place, members);
            }
        }
        metadata(self.report, &ValuePath::Root, self.members);
    }
}

fn mission(report: &mut ContractFindings, place: &ValuePath<'_>, value: &Value) {
    let Some(members) = report.object(&rule::MISSION_WRONG, place, value) else { return };
    let id = "the mission's id";
    if let Some(value) = report.required(&rule::MISSION_ID_WRONG, place, members, "mission_id", id)
    {
        report.text(&rule::MISSION_ID_WRONG, &place.key("mission_id"), value);
    }
    for name in ["status", "objective_type", "objective_description"] {
        words(report, &rule::MISSION_WRONG, place, members, name);
    }
}

fn signal(report: &mut ContractFindings, place: &ValuePath<'_>, value: &Value) {
    let Some(members) = report.object(&rule::SIGNAL_WRONG, place, value) else { return };
    let kind = "what the signal says";
    if let Some(value) =
        report.required(&rule::SIGNAL_TYPE_WRONG, place, members, "signal_type", kind)
    {
        report.text(&rule::SIGNAL_TYPE_WRONG, &place.key("signal_type"), value);
    }
    for name in ["signal_layer", "signal_source"] {
        words(report, &rule::SIGNAL_WRONG, place, members, name);
    }
    if let Some(value) = report.required(&rule::SIGNAL_WRONG, place, members, "timestamp", ISO_8601)
    {
        timestamp(report, &rule::TIMESTAMP_WRONG, &place.key("timestamp"), value);
    }
    if let Some(value) = non_null(members, "summary") {
        let place = place.key("summary");
        if let Some(text) = report.string(&rule::SIGNAL_WRONG, &place, value) {
            plain(report, &place, text);
        }
    }
}

fn hints(report: &mut ContractFindings, place: &ValuePath<'_>, members: &Members) {
    let listed: [(&str, &[&str]); 4] = [
        ("layout", &UiHints::LAYOUTS),
        ("priority", &UiHints::PRIORITIES),
        ("color_scheme", &UiHints::COLOR_SCHEMES),
        ("icon", &[]),
    ];
    for (name, known) in listed {
        let Some(value) = non_null(members, name) else { continue };
        let place = place.key(name);
        if let Some(word) = report.string(&rule::HINT_WRONG, &place, value)
            && !known.is_empty()
            && !known.contains(&word)
        {
            let expected = format!("one of: {}", known.join(", "));
            report.wrong(&rule::HINT_UNKNOWN, &place, value, expected);
        }
    }
    if let Some(value) = members.get("suggested_actions") {
        let place = place.key("suggested_actions");
        let actions = report.array(&rule::HINT_WRONG, &place, value).unwrap_or_default();
        for (index, action) in actions.iter().enumerate() {
            let place = place.index(index);
            if let Some(text) = report.string(&rule::HINT_WRONG, &place, action) {
                plain(report, &place, text);
            }
        }
    }
    if let Some(value) = members.get("expandable") {
        report.boolean(&rule::HINT_WRONG, &place.key("expandable"), value);
    }
}

/// Checks the metadata of the envelope or of an artifact.
pub(super) fn metadata(report: &mut ContractFindings, place: &ValuePath<'_>, members: &Members) {
    if let Some(value) = members.get("metadata") {
        report.object(&rule::METADATA_WRONG, &place.key("metadata"), value);
    }
}

/// Checks a required string for people. It may be empty.
pub(super) fn words(
    report: &mut ContractFindings,
    rule: &'static Rule,
    place: &ValuePath<'_>,
    members: &Members,
    name: &str,
) {
    if let Some(value) = report.required(rule, place, members, name, "a string") {
        let place = place.key(name);
        if let Some(text) = report.string(rule, &place, value) {
            plain(report, &place, text);
        }
    }
}

/// Warns of markup or script code in a text.
pub(super) fn plain(report: &mut ContractFindings, place: &ValuePath<'_>, text: &str) {
    if let Some(code) = markup::find(text) {
        let found = report.add(&rule::MARKUP, place, format!("the text holds code: {code:?}"));
        found.expected_value = Some("plain text or Markdown".to_owned());
        found.actual_value = Some(code.to_owned());
    }
}

pub(super) const ISO_8601: &str = "an ISO 8601 date and time such as 2026-02-07T20:07:00Z";

/// Checks that the value is a date and time. Without a zone it counts as UTC.
pub(super) fn timestamp(
    report: &mut ContractFindings,
    rule: &'static Rule,
    place: &ValuePath<'_>,
    value: &Value,
) {
    if value.as_str().is_none_or(|text| Timestamp::parse(text).is_err()) {
        report.wrong(rule, place, value, ISO_8601);
    }
}

/// Returns an optional member. A `null` counts as absent.
pub(super) fn non_null<'d>(members: &'d Members, name: &str) -> Option<&'d Value> {
    members.get(name).filter(|value| !value.is_null())
}
