//! Members deep in a message, read and replaced without touching the rest of its text.

use std::ops::Range;

use super::{Id, Object, ObjectError};

/// The text of a member of a member.
pub fn at<'t>(text: &'t str, path: &[&str]) -> Option<&'t str> {
    path.iter().try_fold(text, |text, name| Object::read(text).ok()?.get(name))
}

/// Where a piece of a text lies in it: the distance of their beginnings says it.
pub fn place(text: &str, piece: &str) -> Range<usize> {
    let start = piece.as_ptr() as usize - text.as_ptr() as usize;
    start..start + piece.len()
}

/// A string somewhere in a text.
pub fn string_at(text: &str, path: &[&str]) -> Option<String> {
    serde_json::from_str(at(text, path)?).ok()
}

/// An id somewhere in a text.
pub fn id_at(text: &str, path: &[&str]) -> Option<Id> {
    Id::read(at(text, path)?)
}

/// The text with this value for a member of a member. Objects that are missing on the way are made.
///
/// # Errors
///
/// When something on the way is no object.
pub fn with(text: &str, path: &[&str], value: &str) -> Result<String, ObjectError> {
    let [name, deeper @ ..] = path else { return Ok(value.to_owned()) };
    let object = Object::read(text)?;
    let inner = with(object.get(name).unwrap_or("{}"), deeper, value)?;
    Ok(object.with(name, &inner))
}

/// The text without a member of a member.
///
/// # Errors
///
/// When something on the way is no object.
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
