use serde_json::{Map, Value};

use super::count;
use crate::call::Types;
use crate::message::suggest::folded;

/// Calls with more arguments than this are not compared.
const MOST_GIVEN: usize = 256;

/// The properties of a tool's schema that are compared with a call.
#[derive(Debug)]
pub(super) struct SchemaFields {
    /// The fields by their folded names; of two that fold to one, the first of the schema comes first.
    fields: Vec<SchemaField>,
    /// The folded names of the required ones.
    required: Vec<String>,
}

#[derive(Debug)]
struct SchemaField {
    folded: String,
    name: String,
    /// The types that its schema names; none where it names no single one.
    types: Option<Types>,
}

impl SchemaFields {
    pub(super) fn of(schema: &Value) -> Self {
        let declared = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let mut fields: Vec<SchemaField> = declared
            .map(|(name, field)| SchemaField {
                folded: folded(name).collect(),
                name: name.clone(),
                types: types(field),
            })
            .collect();
        fields.sort_by(|one, other| one.folded.cmp(&other.folded));
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let required = required.map(|name| folded(name.as_str().unwrap_or_default()).collect());
        Self { fields, required: required.collect() }
    }

    /// The field of this name, or one whose name differs in case and separators only.
    fn find(&self, given: &ArgumentField<'_>) -> Option<&SchemaField> {
        let start = self.fields.partition_point(|field| field.folded < given.folded);
        let alike = || self.fields[start..].iter().take_while(|field| field.folded == given.folded);
        alike().find(|field| field.name == given.name).or_else(|| alike().next())
    }

    /// From 0 to 1: how well given arguments fit. Few names that fit say less than many, and a value of
    /// another type says half.
    pub(super) fn fit(&self, given: &ArgumentFields<'_>) -> f64 {
        let ArgumentFields(given) = given;
        if self.fields.is_empty() || given.is_empty() {
            return 0.0;
        }
        let mut matched = 0.0;
        for field in given {
            if let Some(known) = self.find(field) {
                let may_be = known.types.is_none_or(|types| types.meets(field.types));
                matched += if may_be { 1.0 } else { 0.5 };
            }
        }
        if matched == 0.0 {
            return 0.0;
        }
        let is_given = |name: &&String| given.iter().any(|field| field.folded == **name);
        let known = matched / count(given.len());
        let complete = if self.required.is_empty() {
            known
        } else {
            count(self.required.iter().filter(is_given).count()) / count(self.required.len())
        };
        (0.6 * known + 0.4 * complete) * matched / (matched + 0.5)
    }
}

/// The type that a field's schema names, a number for an integer too.
fn types(field: &Value) -> Option<Types> {
    Some(match field.get("type").and_then(Value::as_str)? {
        "string" => Types::STRING,
        "number" | "integer" => Types::NUMBER,
        "boolean" => Types::BOOLEAN,
        "array" => Types::ARRAY,
        "object" => Types::OBJECT,
        _ => return None,
    })
}

/// The arguments of a call, or of one that it wraps.
pub(super) struct ArgumentFields<'c>(Vec<ArgumentField<'c>>);

struct ArgumentField<'c> {
    name: &'c str,
    folded: String,
    types: Types,
}

impl<'c> ArgumentFields<'c> {
    pub(super) fn of(members: &'c Map<String, Value>) -> Self {
        let members = Some(members).filter(|members| members.len() <= MOST_GIVEN);
        let fields = members.into_iter().flatten().map(|(name, value)| ArgumentField {
            name,
            folded: folded(name).collect(),
            types: Types::of(value),
        });
        Self(fields.collect())
    }
}
