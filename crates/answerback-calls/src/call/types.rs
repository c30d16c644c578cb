//! The seven types of JSON Schema as a set of bits.

use std::fmt;

use serde_json::{Number, Value};

/// A set of JSON types. `number` includes `integer`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Types(u8);

const NAMES: [(&str, u8); 7] = [
    ("string", 1),
    ("integer", 2),
    ("number", 2 | 4),
    ("boolean", 8),
    ("array", 16),
    ("object", 32),
    ("null", 64),
];

impl Types {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const STRING: Self = Self(1);
    pub(crate) const NUMBER: Self = Self(2 | 4);
    pub(crate) const FRACTION: Self = Self(4);
    pub(crate) const BOOLEAN: Self = Self(8);
    pub(crate) const ARRAY: Self = Self(16);
    pub(crate) const OBJECT: Self = Self(32);
    pub(crate) const NULL: Self = Self(64);
    const CONTAINERS: Self = Self(16 | 32);

    /// Returns the types that a `type` keyword allows: one name, or a list of names.
    pub(crate) fn of_keyword(keyword: &Value) -> Self {
        match keyword {
            Value::String(name) => Self::of_name(name),
            Value::Array(names) => names
                .iter()
                .filter_map(Value::as_str)
                .fold(Self::NONE, |set, name| set.with(Self::of_name(name))),
            _ => Self::NONE,
        }
    }

    fn of_name(name: &str) -> Self {
        Self(NAMES.iter().find(|(known, _)| *known == name).map_or(0, |(_, bits)| *bits))
    }

    /// Returns the type of a value. As in JSON Schema, `1.0` is an integer.
    pub(crate) fn of(value: &Value) -> Self {
        Self(match value {
            Value::String(_) => 1,
            Value::Number(number) if is_integer(number) => 2,
            Value::Number(_) => 4,
            Value::Bool(_) => 8,
            Value::Array(_) => 16,
            Value::Object(_) => 32,
            Value::Null => 64,
        })
    }

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if the set contains only arrays and objects, or is empty.
    pub(crate) fn is_all_containers(self) -> bool {
        self.0 & !Self::CONTAINERS.0 == 0
    }

    /// Returns the name of a value's type.
    pub(crate) fn name_of(value: &Value) -> &'static str {
        match value {
            Value::String(_) => "string",
            Value::Number(number) if is_integer(number) => "integer",
            Value::Number(_) => "number",
            Value::Bool(_) => "boolean",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
            Value::Null => "null",
        }
    }
}

impl Types {
    /// Returns the names of the types. `integer` is left out if `number` is in the set.
    pub(crate) fn names(self) -> Vec<&'static str> {
        let whole = |bits: u8| self.0 & bits == bits;
        NAMES
            .iter()
            .filter(|(name, bits)| whole(*bits) && !(*name == "integer" && whole(2 | 4)))
            .map(|(name, _)| *name)
            .collect()
    }
}

/// Writes the names joined as in a sentence: "string, integer or null".
impl fmt::Display for Types {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names();
        match names.split_last() {
            None => formatter.write_str("nothing"),
            Some((last, [])) => formatter.write_str(last),
            Some((last, others)) => write!(formatter, "{} or {last}", others.join(", ")),
        }
    }
}

fn is_integer(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn are_sets() {
        for (keyword, value, meets) in [
            (json!("integer"), json!(1.0), true),
            (json!("integer"), json!(1.5), false),
            (json!("number"), json!(1), true),
            (json!(["string", "null"]), json!(null), true),
            (json!(["string", "null"]), json!([]), false),
        ] {
            assert_eq!(
                Types::of_keyword(&keyword).meets(Types::of(&value)),
                meets,
                "{keyword} {value}"
            );
        }
    }

    #[test]
    fn read_like_speech() {
        for (keyword, words) in [
            (json!("number"), "number"),
            (json!(["integer", "null", "string"]), "string, integer or null"),
            (json!(["integer", "number"]), "number"),
            (json!([]), "nothing"),
        ] {
            assert_eq!(Types::of_keyword(&keyword).to_string(), words);
        }
    }
}
