use answerback_findings::{Profile, ValidationError};
use answerback_json::time::Timestamp;
use answerback_json::{UuidV4, ValuePath};
use answerback_redaction::is_blank;
use serde_json::{Map, Value};

use super::types::{EnvelopeStatus, SCHEMA_ID, same_tool};
use super::{ErrorCatalog, McpHost};
use crate::form::{is_code, is_relative_path, is_semver};
use crate::{ContractFindings, Invalid};

/// The settings for the check of a tool envelope.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct EnvelopeCheckOptions {
    /// The strictness of the check.
    pub profile: Profile,
    /// The known codes.
    pub catalogue: ErrorCatalog,
    /// The tool that was called. If set, the envelope must name it.
    pub tool: Option<String>,
}

impl EnvelopeCheckOptions {
    /// Sets the known codes.
    #[must_use]
    pub fn with_error_catalog(mut self, catalogue: ErrorCatalog) -> Self {
        self.catalogue = catalogue;
        self
    }

    /// Requires that the envelope names this tool.
    #[must_use]
    pub fn with_tool(mut self, tool: impl Into<String>) -> Self {
        self.tool = Some(tool.into());
        self
    }
}

impl From<Profile> for EnvelopeCheckOptions {
    fn from(profile: Profile) -> Self {
        Self { profile, ..Self::default() }
    }
}

/// Defines the rules of the tool envelope, each with its code.
pub mod rule {
    answerback_findings::rules! {
        NOT_AN_OBJECT = "TOOL-001", Error,
            "The envelope is a JSON object",
            "All information for a caller is a member of it.",
            "Wrap the output: put it into data and add the required members.";
        MEMBER_MISSING = "TOOL-002", Error,
            "schema_id, tool, version, status, summary, data, warnings, errors and audit are present",
            "Callers expect these members in every envelope. Empty lists are written as [].",
            "Add the member. The builder writes all of them.";
        SCHEMA_ID_WRONG = "TOOL-003", Error,
            "schema_id is dotbot-mcp-response@1",
            "Readers use it to identify the envelope.",
            "Write exactly dotbot-mcp-response@1.";
        TOOL_WRONG = "TOOL-004", Error,
            "tool is a name",
            "It identifies the tool that answers.",
            "Write the tool's name, such as solution.info.";
        TOOL_MISMATCH = "TOOL-005", Error,
            "tool names the tool that was called",
            "An answer under another name is attributed to the wrong tool. The separators '.', '-' and '_' count as one.",
            "Write the name under which the tool was called.";
        VERSION_WRONG = "TOOL-006", Error,
            "version is a semantic version",
            "Callers compare versions.",
            "Write major.minor.patch, such as 1.0.0.";
        STATUS_WRONG = "TOOL-007", Error,
            "status is ok, warning or error",
            "Callers branch on it.",
            "Leave the status to the builder, which computes it.";
        STATUS_MISMATCH = "TOOL-008", Error,
            "status follows from errors and warnings",
            "A status that contradicts the lists makes a caller treat a failure as a success.",
            "error if there are errors, else warning if there are warnings, else ok.";
        SUMMARY_WRONG = "TOOL-009", Error,
            "summary is one line of text",
            "It is what people and models read first, often alone.",
            "Say in one sentence what happened, with counts and names.";
        SUMMARY_LONG = "TOOL-010", Warning,
            "summary is one sentence",
            "Further details belong into data, where callers look for them.",
            "Keep the first sentence; move the rest into data or intent.reason.";
        DATA_WRONG = "TOOL-011", Error,
            "data is an object",
            "A list or a bare value leaves no room for a second member later.",
            "Give the value a name: {\"items\": [...]}.";
        LIST_WRONG = "TOOL-012", Error,
            "warnings and errors are arrays",
            "The status is computed from their lengths.",
            "Write [] when there are none.";
        ENTRY_WRONG = "TOOL-013", Error,
            "An error or warning is an object",
            "Callers look for its code.",
            "Write {\"code\": ..., \"message\": ...}.";
        WARNING_IS_STRING = "TOOL-014", Error / Warning,
            "A warning is an object, not a string",
            "A bare sentence has no code that a caller could act on.",
            "Write {\"code\": ..., \"message\": ...}. The lenient profile reads it as the code UNSPECIFIED.";
        CODE_WRONG = "TOOL-015", Error,
            "code is written in capitals, digits and underscores",
            "Codes are compared, not read.",
            "Write a code such as PROJECT_NOT_FOUND.";
        CODE_UNKNOWN = "TOOL-016", Warning,
            "code is in the catalogue",
            "A caller that does not know a code can only show it.",
            "Use a code of the catalogue, or register your own with the checker.";
        MESSAGE_WRONG = "TOOL-017", Error,
            "message is a text that is not blank",
            "The code alone does not tell a person what to do.",
            "Describe the problem in a sentence.";
        ENTRY_PATH_WRONG = "TOOL-018", Error,
            "path is a string",
            "It names the file that the error is about.",
            "Write the file's path, or leave it out.";
        DETAILS_WRONG = "TOOL-019", Error,
            "details is an object",
            "Its members are looked up by name.",
            "Give the details names, or leave them out.";
        AUDIT_WRONG = "TOOL-020", Error,
            "audit is an object",
            "It has the time, the duration and the source.",
            "Write timestamp, duration_ms and source.";
        TIMESTAMP_WRONG = "TOOL-021", Error,
            "audit.timestamp is an RFC 3339 time in UTC",
            "The times of several tools are sorted.",
            "Write it with Z, such as 2026-01-02T13:57:00Z.";
        DURATION_WRONG = "TOOL-022", Error,
            "audit.duration_ms is a whole number of milliseconds, 0 or more",
            "It is summed and compared.",
            "Round down to whole milliseconds.";
        SOURCE_WRONG = "TOOL-023", Error,
            "audit.source is a relative path with forward slashes",
            "An absolute path reveals details of the machine and is useless on another one.",
            "Write it relative to the solution, such as .bot/mcp/tools/x/script.ps1.";
        HOST_UNKNOWN = "TOOL-024", Warning,
            "audit.host is warp, claude-desktop or ci",
            "These are the hosts that can be detected.",
            "Leave it out if the host is another one.";
        HOST_WRONG = "TOOL-025", Error,
            "audit.host is a string",
            "It names the MCP host.",
            "Leave it out when the host is not known.";
        CORRELATION_WRONG = "TOOL-026", Error,
            "audit.correlation_id is a string that is not blank",
            "It links the answer to other records.",
            "Write the caller's id, or leave it out.";
        CORRELATION_NOT_UUID = "TOOL-027", Info,
            "audit.correlation_id is a version 4 UUID",
            "Ids of several systems must not collide.",
            "Use a random UUID if you choose the id.";
        WRITE_TO_WRONG = "TOOL-028", Error,
            "audit.write_to is a relative path with forward slashes",
            "It identifies the file of the solution that changed.",
            "Write it relative to the solution, such as .bot/solution/projects.json.";
        INTENT_WRONG = "TOOL-029", Error,
            "intent is an object with recommended_next and reason",
            "An agent follows it without a question.",
            "Write the tool to call and the reason; parameters, if any, are an object.";
        ACTIONS_WRONG = "TOOL-030", Error,
            "actions is an array of objects",
            "Each is displayed as one suggestion.",
            "Write a list of actions, or leave it out.";
        ACTION_MEMBER_WRONG = "TOOL-031", Error,
            "An action has id, type, label, reason and tool",
            "A user interface needs the label, the reason and the tool to offer it.",
            "Add the member as a string that is not blank; parameters, if any, are an object.";
        ACTION_TYPE_UNKNOWN = "TOOL-032", Warning,
            "An action's type is suggestion",
            "It is the only type that readers know.",
            "Write suggestion.";
        MEMBER_UNKNOWN = "TOOL-033", Warning,
            "The envelope has no other members",
            "Readers ignore them. Conversions preserve them.",
            "Put the value into data, or into _meta if it is not the tool's output.";
        META_WRONG = "TOOL-034", Error,
            "_meta is an object",
            "It is the slot for extensions, which are found by name.",
            "Give the extension a name, or leave _meta out.";
    }
}
pub use rule::RULES;

/// Checks a tool envelope and returns every finding.
///
/// ```
/// use answerback_findings::Profile;
/// use answerback_contracts::tool;
///
/// let findings = tool::check(&serde_json::json!({"tool": "x"}), Profile::Strict);
/// assert!(findings.iter().any(|finding| finding.field_path.as_str() == "/audit"));
/// ```
pub fn check(document: &Value, options: impl Into<EnvelopeCheckOptions>) -> Vec<ValidationError> {
    let options = options.into();
    let mut report = ContractFindings::new(options.profile);
    if let Some(members) = report.root(&rule::NOT_AN_OBJECT, document) {
        let mut envelope = EnvelopeCheck { report: &mut report, options: &options, members };
        envelope.identity();
        envelope.outcome();
        envelope.audit();
        envelope.next();
        report.unknown_members(&rule::MEMBER_UNKNOWN, &ValuePath::Root, members, MEMBERS);
    }
    report.into_findings()
}

/// Checks a tool envelope against the strict profile, for use in assertions.
///
/// # Errors
///
/// Returns [`Invalid`] with every finding if the document does not meet the contract.
pub fn assert_envelope_schema(document: &Value) -> Result<(), Invalid> {
    Invalid::unless_valid(check(document, Profile::Strict))
}

const MEMBERS: &[&str] = &[
    "schema_id",
    "tool",
    "version",
    "status",
    "summary",
    "data",
    "warnings",
    "errors",
    "audit",
    "intent",
    "actions",
    "_meta",
];

struct EnvelopeCheck<'c, 'd> {
    report: &'c mut ContractFindings,
    options: &'c EnvelopeCheckOptions,
    members: &'d Map<String, Value>,
}

impl<'d> EnvelopeCheck<'_, 'd> {
    fn required(&mut self, name: &str, expected: &str) -> Option<&'d Value> {
        self.report.required(&rule::MEMBER_MISSING, &ValuePath::Root, self.members, name, expected)
    }

    fn identity(&mut self) {
        if let Some(id) = self.required("schema_id", SCHEMA_ID)
            && id != SCHEMA_ID
        {
            self.report.wrong(
                &rule::SCHEMA_ID_WRONG,
                &ValuePath::Root.key("schema_id"),
                id,
                SCHEMA_ID,
            );
        }
        if let Some(value) = self.required("tool", "the tool's name")
            && let Some(tool) =
                self.report.text(&rule::TOOL_WRONG, &ValuePath::Root.key("tool"), value)
            && let Some(called) = &self.options.tool
            && !same_tool(tool, called)
        {
            self.report.wrong(&rule::TOOL_MISMATCH, &ValuePath::Root.key("tool"), value, called);
        }
        if let Some(version) = self.required("version", "a version such as 1.0.0")
            && !version.as_str().is_some_and(is_semver)
        {
            let place = ValuePath::Root.key("version");
            self.report.wrong(&rule::VERSION_WRONG, &place, version, "a version such as 1.0.0");
        }
    }

    fn outcome(&mut self) {
        let status = self.required("status", "ok, warning or error");
        if let Some(summary) = self.required("summary", "one sentence") {
            self.summary(summary);
        }
        if let Some(data) = self.required("data", "an object") {
            self.report.object(&rule::DATA_WRONG, &ValuePath::Root.key("data"), data);
        }
        let warnings = self.list("warnings");
        let errors = self.list("errors");
        let Some(status) = status else { return };
        let place = ValuePath::Root.key("status");
        let words = &["ok", "warning", "error"];
        let Some(word) = self.report.one_of(&rule::STATUS_WRONG, &place, status, words) else {
            return;
        };
        // A list that is missing or malformed may have held anything. The status is then only wrong if it is
        // milder than the readable lists allow.
        let computed = EnvelopeStatus::of(errors.unwrap_or(0), warnings.unwrap_or(0));
        let is_known = errors.is_some_and(|errors| errors > 0 || warnings.is_some());
        let is_milder =
            words.iter().take_while(|it| **it != computed.as_str()).any(|it| *it == word);
        if is_milder || (is_known && word != computed.as_str()) {
            let computed = computed.as_str();
            let counted = |count: Option<usize>, one: &str| match count {
                None => format!("no list of {one}s"),
                Some(1) => format!("1 {one}"),
                Some(count) => format!("{count} {one}s"),
            };
            let (errors, warnings) = (counted(errors, "error"), counted(warnings, "warning"));
            let message =
                format!("status is {word:?}, but {errors} and {warnings} make it {computed:?}");
            let found = self.report.add(&rule::STATUS_MISMATCH, &place, message);
            found.expected_value = Some(computed.to_owned());
            found.actual_value = Some(word.to_owned());
        }
    }

    fn summary(&mut self, value: &Value) {
        let place = ValuePath::Root.key("summary");
        let one_line =
            value.as_str().filter(|text| !is_blank(text) && !text.contains(['\n', '\r']));
        match one_line {
            None => {
                self.report.wrong(
                    &rule::SUMMARY_WRONG,
                    &place,
                    value,
                    "one line that is not blank",
                );
            }
            Some(text) if sentences(text) > 1 => {
                self.report.add(&rule::SUMMARY_LONG, &place, "summary has more than one sentence");
            }
            Some(_) => {}
        }
    }

    /// Checks the entries of a list and returns their number, or `None` if the value is not a list.
    fn list(&mut self, name: &'static str) -> Option<usize> {
        let value = self.required(name, "an array, [] when there are none")?;
        let place = ValuePath::Root.key(name);
        let entries = self.report.array(&rule::LIST_WRONG, &place, value)?;
        for (index, entry) in entries.iter().enumerate() {
            self.entry(&place.index(index), entry, name == "warnings");
        }
        Some(entries.len())
    }

    fn entry(&mut self, place: &ValuePath<'_>, entry: &Value, is_warning: bool) {
        let Some(members) = entry.as_object() else {
            let bare = is_warning && entry.is_string();
            let rule = if bare { &rule::WARNING_IS_STRING } else { &rule::ENTRY_WRONG };
            self.report.wrong(rule, place, entry, "an object with code and message");
            return;
        };
        let form = "a code such as PROJECT_NOT_FOUND";
        if let Some(code) = self.report.required(&rule::CODE_WRONG, place, members, "code", form) {
            match code.as_str() {
                Some(known) if self.options.catalogue.contains(known) => {}
                Some(other) if is_code(other) => {
                    let message = format!("the code {other} is not in the catalogue");
                    self.report.add(&rule::CODE_UNKNOWN, &place.key("code"), message);
                }
                _ => self.report.wrong(&rule::CODE_WRONG, &place.key("code"), code, form),
            }
        }
        let words = "what happened, in words";
        if let Some(message) =
            self.report.required(&rule::MESSAGE_WRONG, place, members, "message", words)
        {
            self.report.text(&rule::MESSAGE_WRONG, &place.key("message"), message);
        }
        if let Some(path) = present(members, "path") {
            self.report.string(&rule::ENTRY_PATH_WRONG, &place.key("path"), path);
        }
        if let Some(details) = present(members, "details") {
            self.report.object(&rule::DETAILS_WRONG, &place.key("details"), details);
        }
    }

    fn audit(&mut self) {
        let Some(value) =
            self.required("audit", "an object with timestamp, duration_ms and source")
        else {
            return;
        };
        let place = ValuePath::Root.key("audit");
        let Some(audit) = self.report.object(&rule::AUDIT_WRONG, &place, value) else { return };
        let report = &mut *self.report;
        let utc = "an RFC 3339 time in UTC such as 2026-01-02T13:57:00Z";
        if let Some(time) = report.required(&rule::MEMBER_MISSING, &place, audit, "timestamp", utc)
            && !time.as_str().is_some_and(is_utc)
        {
            report.wrong(&rule::TIMESTAMP_WRONG, &place.key("timestamp"), time, utc);
        }
        let whole = "a whole number, 0 or more";
        if let Some(duration) =
            report.required(&rule::MEMBER_MISSING, &place, audit, "duration_ms", whole)
            && !duration.is_u64()
        {
            report.wrong(&rule::DURATION_WRONG, &place.key("duration_ms"), duration, whole);
        }
        let relative = "a relative path with forward slashes";
        if let Some(source) =
            report.required(&rule::MEMBER_MISSING, &place, audit, "source", relative)
            && !source.as_str().is_some_and(is_relative_path)
        {
            report.wrong(&rule::SOURCE_WRONG, &place.key("source"), source, relative);
        }
        if let Some(path) = present(audit, "write_to")
            && !path.as_str().is_some_and(is_relative_path)
        {
            report.wrong(&rule::WRITE_TO_WRONG, &place.key("write_to"), path, relative);
        }
        if let Some(host) = present(audit, "host") {
            let here = place.key("host");
            if let Some(name) = report.string(&rule::HOST_WRONG, &here, host)
                && !McpHost::ALL.iter().any(|known| known.as_str() == name)
            {
                report.wrong(&rule::HOST_UNKNOWN, &here, host, "warp, claude-desktop or ci");
            }
        }
        if let Some(id) = present(audit, "correlation_id") {
            let here = place.key("correlation_id");
            if let Some(text) = report.text(&rule::CORRELATION_WRONG, &here, id)
                && !UuidV4::is_valid(text)
            {
                report.wrong(&rule::CORRELATION_NOT_UUID, &here, id, "a version 4 UUID");
            }
        }
    }

    fn next(&mut self) {
        let report = &mut *self.report;
        if let Some(value) = present(self.members, "intent") {
            let place = ValuePath::Root.key("intent");
            if let Some(intent) = report.object(&rule::INTENT_WRONG, &place, value) {
                required_texts(
                    report,
                    &rule::INTENT_WRONG,
                    &place,
                    intent,
                    &["recommended_next", "reason"],
                );
                parameters(report, &rule::INTENT_WRONG, &place, intent);
            }
        }
        if let Some(value) = present(self.members, "actions") {
            let place = ValuePath::Root.key("actions");
            let actions = report.array(&rule::ACTIONS_WRONG, &place, value).unwrap_or_default();
            for (index, action) in actions.iter().enumerate() {
                let here = place.index(index);
                if let Some(members) = report.object(&rule::ACTIONS_WRONG, &here, action) {
                    check_action(report, &here, members);
                }
            }
        }
        if let Some(meta) = present(self.members, "_meta") {
            report.object(&rule::META_WRONG, &ValuePath::Root.key("_meta"), meta);
        }
    }
}

fn check_action(report: &mut ContractFindings, place: &ValuePath<'_>, action: &Map<String, Value>) {
    let names = &["id", "type", "label", "reason", "tool"];
    required_texts(report, &rule::ACTION_MEMBER_WRONG, place, action, names);
    parameters(report, &rule::ACTION_MEMBER_WRONG, place, action);
    if let Some(kind @ Value::String(word)) = action.get("type")
        && !is_blank(word)
        && word != "suggestion"
    {
        report.wrong(&rule::ACTION_TYPE_UNKNOWN, &place.key("type"), kind, "suggestion");
    }
}

fn required_texts(
    report: &mut ContractFindings,
    rule: &'static answerback_findings::Rule,
    place: &ValuePath<'_>,
    members: &Map<String, Value>,
    names: &[&str],
) {
    for name in names {
        if let Some(value) =
            report.required(rule, place, members, name, "a string that is not blank")
        {
            report.text(rule, &place.key(name), value);
        }
    }
}

fn parameters(
    report: &mut ContractFindings,
    rule: &'static answerback_findings::Rule,
    place: &ValuePath<'_>,
    members: &Map<String, Value>,
) {
    if let Some(parameters) = present(members, "parameters") {
        report.object(rule, &place.key("parameters"), parameters);
    }
}

/// Returns an optional member. A `null` counts as absent.
fn present<'d>(members: &'d Map<String, Value>, name: &str) -> Option<&'d Value> {
    members.get(name).filter(|value| !value.is_null())
}

fn is_utc(text: &str) -> bool {
    Timestamp::parse(text).is_ok_and(|(_, zone)| zone.is_utc()) && text.contains(['T', 't'])
}

/// Counts the sentences in a line. The end of a sentence only counts if another sentence follows.
fn sentences(text: &str) -> usize {
    let mut characters = text.trim_end().chars().peekable();
    let mut count = 1;
    while let Some(character) = characters.next() {
        let ends = matches!(character, '.' | '!' | '?' | '。');
        if ends && characters.peek().is_some_and(|next| next.is_whitespace()) {
            let mut rest = characters.clone().skip_while(|next| next.is_whitespace());
            // A lowercase word continues the sentence, as in "e.g. small".
            count += usize::from(rest.next().is_some_and(|next| !next.is_lowercase()));
        }
    }
    count
}

/// Adds a rule to the JSON Schema that the Rust type cannot express: the status follows from errors and
/// warnings.
#[cfg(feature = "schema")]
pub(super) fn schema_rules(schema: &mut schemars::Schema) {
    let some = serde_json::json!({"minItems": 1});
    let status = |word: &str| serde_json::json!({"properties": {"status": {"const": word}}});
    schema.insert(
        "allOf".to_owned(),
        serde_json::json!([{
            "if": {"properties": {"errors": some}, "required": ["errors"]},
            "then": status("error"),
            "else": {
                "if": {"properties": {"warnings": some}, "required": ["warnings"]},
                "then": status("warning"),
                "else": status("ok"),
            },
        }]),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_counted() {
        for (text, count) in [
            ("Found 12 projects in Axiome solution.", 1),
            ("Axiome solution (dotbot 2.0.0, default profile) with product mission defined.", 1),
            ("Roadmap loaded. View it.", 2),
            ("Listed files, e.g. src and docs.", 1),
            ("Done", 1),
        ] {
            assert_eq!(sentences(text), count, "{text}");
        }
    }

    #[test]
    fn separators_of_tool_names_are_one() {
        let called = EnvelopeCheckOptions::default().with_tool("solution_health_check");
        let findings = |name: &str| {
            let document = serde_json::json!({"tool": name});
            let findings = check(&document, called.clone());
            findings.iter().any(|finding| finding.error_code == "TOOL-005")
        };
        assert!(!findings("solution.health.check"));
        assert!(!findings("solution-health_check"));
        assert!(findings("solution.info"));
    }
}
