//! Adds rules to the JSON Schema that the Rust types cannot express: the dependencies between the groups of a
//! response.

use serde_json::{Value, json};

use super::{Flag, GovernedStatus, RefusalReason};

/// The pattern of an ISO 8601 date and time, with or without a zone.
pub(crate) const TIMESTAMP: &str =
    r"^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}([.,]\d{1,9})?([Zz]|[+-]\d{2}(:?\d{2})?)?$";

const STATUS: &[&str] = &["response", "status"];
const DATA: &[&str] = &["response", "content", "data"];

/// Adds the rules across groups as conditions on the whole response.
pub(super) fn rules(schema: &mut schemars::Schema) {
    let text = json!({"type": "string", "pattern": r"\S"});
    let form = |required: &[&str], members: Value| json!({"type": "object", "required": required, "properties": members});
    let failure = form(
        &["error_code", "error_message"],
        json!({
            "error_code": text, "error_message": text,
            "error_details": {"type": ["string", "object"]}, "recovery_suggestion": text,
        }),
    );
    let refusal = |status: GovernedStatus| {
        form(
            &["refusal_reason", "explanation"],
            json!({
                "refusal_reason": {"enum": reasons(|reason| reason.status() == status)},
                "explanation": text, "governance_rule": text,
                "suggested_agent": {"type": "string", "pattern": "^[!-~]+$"},
                "security_flag": {"type": "boolean"},
            }),
        )
    };
    let status = |word: GovernedStatus| demand(STATUS, &json!({"const": word}));
    let explained = |path: &[&str], name: &str| {
        let path: Vec<&str> = path.iter().copied().chain([name]).collect();
        demand(&path, &text)
    };
    let refuses = demand(DATA, &json!({"type": "object", "required": ["refusal_reason"]}));
    let security = json!({"enum": reasons(RefusalReason::is_security)});
    let withheld: Vec<Value> = Flag::ALL
        .iter()
        .map(|flag| demand(&["governance", flag.as_str()], &json!({"const": false})))
        .collect();
    let conditions = json!([
        {
            "if": demand(&["response", "content", "type"], &json!({"const": "text"})),
            "then": demand(&["response", "content"], &json!({"properties": {
                "data": {"type": "string"}, "format": {"enum": ["markdown", "plain"]},
            }})),
            "else": demand(&["response", "content"], &json!({"properties": {
                "data": {"type": "object"}, "format": {"const": "json"},
            }})),
        },
        {
            "if": status(GovernedStatus::Success),
            "then": demand(DATA, &json!({"pattern": r"\S", "minProperties": 1})),
        },
        {"if": status(GovernedStatus::Error), "then": demand(DATA, &failure)},
        {"if": status(GovernedStatus::Refused), "then": demand(DATA, &refusal(GovernedStatus::Refused))},
        {
            "if": {"allOf": [status(GovernedStatus::Partial), refuses]},
            "then": demand(DATA, &refusal(GovernedStatus::Partial)),
        },
        {
            "if": {"allOf": [
                status(GovernedStatus::Refused),
                demand(DATA, &json!({"type": "object", "required": ["refusal_reason"], "properties": {"refusal_reason": security}})),
            ]},
            "then": demand(DATA, &json!({"properties": {"security_flag": {"const": true}}})),
        },
        {
            "if": {"anyOf": withheld},
            "then": {"anyOf": [
                explained(&["governance"], "explanation"),
                explained(DATA, "explanation"),
                explained(DATA, "error_message"),
            ]},
        },
    ]);
    schema.insert("allOf".to_owned(), conditions);
}

/// Adds the rule that a refusal for a security reason cannot set `security_flag` to false.
pub(super) fn security_flag(schema: &mut schemars::Schema) {
    let security = json!({"enum": reasons(RefusalReason::is_security)});
    schema.insert("if".to_owned(), json!({"properties": {"refusal_reason": security}}));
    schema.insert("then".to_owned(), json!({"properties": {"security_flag": {"const": true}}}));
}

/// Returns the schema of a reference to a record: a string, array or object that is not empty.
pub(crate) fn audit_trail(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "description": "Where the record of this response is: a reference, or several.",
        "type": ["string", "array", "object"],
        "pattern": r"\S",
        "minItems": 1,
        "minProperties": 1,
    })
}

/// Returns a schema that requires every member on a path and applies `wanted` to the last one.
fn demand(path: &[&str], wanted: &Value) -> Value {
    match path {
        [] => wanted.clone(),
        [name, below @ ..] => json!({
            "type": "object",
            "required": [name],
            "properties": {*name: demand(below, wanted)},
        }),
    }
}

fn reasons(wanted: impl Fn(RefusalReason) -> bool) -> Vec<RefusalReason> {
    RefusalReason::ALL.iter().copied().filter(|reason| wanted(*reason)).collect()
}

#[cfg(test)]
mod tests {
    use answerback_findings::{Profile, ValidationError};
    use answerback_json::patch::{PatchOperation, apply};

    use super::*;
    use crate::governed::builder::samples;
    use crate::governed::{GovernedResponse, check};

    fn validator() -> jsonschema::Validator {
        jsonschema::validator_for(schemars::schema_for!(GovernedResponse).as_value()).unwrap()
    }

    #[test]
    fn what_we_build_meets_the_schema() {
        let validator = validator();
        for response in samples::all() {
            let document = response.to_document();
            let errors: Vec<String> = validator
                .iter_errors(&document)
                .map(|error| format!("{} {error}", error.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{errors:?}\n{document:#}");
        }
    }

    /// The check and the schema agree on every case of `tests/cases/governed.json`, except for the cases
    /// listed below.
    #[test]
    fn schema_and_check_agree() {
        let validator = validator();
        let cases: Vec<Value> =
            serde_json::from_str(include_str!("../../../answerback/tests/cases/governed.json"))
                .unwrap();
        let mut too_wide = Vec::new();
        for case in &cases {
            let good = DOCUMENTS.iter().find(|(name, _)| case["document"] == *name);
            let good: Value = serde_json::from_str(good.unwrap().1).unwrap();
            assert!(validator.is_valid(&good), "{}", case["document"]);
            let patch: Vec<PatchOperation> = serde_json::from_value(case["patch"].clone()).unwrap();
            let document = apply(&good, &patch).unwrap();
            let valid = !check(&document, Profile::Strict).iter().any(ValidationError::is_error);
            match (valid, validator.is_valid(&document)) {
                (true, false) => panic!("the schema is too narrow: {}", case["name"]),
                (false, true) => too_wide.push(case["name"].as_str().unwrap()),
                _ => {}
            }
        }
        // The schema allows unknown members anywhere, and it cannot check calendar dates.
        assert_eq!(too_wide, ["flat next actions", "timestamp '2026-02-30T07:30:05Z'"]);
    }

    macro_rules! documents {
        ($($name:literal)+) => {
            [$((
                concat!("governed-", $name),
                include_str!(concat!("../../../answerback/tests/documents/governed-", $name, ".json")),
            )),+]
        };
    }
    const DOCUMENTS: [(&str, &str); 7] = documents![
        "full" "text" "structured" "error" "refused" "security" "ambiguous"
    ];
}
