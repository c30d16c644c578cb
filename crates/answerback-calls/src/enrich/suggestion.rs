use jsonschema::Validator;
use serde_json::{Map, Value};

/// The certainty that a value is the only permitted one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Only {
    /// No other value is permitted.
    Certain,
    /// Other branches of a union permit other values.
    OneOfSeveral,
}

/// Returns the value that the caller certainly meant, if there is one. It is the only permitted value, a
/// permitted value that differs by letter case or by one edit, or the same value as another type. It is
/// validated before it is returned.
pub(super) fn suggestion(
    value: Option<&Value>,
    parts: &[&Map<String, Value>],
    only: Only,
    validator: &Validator,
) -> Option<Value> {
    let single =
        || parts.iter().find_map(|part| part.get("const").cloned().or_else(|| only_allowed(part)));
    let only = if only == Only::Certain { single() } else { None };
    let meant = || {
        let value = value?;
        let allowed = parts.iter().find_map(|part| part.get("enum").and_then(Value::as_array));
        match allowed {
            Some(allowed) => near(value, allowed),
            None => retyped(value, parts),
        }
    };
    only.or_else(meant).filter(|suggested| validator.is_valid(suggested))
}

/// True if two names are the same apart from letter case and separators, or differ by one edit.
pub(super) fn is_near_name(known: &str, name: &str) -> bool {
    let plain = |name: &str| name.replace(['_', '-', ' '], "").to_lowercase();
    let (known, name) = (plain(known), plain(name));
    known == name || (name.chars().count() >= 3 && is_one_edit(&known, &name))
}

fn only_allowed(part: &Map<String, Value>) -> Option<Value> {
    match part.get("enum")?.as_array()?.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}

/// Returns the permitted value that resembles the value, if exactly one does.
fn near(value: &Value, allowed: &[Value]) -> Option<Value> {
    let text = match value {
        // A long text is not a misspelled word.
        Value::String(text) if text.len() <= 256 => text.trim().to_owned(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => return None,
    };
    let only = |is_near: &dyn Fn(&str) -> bool| {
        let mut found = allowed.iter().filter(|one| match one {
            Value::String(one) => is_near(one),
            Value::Number(_) | Value::Bool(_) => is_near(&one.to_string()),
            _ => false,
        });
        found.next().filter(|_| found.next().is_none()).cloned()
    };
    let lower = text.to_lowercase();
    // A short word is often one edit away from an unrelated one.
    let is_long = text.chars().count() >= 4;
    only(&|one| one == text)
        .or_else(|| only(&|one| one.to_lowercase() == lower))
        .or_else(|| only(&|one| is_long && is_one_edit(&one.to_lowercase(), &lower)))
}

/// Returns the same value as a type that the schema wants: "5" as 5, 5 as "5", "[1]" as [1].
fn retyped(value: &Value, parts: &[&Map<String, Value>]) -> Option<Value> {
    let wants = |kind: &str| {
        parts.iter().filter_map(|part| part.get("type")).any(|wanted| match wanted {
            Value::String(wanted) => wanted == kind,
            Value::Array(list) => list.iter().any(|wanted| wanted == kind),
            _ => false,
        })
    };
    match value {
        Value::String(text) if text.len() <= 4096 => {
            let read: Value = serde_json::from_str(text.trim()).ok()?;
            let kind = super::condition::type_of(&read);
            let is_wanted = match &read {
                Value::Number(_) => wants("number") || wants("integer"),
                Value::Bool(_) | Value::Array(_) | Value::Object(_) => wants(kind),
                _ => false,
            };
            is_wanted.then_some(read)
        }
        // A float may already have lost digits, so only integers are converted.
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            wants("string").then(|| number.to_string().into())
        }
        _ => None,
    }
}

/// True if one insertion, deletion, replacement or swap of neighbors turns one word into the other.
fn is_one_edit(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let same = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[same..], &other[same..]);
    match (one, other) {
        ([], [_]) | ([_], []) => true,
        ([a, rest @ ..], [b, tail @ ..]) => {
            rest == tail
                || rest == other
                || one == tail
                || matches!((rest, tail), ([c, rest @ ..], [d, tail @ ..]) if a == d && b == c && rest == tail)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_certain() {
        let unit = json!({"enum": ["celsius", "fahrenheit"]});
        let table = [
            (unit.clone(), json!("Celsius"), Some(json!("celsius"))),
            (unit.clone(), json!("celcius"), Some(json!("celsius"))),
            (unit.clone(), json!("fahrenhiet"), Some(json!("fahrenheit"))),
            (unit.clone(), json!(" celsius "), Some(json!("celsius"))),
            (unit, json!("kelvin"), None),
            (json!({"enum": ["a", "b"]}), json!("c"), None),
            (json!({"enum": ["cart", "card"]}), json!("carr"), None),
            (json!({"enum": [1, 2]}), json!("2"), Some(json!(2))),
            (json!({"enum": ["1", "2"]}), json!(2), Some(json!("2"))),
            (json!({"enum": ["x"]}), json!(null), Some(json!("x"))),
            (json!({"const": 3}), json!("9"), Some(json!(3))),
            (json!({"type": "integer"}), json!("5"), Some(json!(5))),
            (json!({"type": "integer", "maximum": 4}), json!("5"), None),
            (json!({"type": "integer"}), json!("5.5"), None),
            (json!({"type": "integer"}), json!("five"), None),
            (json!({"type": "number"}), json!("1.5"), Some(json!(1.5))),
            (json!({"type": "boolean"}), json!("true"), Some(json!(true))),
            (json!({"type": "boolean"}), json!("yes"), None),
            (json!({"type": "array"}), json!("[1]"), Some(json!([1]))),
            (json!({"type": "object"}), json!("[1]"), None),
            (json!({"type": "string"}), json!(5), Some(json!("5"))),
            (json!({"type": "string"}), json!(5.5), None),
            (json!({"type": "string"}), json!([]), None),
            (json!({"minimum": 5}), json!(3), None),
        ];
        for (part, value, expected) in table {
            let validator = jsonschema::validator_for(&part).unwrap();
            let found =
                suggestion(Some(&value), &[part.as_object().unwrap()], Only::Certain, &validator);
            assert_eq!(found, expected, "{part} {value}");
        }
    }

    #[test]
    fn one_edit() {
        for (one, other) in
            [("abc", "ab"), ("abc", "abd"), ("abc", "acb"), ("abc", "xabc"), ("abcd", "bacd")]
        {
            assert!(is_one_edit(one, other) && is_one_edit(other, one), "{one} {other}");
        }
        for (one, other) in [("abc", "abc"), ("abc", "a"), ("abcd", "badc"), ("", "")] {
            assert!(!is_one_edit(one, other), "{one} {other}");
        }
    }
}
