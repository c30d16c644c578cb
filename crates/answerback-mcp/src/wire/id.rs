use serde_json::Value;

/// Holds the id of a request. Two spellings of one id are equal, because a server may spell a number or a string
/// differently from the request.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Id(String);

impl Id {
    /// Parses an id, which is a string or a number, from its JSON text. Returns `None` for any other value.
    pub fn read(written: &str) -> Option<Self> {
        // Most ids are counters: a short number without a leading zero has only one spelling.
        let is_counted = matches!(written.len(), 1..16) && !written.starts_with('0');
        if is_counted && written.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(Self(written.to_owned()));
        }
        match serde_json::from_str(written).ok()? {
            Value::String(text) => Some(Self::of_text(&text)),
            // `1` and `1.0` are one number, and so are `0` and `-0`.
            Value::Number(number) => Some(match number.as_f64() {
                Some(float) if float.fract() == 0.0 && float.abs() < 9e15 => {
                    Self(format!("{:.0}", float + 0.0))
                }
                _ => Self(number.to_string()),
            }),
            _ => None,
        }
    }

    /// Returns the id that is this string.
    pub fn of_text(text: &str) -> Self {
        Self(Value::from(text).to_string())
    }

    /// Returns the id as JSON.
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writings_of_one_id_are_one_id() {
        let read = Id::read;
        for (one, other) in
            [("1", "1.0"), ("0", "-0"), ("10", "1e1"), ("123456789012345", "123456789012345.0")]
        {
            assert_eq!(read(one), read(other), "{one}");
        }
        assert_eq!(read(r#""a""#), read(r#""\u0061""#));
        assert_eq!(read(r#""a""#), Some(Id::of_text("a")));
        assert_ne!(read("1"), read(r#""1""#));
        assert_ne!(read("123456789012345678"), read("123456789012345679"));
        for text in ["", "null", "[]", "{}", "true", "1 2"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
