//! Reads and replaces nested members of a message without changing the rest of its text.

use std::ops::Range;

use super::{Id, Object, ObjectError};

/// Returns the JSON text of the member at this path.
pub fn at<'t>(text: &'t str, path: &[&str]) -> Option<&'t str> {
    path.iter().try_fold(text, |text, name| Object::read(text).ok()?.get(name))
}

/// Returns the position of a piece within its text. The piece must be a slice of that text, because the position
/// is computed from the pointers.
pub fn range_of(text: &str, piece: &str) -> Range<usize> {
    let start = piece.as_ptr() as usize - text.as_ptr() as usize;
    start..start + piece.len()
}

/// Returns the string at this path.
pub fn string_at(text: &str, path: &[&str]) -> Option<String> {
    serde_json::from_str(at(text, path)?).ok()
}

/// Returns the id at this path.
pub fn id_at(text: &str, path: &[&str]) -> Option<Id> {
    Id::read(at(text, path)?)
}

/// Returns the text with this value for the member at the path. Missing objects on the path are created.
///
/// # Errors
///
/// Returns an error if a value on the path is not an object.
pub fn with(text: &str, path: &[&str], value: &str) -> Result<String, ObjectError> {
    let [name, deeper @ ..] = path else { return Ok(value.to_owned()) };
    let object = Object::read(text)?;
    let inner = with(object.get(name).unwrap_or("{}"), deeper, value)?;
    Ok(object.with(name, &inner))
}

/// Returns the text without the member `name` of the object at the path.
///
/// # Errors
///
/// Returns an error if a value on the path is not an object.
pub fn without(text: &str, path: &[&str], name: &str) -> Result<String, ObjectError> {
    let inner = at(text, path).unwrap_or("{}");
    let inner = Object::read(inner)?.without(name);
    with(text, path, &inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_replaced_and_removed_where_they_lie() {
        let text = r#"{ "a": {"b" : 1.50, "c":[ ]}, "n":12345678901234567890 }"#;
        assert_eq!(at(text, &["a", "b"]), Some("1.50"));
        assert_eq!(at(text, &["a", "x"]), None);
        assert_eq!(at(text, &["n", "x"]), None);
        for (path, expected) in [
            (&["a", "b"][..], r#"{ "a": {"b" : 7, "c":[ ]}, "n":12345678901234567890 }"#),
            (&["a", "d"], r#"{ "a": {"b" : 1.50, "c":[ ],"d":7}, "n":12345678901234567890 }"#),
            (
                &["x", "y"],
                r#"{ "a": {"b" : 1.50, "c":[ ]}, "n":12345678901234567890 ,"x":{"y":7}}"#,
            ),
        ] {
            assert_eq!(with(text, path, "7").unwrap(), expected);
        }
        assert!(with(text, &["n", "x"], "7").is_err());
        assert_eq!(
            without(text, &["a"], "b").unwrap(),
            r#"{ "a": { "c":[ ]}, "n":12345678901234567890 }"#
        );
    }
}
