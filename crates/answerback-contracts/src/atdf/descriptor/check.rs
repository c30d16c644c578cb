use answerback_findings::{Profile, Rule, ValidationError};
use answerback_json::ValuePath;
use serde_json::{Map, Value};

use super::types::{ENHANCED, Edition};
use crate::ContractFindings;

/// Defines the rules of ATDF tool descriptors, each with its code.
pub mod rule {
    answerback_findings::rules! {
        NOT_AN_OBJECT = "ATDF-101", Error,
            "The descriptor is a JSON object",
            "All information for an agent is a member of it.",
            "Write tool_id, description, when_to_use and how_to_use.";
        MEMBER_MISSING = "ATDF-102", Error,
            "description, when_to_use and how_to_use with inputs and outputs are present",
            "An agent uses these members to choose and call the tool.",
            "Add the member; lists may be empty.";
        ID_MISSING = "ATDF-103", Error,
            "The descriptor has a tool_id",
            "A tool that has no name cannot be called.",
            "Add tool_id (id is read too).";
        ID_TWICE = "ATDF-104", Error,
            "The descriptor has only one of tool_id and id",
            "With two names it is ambiguous which one to call.",
            "Keep tool_id and remove id.";
        TEXT_WRONG = "ATDF-105", Error,
            "tool_id, id, description and when_to_use are strings that are not blank",
            "An agent reads them to choose the tool.",
            "Write the text in words.";
        VERSION_WRONG = "ATDF-106", Error,
            "schema_version is a string",
            "The edition is read from it.",
            "Write 1.0.0 or 2.0.0, in quotes.";
        VERSION_UNKNOWN = "ATDF-107", Warning,
            "schema_version starts with 1. or 2.",
            "No other edition is published. Readers treat it as a basic descriptor.",
            "Write 1.0.0 for a basic descriptor, 2.0.0 for an enhanced one.";
        VERSION_MISMATCH = "ATDF-108", Warning,
            "A descriptor with enhanced members has schema_version 2.x",
            "Only the enhanced edition defines metadata, examples, localization, prerequisites and feedback.",
            "Write schema_version 2.0.0, or remove these members.";
        HOW_TO_USE_WRONG = "ATDF-109", Error,
            "how_to_use is an object",
            "It holds inputs and outputs.",
            "Write {\"inputs\": [...], \"outputs\": {...}}.";
        INPUTS_WRONG = "ATDF-110", Error,
            "how_to_use.inputs is an array of objects",
            "Each entry is one input of the tool.",
            "Write a list of {\"name\": ..., \"type\": ...}.";
        INPUT_MEMBER_WRONG = "ATDF-111", Error,
            "An input has a name and a type; its description is a string, its required a boolean",
            "An agent fills the inputs by name and type.",
            "Write {\"name\": ..., \"type\": ...} with texts that are not blank.";
        INPUT_SCHEMA_WRONG = "ATDF-112", Error,
            "An input's schema is an object; its properties is an object, its required an array of strings",
            "It is a JSON Schema.",
            "Write a JSON Schema, or leave it out.";
        INPUT_TWICE = "ATDF-113", Warning,
            "No two inputs have the same name",
            "Inputs are filled by name; only one of the two can be.",
            "Rename or remove one of them.";
        OUTPUTS_WRONG = "ATDF-114", Error,
            "how_to_use.outputs is an object whose success is a string that is not blank",
            "An agent needs to know the result of a call.",
            "Write {\"success\": ..., \"failure\": [...]}.";
        FAILURE_WRONG = "ATDF-115", Error,
            "outputs.failure is an array of objects with code and description",
            "An agent branches on the code.",
            "Write a list of {\"code\": ..., \"description\": ...}; [] when it cannot fail.";
        METADATA_WRONG = "ATDF-116", Error,
            "metadata is an object; tags is an array of strings, its other known members are strings",
            "Catalogues sort and search by it.",
            "Write version, author, category, created_at and updated_at as strings.";
        LOCALIZATION_WRONG = "ATDF-117", Error,
            "localization has for each language a description and a when_to_use",
            "An agent that uses this language reads these instead.",
            "Write {\"es\": {\"description\": ..., \"when_to_use\": ...}}.";
        LANGUAGE_UNKNOWN = "ATDF-118", Warning,
            "A language is written as en or en-US",
            "Readers look the language up by exactly this form.",
            "Write two small letters, and two capitals for the region if any.";
        PREREQUISITES_WRONG = "ATDF-119", Error,
            "prerequisites is an object; tools, conditions and permissions are arrays of strings",
            "An agent checks each of them first.",
            "Write lists of strings, or leave them out.";
        FEEDBACK_WRONG = "ATDF-120", Error,
            "feedback is an object; progress_indicators and completion_signals are arrays of strings",
            "An agent watches for them.",
            "Write lists of strings, or leave them out.";
        EXAMPLES_WRONG = "ATDF-121", Error,
            "examples is an array of objects with goal, input_values and expected_result",
            "An agent imitates them. The first edition's title, inputs and expected_output are read too.",
            "Write {\"goal\": ..., \"input_values\": {...}, \"expected_result\": ...}.";
        MEMBER_UNKNOWN = "ATDF-122", Warning,
            "The descriptor has no other members",
            "Readers ignore them, and the published basic schema forbids them. Conversions preserve them.",
            "Put the value into metadata, or into _meta if it is not about the tool.";
        META_WRONG = "ATDF-123", Error,
            "_meta is an object",
            "It is the slot for extensions, which are found by name.",
            "Give the extension a name, or leave _meta out.";
    }
}
pub use rule::RULES;

type Members = Map<String, Value>;

/// Checks a tool descriptor of either edition and returns every finding.
///
/// ```
/// use answerback_findings::Profile;
/// use answerback_contracts::atdf::descriptor;
///
/// let document = serde_json::json!({"tool_id": "drill", "id": "drill", "when_to_use": "to make holes"});
/// let findings = descriptor::check(&document, Profile::Strict);
/// let places: Vec<&str> = findings.iter().map(|finding| finding.field_path.as_str()).collect();
/// assert_eq!(places, ["/id", "/description", "/how_to_use"]);
/// ```
pub fn check(document: &Value, profile: Profile) -> Vec<ValidationError> {
    let mut report = ContractFindings::new(profile);
    if let Some(members) = report.root(&rule::NOT_AN_OBJECT, document) {
        check_identity(&mut report, document, members);
        check_use(&mut report, members);
        check_enhancements(&mut report, members);
        report.unknown_members(&rule::MEMBER_UNKNOWN, &ValuePath::Root, members, MEMBERS);
    }
    report.into_findings()
}

const MEMBERS: &[&str] = &[
    "schema_version",
    "tool_id",
    "id",
    "description",
    "when_to_use",
    "how_to_use",
    "metadata",
    "localization",
    "prerequisites",
    "feedback",
    "examples",
    "_meta",
];

fn check_identity(report: &mut ContractFindings, document: &Value, members: &Members) {
    let root = ValuePath::Root;
    if let Some(version) = members.get("schema_version") {
        let place = root.key("schema_version");
        if let Some(text) = report.string(&rule::VERSION_WRONG, &place, version) {
            let form = "a version such as 1.0.0 or 2.0.0";
            if !text.starts_with("1.") && !text.starts_with("2.") {
                report.wrong(&rule::VERSION_UNKNOWN, &place, version, form);
            } else if text.starts_with("1.") && Edition::of(document) == Edition::Enhanced {
                report.wrong(&rule::VERSION_MISMATCH, &place, version, "2.0.0");
            }
        }
    }
    match (members.get("tool_id"), members.get("id")) {
        (None, None) => {
            report.required(&rule::ID_MISSING, &root, members, "tool_id", "the tool's name");
        }
        (Some(_), Some(_)) => {
            report.add(&rule::ID_TWICE, &root.key("id"), "both tool_id and id are there");
        }
        _ => {}
    }
    for name in ["tool_id", "id"] {
        if let Some(value) = members.get(name) {
            report.text(&rule::TEXT_WRONG, &root.key(name), value);
        }
    }
    for name in ["description", "when_to_use"] {
        text(report, &rule::MEMBER_MISSING, &rule::TEXT_WRONG, &root, members, name);
    }
    if let Some(meta) = members.get("_meta") {
        report.object(&rule::META_WRONG, &root.key("_meta"), meta);
    }
}

fn check_use(report: &mut ContractFindings, members: &Members) {
    let root = ValuePath::Root;
    let missing = &rule::MEMBER_MISSING;
    let form = "an object with inputs and outputs";
    let Some(value) = report.required(missing, &root, members, "how_to_use", form) else { return };
    let place = root.key("how_to_use");
    let Some(used) = report.object(&rule::HOW_TO_USE_WRONG, &place, value) else { return };
    if let Some(inputs) = report.required(missing, &place, used, "inputs", "an array") {
        check_inputs(report, &place.key("inputs"), inputs);
    }
    if let Some(outputs) = report.required(missing, &place, used, "outputs", "an object") {
        check_outputs(report, &place.key("outputs"), outputs);
    }
    report.unknown_members(&rule::MEMBER_UNKNOWN, &place, used, &["inputs", "outputs"]);
}

fn check_inputs(report: &mut ContractFindings, place: &ValuePath<'_>, inputs: &Value) {
    let inputs = report.array(&rule::INPUTS_WRONG, place, inputs).unwrap_or_default();
    let rule = &rule::INPUT_MEMBER_WRONG;
    for (index, input) in inputs.iter().enumerate() {
        let here = place.index(index);
        let Some(members) = report.object(&rule::INPUTS_WRONG, &here, input) else { continue };
        text(report, rule, rule, &here, members, "name");
        text(report, rule, rule, &here, members, "type");
        if let Some(description) = members.get("description") {
            report.string(rule, &here.key("description"), description);
        }
        if let Some(required) = members.get("required") {
            report.boolean(rule, &here.key("required"), required);
        }
        if let Some(schema) = members.get("schema") {
            check_schema(report, &here.key("schema"), schema);
        }
        let name = members.get("name").and_then(Value::as_str);
        if let Some(name) = name
            && inputs[..index].iter().any(|earlier| earlier.get("name") == members.get("name"))
        {
            let shown = answerback_findings::preview(&Value::from(name));
            let message = format!("another input is called {shown} too");
            report.add(&rule::INPUT_TWICE, &here.key("name"), message);
        }
        let known = &["name", "type", "description", "required", "schema"];
        report.unknown_members(&rule::MEMBER_UNKNOWN, &here, members, known);
    }
}

fn check_schema(report: &mut ContractFindings, place: &ValuePath<'_>, schema: &Value) {
    let rule = &rule::INPUT_SCHEMA_WRONG;
    let Some(members) = report.object(rule, place, schema) else { return };
    if let Some(properties) = members.get("properties") {
        report.object(rule, &place.key("properties"), properties);
    }
    if let Some(required) = members.get("required") {
        strings(report, rule, &place.key("required"), required);
    }
}

fn check_outputs(report: &mut ContractFindings, place: &ValuePath<'_>, outputs: &Value) {
    let Some(members) = report.object(&rule::OUTPUTS_WRONG, place, outputs) else { return };
    text(report, &rule::MEMBER_MISSING, &rule::OUTPUTS_WRONG, place, members, "success");
    if let Some(failure) =
        report.required(&rule::MEMBER_MISSING, place, members, "failure", "an array")
    {
        let rule = &rule::FAILURE_WRONG;
        let place = place.key("failure");
        let failures = report.array(rule, &place, failure).unwrap_or_default();
        for (index, failure) in failures.iter().enumerate() {
            let here = place.index(index);
            if let Some(members) = report.object(rule, &here, failure) {
                text(report, rule, rule, &here, members, "code");
                text(report, rule, rule, &here, members, "description");
                let known = &["code", "description"];
                report.unknown_members(&rule::MEMBER_UNKNOWN, &here, members, known);
            }
        }
    }
    report.unknown_members(&rule::MEMBER_UNKNOWN, place, members, &["success", "failure"]);
}

fn check_enhancements(report: &mut ContractFindings, members: &Members) {
    for name in ENHANCED {
        let Some(value) = members.get(name) else { continue };
        let root = ValuePath::Root;
        let place = root.key(name);
        match name {
            "metadata" => check_metadata(report, &place, value),
            "localization" => check_localization(report, &place, value),
            "examples" => check_examples(report, &place, value),
            "prerequisites" => {
                let lists = &["tools", "conditions", "permissions"];
                check_lists(report, &rule::PREREQUISITES_WRONG, &place, value, lists);
            }
            _ => {
                let lists = &["progress_indicators", "completion_signals"];
                check_lists(report, &rule::FEEDBACK_WRONG, &place, value, lists);
            }
        }
    }
}

fn check_metadata(report: &mut ContractFindings, place: &ValuePath<'_>, value: &Value) {
    let rule = &rule::METADATA_WRONG;
    let Some(metadata) = report.object(rule, place, value) else { return };
    for name in ["version", "author", "category", "created_at", "updated_at"] {
        if let Some(text) = metadata.get(name) {
            report.string(rule, &place.key(name), text);
        }
    }
    if let Some(tags) = metadata.get("tags") {
        strings(report, rule, &place.key("tags"), tags);
    }
}

fn check_localization(report: &mut ContractFindings, place: &ValuePath<'_>, value: &Value) {
    let rule = &rule::LOCALIZATION_WRONG;
    let languages = report.object(rule, place, value);
    for (language, texts) in languages.into_iter().flatten() {
        let here = place.key(language);
        if !is_language(language) {
            report.add(&rule::LANGUAGE_UNKNOWN, &here, "expected a language such as en or en-US");
            continue;
        }
        let Some(texts) = report.object(rule, &here, texts) else { continue };
        for name in ["description", "when_to_use"] {
            if let Some(text) = report.required(rule, &here, texts, name, "a string") {
                report.string(rule, &here.key(name), text);
            }
        }
    }
}

fn check_examples(report: &mut ContractFindings, place: &ValuePath<'_>, value: &Value) {
    let rule = &rule::EXAMPLES_WRONG;
    let examples = report.array(rule, place, value).unwrap_or_default();
    for (index, example) in examples.iter().enumerate() {
        let here = place.index(index);
        let Some(members) = report.object(rule, &here, example) else { continue };
        // The first edition has other names for these members and allows any value as the result.
        let is_first = members.contains_key("title") && !members.contains_key("goal");
        let (goal, inputs, result) = if is_first {
            ("title", "inputs", "expected_output")
        } else {
            ("goal", "input_values", "expected_result")
        };
        if let Some(goal_value) = report.required(rule, &here, members, goal, "a string") {
            report.string(rule, &here.key(goal), goal_value);
        }
        if let Some(values) = report.required(rule, &here, members, inputs, "an object") {
            report.object(rule, &here.key(inputs), values);
        }
        if let Some(expected) = report.required(rule, &here, members, result, "the result")
            && !is_first
        {
            report.string(rule, &here.key(result), expected);
        }
    }
}

/// Checks that the value is an object and that the given members, if present, are arrays of strings.
fn check_lists(
    report: &mut ContractFindings,
    rule: &'static Rule,
    place: &ValuePath<'_>,
    value: &Value,
    lists: &[&str],
) {
    let Some(members) = report.object(rule, place, value) else { return };
    for name in lists {
        if let Some(list) = members.get(*name) {
            strings(report, rule, &place.key(name), list);
        }
    }
}

/// Checks that a required member is a string that is not blank.
fn text(
    report: &mut ContractFindings,
    missing: &'static Rule,
    wrong: &'static Rule,
    parent: &ValuePath<'_>,
    members: &Members,
    name: &str,
) {
    if let Some(value) =
        report.required(missing, parent, members, name, "a string that is not blank")
    {
        report.text(wrong, &parent.key(name), value);
    }
}

fn strings(
    report: &mut ContractFindings,
    rule: &'static Rule,
    place: &ValuePath<'_>,
    value: &Value,
) {
    let elements = report.array(rule, place, value).unwrap_or_default();
    for (index, element) in elements.iter().enumerate() {
        report.string(rule, &place.index(index), element);
    }
}

/// True if the text matches `^[a-z]{2}(-[A-Z]{2})?$`.
fn is_language(text: &str) -> bool {
    let small = |part: &[u8]| part.iter().all(u8::is_ascii_lowercase);
    let large = |part: &[u8]| part.iter().all(u8::is_ascii_uppercase);
    match text.as_bytes() {
        language @ [_, _] => small(language),
        [first, second, b'-', region @ ..] => {
            small(&[*first, *second]) && region.len() == 2 && large(region)
        }
        _ => false,
    }
}

/// Adds a rule to the JSON Schema that the Rust type cannot express: exactly one of `tool_id` and `id` is
/// present.
#[cfg(feature = "schema")]
pub(super) fn schema_rules(schema: &mut schemars::Schema) {
    schema.insert(
        "oneOf".to_owned(),
        serde_json::json!([{"required": ["tool_id"]}, {"required": ["id"]}]),
    );
}
