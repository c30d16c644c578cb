//! A repair as it is printed: its steps as RFC 6902 has them, but for the secrets in them.

use answerback_findings::kind_of_place;
use answerback_json::Pointer;
use answerback_json::patch::PatchOperation;
use answerback_parse::Confidence;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::Repair;

/// The placeholder for a redacted value, until the step is written without a value.
const LEFT_OUT: &str = "[redacted]";

/// Returns true if a secret is in a name on the way to a place of a step.
pub(super) fn names_secret(step: &PatchOperation) -> bool {
    let (path, from, _) = parts(step);
    let names =
        |place: &Pointer| answerback_redaction::redact_pointer(place.as_str()) != place.as_str();
    names(path) || from.is_some_and(names)
}

/// Takes the secrets out of a step: from its places, and its value where that is one or may be one.
pub(super) fn redact(step: &mut PatchOperation, is_any_value_secret: bool) {
    let (path, from, value) = match step {
        PatchOperation::Add { path, value }
        | PatchOperation::Replace { path, value }
        | PatchOperation::Test { path, value } => (path, None, Some(value)),
        PatchOperation::Remove { path } => (path, None, None),
        PatchOperation::Move { from, path } | PatchOperation::Copy { from, path } => {
            (path, Some(from), None)
        }
    };
    if let Some(value) = value
        && (is_any_value_secret
            || kind_of_place(path).is_some()
            || answerback_redaction::holds_secret(value))
    {
        *value = LEFT_OUT.into();
    }
    for place in std::iter::once(path).chain(from) {
        let redacted = answerback_redaction::redact_pointer(place.as_str()).into_owned();
        // A mark has no character that a pointer would have to escape.
        *place = Pointer::try_from(redacted).unwrap_or_default();
    }
}

fn parts(step: &PatchOperation) -> (&Pointer, Option<&Pointer>, Option<&Value>) {
    match step {
        PatchOperation::Add { path, value }
        | PatchOperation::Replace { path, value }
        | PatchOperation::Test { path, value } => (path, None, Some(value)),
        PatchOperation::Remove { path } => (path, None, None),
        PatchOperation::Move { from, path } | PatchOperation::Copy { from, path } => {
            (path, Some(from), None)
        }
    }
}

/// A change to a failing call that makes it valid.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Repair"))]
pub(super) struct RepairDocument<'r> {
    /// The steps from the arguments sent to those meant; null where the text sent was not JSON.
    patch: Option<Vec<StepDocument<'r>>>,
    /// The arguments after the repair; null where a secret in them is left out.
    arguments: &'r Value,
    /// The certainty that nothing else was meant.
    confidence: Confidence,
    /// True if secrets are redacted. The caller then applies the patch to the call to get the arguments.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(default))]
    redacted: bool,
}

/// A step of RFC 6902. One that writes a secret is printed without its value, and cannot be applied.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Step"))]
struct StepDocument<'r> {
    /// The operation.
    op: StepKind,
    /// The place that is emptied or read.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'r Pointer>,
    /// The place that is changed.
    path: &'r Pointer,
    /// The new value.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'r Value>,
}

/// The operations of RFC 6902.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum StepKind {
    Add,
    Copy,
    Move,
    Remove,
    Replace,
    Test,
}

impl<'r> StepDocument<'r> {
    fn of(step: &'r PatchOperation, is_redacted: bool) -> Self {
        let (path, from, value) = parts(step);
        let op = match step {
            PatchOperation::Add { .. } => StepKind::Add,
            PatchOperation::Copy { .. } => StepKind::Copy,
            PatchOperation::Move { .. } => StepKind::Move,
            PatchOperation::Remove { .. } => StepKind::Remove,
            PatchOperation::Replace { .. } => StepKind::Replace,
            PatchOperation::Test { .. } => StepKind::Test,
        };
        let value = value.filter(|value| !is_redacted || *value != LEFT_OUT);
        Self { op, from, path, value }
    }
}

impl<'r> From<&'r Repair> for RepairDocument<'r> {
    fn from(repair: &'r Repair) -> Self {
        let redacted = repair.is_redacted;
        let step = |step| StepDocument::of(step, redacted);
        let patch = repair.patch.as_ref().map(|patch| patch.iter().map(step).collect());
        Self { patch, arguments: &repair.arguments, confidence: repair.confidence, redacted }
    }
}

impl Serialize for Repair {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RepairDocument::from(self).serialize(serializer)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Repair {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Repair".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        RepairDocument::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::call::{Schema, check};
    use crate::message::repair;

    const KEY: &str = "sk-proj-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY";

    fn printed(properties: Value, arguments: &Value) -> Value {
        let source = json!({"properties": properties, "additionalProperties": false});
        let schema = Schema::compile(source).unwrap();
        let findings = check(&schema, arguments, ()).unwrap();
        let repair = repair(&schema, arguments, &findings, ()).unwrap();
        let repair = repair.without_secrets(Some(&schema)).unwrap();
        assert!(!json!(repair).to_string().contains(KEY), "{}", json!(repair));
        json!(repair)
    }

    #[test]
    fn a_repair_without_secrets_is_printed_whole() {
        let printed = printed(json!({"limit": {"type": "integer"}}), &json!({"limit": "7"}));
        assert_eq!(
            printed.to_string(),
            r#"{"patch":[{"op":"replace","path":"/limit","value":7}],"arguments":{"limit":7},"confidence":"safe"}"#
        );
    }

    #[test]
    fn steps_beside_a_secret_can_be_applied() {
        let properties = json!({"api_key": {"type": "string"}, "limit": {"type": "integer"}});
        let printed = printed(properties, &json!({"api_key": KEY, "limit": "7"}));
        let expected = r#"{"patch":[{"op":"replace","path":"/limit","value":7}],"arguments":null,"confidence":"safe","redacted":true}"#;
        assert_eq!(printed.to_string(), expected);
    }

    #[test]
    fn a_step_that_writes_a_secret_has_no_value() {
        let trimmed = printed(
            json!({"code": {"type": "string", "pattern": "^[!-~]+$"}}),
            &json!({"code": format!(" {KEY}")}),
        );
        assert_eq!(trimmed["patch"], json!([{"op": "replace", "path": "/code"}]));
        let pin = printed(json!({"pin": {"type": "integer"}}), &json!({"pin": "4711"}));
        assert_eq!(pin["patch"], json!([{"op": "replace", "path": "/pin"}]));
        let hidden = json!({"word": {"type": "integer", "writeOnly": true}});
        let hidden = printed(hidden, &json!({"word": "4711"}));
        assert_eq!(hidden["patch"], json!([{"op": "replace", "path": "/word"}]));
    }

    #[test]
    fn a_secret_in_a_name_is_hidden() {
        let path: Pointer = format!("/{KEY}").try_into().unwrap();
        for step in [
            PatchOperation::Remove { path: path.clone() },
            PatchOperation::Move { from: path.clone(), path: Pointer::root().join("path") },
        ] {
            let repair = Repair {
                patch: Some(vec![step]),
                arguments: json!({}),
                confidence: Confidence::Safe,
                words: String::new(),
                is_redacted: false,
                is_lossless: false,
            };
            let printed = json!(repair.without_secrets(None).unwrap()).to_string();
            assert!(!printed.contains(KEY) && printed.contains("redacted"), "{printed}");
        }
    }
}
