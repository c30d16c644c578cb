//! Parses a result once and detects repeated names.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Holds a parsed result.
#[derive(Debug)]
pub(crate) struct ResultTree {
    /// The value of the result. The last value of a repeated name counts, as it does for most parsers.
    pub(crate) value: Value,
    /// True if a name is repeated, so that parsers may disagree about the value.
    pub(crate) repeats: bool,
}

impl ResultTree {
    pub(crate) fn read(text: &str) -> Result<Self, serde_json::Error> {
        let repeats = Cell::new(false);
        let mut reader = serde_json::Deserializer::from_str(text);
        let value = TreeNode(&repeats).deserialize(&mut reader)?;
        reader.end()?;
        Ok(Self { value, repeats: repeats.get() })
    }
}

/// Deserializes one value of the tree.
#[derive(Clone, Copy)]
struct TreeNode<'r>(&'r Cell<bool>);

impl<'de> DeserializeSeed<'de> for TreeNode<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TreeNode<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(self)? {
            list.push(element);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if map.insert(name, members.next_value_seed(self)?).is_some() {
                self.0.set(true);
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_the_usual_one_and_repeated_names_are_told() {
        for (text, repeats) in [
            (
                r#"{"a":[1,-2,0.5,12345678901234567890123,"\u00e9",true,null,{}],"b":{"a":1}}"#,
                false,
            ),
            (r#"{"b":1,"a":1,"b":2}"#, true),
            (r#"[{"x":{"y":1,"\u0079":2}}]"#, true),
            ("7", false),
        ] {
            let tree = ResultTree::read(text).unwrap();
            assert_eq!(tree.value, serde_json::from_str::<Value>(text).unwrap());
            assert_eq!(tree.repeats, repeats, "{text}");
        }
        let deep = "[".repeat(200);
        for text in ["", "{", "1 2", "1e400", r#""\ud800""#, deep.as_str()] {
            assert!(ResultTree::read(text).is_err(), "{text}");
        }
    }
}
