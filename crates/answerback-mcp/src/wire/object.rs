use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use serde::de::{Error as _, IgnoredAny};

use super::json_scanner;
use super::splice::range_of;

/// Holds a JSON object as text, with the positions of its members. A member can be replaced or added, and every
/// other byte stays the same.
///
/// ```
/// use answerback_mcp::wire::Object;
///
/// let text = r#"{ "n": 1.50, "extra": [ ] }"#;
/// let object = Object::read(text)?;
/// assert_eq!(object.get("n"), Some("1.50"));
/// assert_eq!(object.with("m", "2"), r#"{ "n": 1.50, "extra": [ ] ,"m":2}"#);
/// assert_eq!(object.with("n", "2"), r#"{ "n": 2, "extra": [ ] }"#);
/// # Ok::<(), answerback_mcp::wire::ObjectError>(())
/// ```
#[derive(Debug)]
pub struct Object<'t> {
    text: &'t str,
    members: Vec<(Cow<'t, str>, &'t str)>,
    repeats: bool,
}

/// Reports a text that is not a JSON object, or an object in which a name occurs twice.
#[derive(Debug, thiserror::Error)]
#[error("not a JSON object: {0}")]
pub struct ObjectError(#[from] serde_json::Error);

impl<'t> Object<'t> {
    /// Reads the members of an object. A repeated name is rejected, because two parsers could use different
    /// values for it.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a JSON object, or if a name occurs twice.
    pub fn read(text: &'t str) -> Result<Self, ObjectError> {
        let object = Self::read_repeating(text)?;
        if object.repeats {
            return Err(ObjectError(serde_json::Error::custom("a name stands twice")));
        }
        Ok(object)
    }

    /// Reads the members of an object in which names may occur twice. The last value of a repeated name counts,
    /// as it does for most parsers.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a JSON object.
    pub fn read_repeating(text: &'t str) -> Result<Self, ObjectError> {
        let mut members: Vec<(Cow<'t, str>, &'t str)> = Vec::new();
        let mut names: HashSet<Cow<'t, str>> = HashSet::new();
        let mut repeats = false;
        let is_object = json_scanner::for_each_member(text, |name, value| {
            let Some(name) = json_scanner::string_content(name) else { return false };
            // Messages have few members, so they are compared pairwise. The set is for objects that were made to
            // be slow.
            repeats |= if members.len() < 32 {
                members.iter().any(|(member, _)| *member == name)
            } else {
                if names.is_empty() {
                    names.extend(members.iter().map(|(member, _)| member.clone()));
                }
                !names.insert(name.clone())
            };
            members.push((name, value));
            true
        });
        if is_object { Ok(Self { text, members, repeats }) } else { Err(ObjectError::of(text)) }
    }

    /// Returns true if a name occurs twice.
    pub fn repeats(&self) -> bool {
        self.repeats
    }

    /// Returns the first name that occurs twice.
    pub fn repeated(&self) -> Option<&str> {
        let mut seen = HashSet::new();
        let mut names = self.members.iter().filter(|_| self.repeats).map(|(name, _)| &**name);
        names.find(|name| !seen.insert(*name))
    }

    /// Returns the JSON text of a member's value.
    pub fn get(&self, name: &str) -> Option<&'t str> {
        self.members.iter().rfind(|(member, _)| member == name).map(|(_, value)| *value)
    }

    /// Returns the members in the order of the text. Their values are JSON text.
    pub fn members(&self) -> impl Iterator<Item = (&str, &'t str)> {
        self.members.iter().map(|(name, value)| (&**name, *value))
    }

    /// Returns the text of the object with this value for a member. A missing member is added at the end.
    pub fn with(&self, name: &str, value: &str) -> String {
        let mut text = String::with_capacity(self.text.len() + name.len() + value.len() + 8);
        match self.get(name) {
            Some(old) => {
                let Range { start, end } = range_of(self.text, old);
                text.push_str(&self.text[..start]);
                text.push_str(value);
                text.push_str(&self.text[end..]);
            }
            None => {
                let end = self.text.rfind('}').unwrap_or(self.text.len());
                text.push_str(&self.text[..end]);
                if !self.members.is_empty() {
                    text.push(',');
                }
                text.push_str(&serde_json::Value::from(name).to_string());
                text.push(':');
                text.push_str(value);
                text.push_str(&self.text[end..]);
            }
        }
        text
    }

    /// Returns the text of the object without a member and without the comma that belonged to it.
    pub fn without(&self, name: &str) -> String {
        let Some(index) = self.members.iter().rposition(|(member, _)| member == name) else {
            return self.text.to_owned();
        };
        let after = |index: usize| range_of(self.text, self.members[index].1).end;
        // The cut starts at the end of the member before, or after the opening brace. It ends before the next
        // member.
        let start = match index.checked_sub(1) {
            Some(before) => after(before),
            None => self.text.find('{').map_or(0, |brace| brace + 1),
        };
        let mut end = after(index);
        if index == 0
            && let Some(comma) = self.text[end..].find([',', '}'])
            && self.text[end + comma..].starts_with(',')
        {
            end += comma + 1;
        }
        format!("{}{}", &self.text[..start], &self.text[end..])
    }
}

impl ObjectError {
    /// Returns the error for a text that the scanner rejected, with the detail that `serde_json` reports.
    fn of(text: &str) -> Self {
        let read = serde_json::from_str::<IgnoredAny>(text);
        Self(read.err().unwrap_or_else(|| serde_json::Error::custom("it is another value")))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_member_is_replaced_or_added_and_nothing_else_changes() {
        for (text, name, value, expected) in [
            ("{}", "a", "1", r#"{"a":1}"#),
            (" { } ", "a", "1", r#" { "a":1} "#),
            (r#"{"a":1}"#, "a", "[2]", r#"{"a":[2]}"#),
            (r#"{"b":{"a":9},"a" : 1.0 }"#, "a", "2", r#"{"b":{"a":9},"a" : 2 }"#),
            (r#"{"\u0061":1}"#, "a", "2", r#"{"\u0061":2}"#),
            (r#"{"b":"}"}"#, "a\"", "2", r#"{"b":"}","a\"":2}"#),
            (
                r#"{"big":12345678901234567890123}"#,
                "a",
                "0",
                r#"{"big":12345678901234567890123,"a":0}"#,
            ),
        ] {
            assert_eq!(Object::read(text).unwrap().with(name, value), expected);
        }
    }

    #[test]
    fn a_member_is_removed_and_nothing_else_changes() {
        for (text, expected) in [
            (r#"{"a":1}"#, "{}"),
            (r#" { "a" : 1 } "#, " { } "),
            (r#"{"a":{"b":"},"}, "b":2}"#, r#"{ "b":2}"#),
            (r#"{"b":2 , "\u0061":1 ,"c":3}"#, r#"{"b":2 ,"c":3}"#),
            (r#"{"b":2,"a":1}"#, r#"{"b":2}"#),
            (r#"{"b":{"a":1}}"#, r#"{"b":{"a":1}}"#),
        ] {
            assert_eq!(Object::read(text).unwrap().without("a"), expected);
        }
    }

    #[test]
    fn of_a_name_that_stands_twice_the_last_value_counts() {
        let text = r#"{"a":1,"b":2, "a" : 3}"#;
        let object = Object::read_repeating(text).unwrap();
        assert!(object.repeats() && Object::read(text).is_err());
        assert_eq!(object.get("a"), Some("3"));
        assert_eq!(object.with("a", "4"), r#"{"a":1,"b":2, "a" : 4}"#);
        assert_eq!(object.with("c", "4"), r#"{"a":1,"b":2, "a" : 3,"c":4}"#);
        assert_eq!(object.repeated(), Some("a"));
        let object = Object::read_repeating(r#"{"a":1}"#).unwrap();
        assert!(!object.repeats() && object.repeated().is_none());
    }

    #[test]
    fn refuses_what_is_no_object() {
        for text in ["", "[]", "1", "{", r#"{"a":1}x"#, r#"{"a":1,"\u0061":2}"#] {
            assert!(Object::read(text).is_err(), "{text}");
        }
        let many: String = (0..100).map(|number| format!("\"{number}\":1,")).collect();
        assert!(Object::read(&format!("{{{many}\"x\":1}}")).is_ok());
        assert!(Object::read(&format!("{{{many}\"7\":1}}")).is_err());
    }

    proptest! {
        #[test]
        fn the_value_is_there_and_the_rest_is_kept(
            members in proptest::collection::btree_map("[a-c\"é]{0,3}", -9..9, 0..5),
            name in "[a-c\"é]{0,3}",
        ) {
            let before = json!(members);
            let text = before.to_string();
            let after: Value = serde_json::from_str(&Object::read(&text).unwrap().with(&name, "[7]")).unwrap();
            let mut expected = before;
            expected[name.as_str()] = json!([7]);
            prop_assert_eq!(after, expected);
        }
    }
}
