//! What the types alone cannot say in JSON Schema: how the groups of a response depend on each other.

use serde_json::{Value, json};

use super::{Flag, RefusalReason, Status};

/// A date and time by ISO 8601, with or without a zone.
pub(crate) const TIMESTAMP: &str =
    r"^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}([.,]\d{1,9})?([Zz]|[+-]\d{2}(:?\d{2})?)?$";

const STATUS: &[&str] = &["response", "status"];
const DATA: &[&str] = &["response", "content", "data"];

/// The rules across groups, as conditions on the whole response.
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
    let refusal = |status: Status| {
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
    let status = |word: Status| demand(STATUS, &json!({"const": word}));
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
            "if": status(Status::Success),
            "then": demand(DATA, &json!({"pattern": r"\S", "minProperties": 1})),
        },
        {"if": status(Status::Error), "then": demand(DATA, &failure)},
        {"if": status(Status::Refused), "then": demand(DATA, &refusal(Status::Refused))},
        {
            "if": {"allOf": [status(Status::Partial), refuses]},
            "then": demand(DATA, &refusal(Status::Partial)),
        },
        {
            "if": {"allOf": [
                status(Status::Refused),
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

/// A refusal for a security reason does not deny it.
pub(super) fn security_flag(schema: &mut schemars::Schema) {
    let security = json!({"enum": reasons(RefusalReason::is_security)});
    schema.insert("if".to_owned(), json!({"properties": {"refusal_reason": security}}));
    schema.insert("then".to_owned(), json!({"properties": {"security_flag": {"const": true}}}));
}

/// A reference to a record: a text, an array or an object with something in it.
pub(crate) fn audit_trail(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "description": "Where the record of this response is: a reference, or several.",
        "type": ["string", "array", "object"],
        "pattern": r"\S",
        "minItems": 1,
        "minProperties": 1,
    })
}

/// A schema that demands `wanted` at a path of members.
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
    use super::*;
    use crate::contract::Profile;
    use crate::contract::governed::builder::samples;
    use crate::contract::governed::{GovernedResponse, check};
    use crate::finding::ValidationError;
    use crate::json::patch::{Operation, apply};

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

    /// Every case of `tests/cases/governed.json`, judged by the check and by the schema.
    #[test]
    fn schema_and_check_agree() {
        let validator = validator();
        let cases: Vec<Value> =
            serde_json::from_str(include_str!("../../../tests/cases/governed.json")).unwrap();
        let mut too_wide = Vec::new();
        for case in &cases {
            let good = DOCUMENTS.iter().find(|(name, _)| case["document"] == *name);
            let good: Value = serde_json::from_str(good.unwrap().1).unwrap();
            assert!(validator.is_valid(&good), "{}", case["document"]);
            let patch: Vec<Operation> = serde_json::from_value(case["patch"].clone()).unwrap();
            let document = apply(&good, &patch).unwrap();
            let valid = !check(&document, Profile::Strict).iter().any(ValidationError::is_error);
            match (valid, validator.is_valid(&document)) {
                (true, false) => panic!("the schema is too narrow: {}", case["name"]),
                (false, true) => too_wide.push(case["name"].as_str().unwrap()),
                _ => {}
            }
        }
        // A schema tolerates unknown members where they stand, and knows no calendar.
        assert_eq!(too_wide, ["flat next actions", "timestamp '2026-02-30T07:30:05Z'"]);
    }

    macro_rules! documents {
        ($($name:literal)+) => {
            [$((
                concat!("governed-", $name),
                include_str!(concat!("../../../tests/documents/governed-", $name, ".json")),
            )),+]
        };
    }
    const DOCUMENTS: [(&str, &str); 7] = documents![
        "full" "text" "structured" "error" "refused" "security" "ambiguous"
    ];
}
