use std::borrow::Cow;

use answerback_findings::ValidationError;
use answerback_json::Pointer;
use serde_json::{Map, Value};

/// The part of a schema that a finding is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct SchemaPart<'s> {
    root: &'s Value,
    /// The schema object that holds the failing keyword.
    pub(super) holder: &'s Map<String, Value>,
}

impl<'s> SchemaPart<'s> {
    /// Follows the finding's evaluation path to the schema object whose keyword failed.
    pub(super) fn of(finding: &ValidationError, root: Option<&'s Value>) -> Option<Self> {
        let root = root?;
        let above = finding.schema_path.as_ref()?.tokens_above()?;
        let holder = walk(root, above)?.as_object()?;
        Some(Self { root, holder })
    }

    /// The permitted values of a closed set.
    pub(super) fn options(&self) -> Option<&'s [Value]> {
        match (self.holder.get("enum"), self.holder.get("const")) {
            (Some(Value::Array(options)), _) => Some(options),
            (_, Some(only)) => Some(std::slice::from_ref(only)),
            _ => None,
        }
    }

    /// The names of the fields that the object here may have.
    pub(super) fn fields(&self) -> Option<&'s Map<String, Value>> {
        self.holder.get("properties")?.as_object()
    }

    /// The schema of a field of the object here, behind its reference.
    pub(super) fn field(&self, name: &str) -> Option<&'s Map<String, Value>> {
        let field = self.fields()?.get(name)?;
        resolve(self.root, field).as_object()
    }
}

/// The schema of the object that a field of the arguments belongs to, going down by the field's path.
pub(super) fn owner<'s>(
    finding: &ValidationError,
    root: Option<&'s Value>,
) -> Option<SchemaPart<'s>> {
    let root = root?;
    let mut schema = resolve(root, root);
    for token in finding.field_path.tokens_above()? {
        let below = schema
            .get("properties")
            .and_then(|fields| fields.get(token.as_ref()))
            .or_else(|| schema.get("items"))?;
        schema = resolve(root, below);
    }
    schema.as_object().map(|holder| SchemaPart { root, holder })
}

/// The keyword that failed: the last step of the evaluation path.
pub(super) fn keyword(finding: &ValidationError) -> Option<Cow<'_, str>> {
    finding.schema_path.as_ref().and_then(Pointer::last)
}

/// The value at an evaluation path, which goes through references: `/properties/a/$ref/type`.
fn walk<'s, 'p>(root: &'s Value, path: impl Iterator<Item = Cow<'p, str>>) -> Option<&'s Value> {
    let mut schema = root;
    for token in path {
        schema = match schema {
            Value::Object(members) if token == "$ref" || token == "$dynamicRef" => {
                target(root, members.get(token.as_ref())?.as_str()?)?
            }
            Value::Object(members) => members.get(token.as_ref())?,
            Value::Array(items) => items.get(token.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(schema)
}

/// The schema behind its references, a few of them at most.
fn resolve<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut schema = schema;
    for _ in 0..8 {
        match schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| target(root, reference))
        {
            Some(found) => schema = found,
            None => break,
        }
    }
    schema
}

/// Returns the target of a reference within the document.
fn target<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    root.pointer(reference.strip_prefix('#')?)
}
