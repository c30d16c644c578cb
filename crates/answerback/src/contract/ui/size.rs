use std::fmt::{self, Write};

use serde_json::{Number, Value};

/// Whether a value takes more than `budget` bytes as compact JSON. Nothing is written to find out, and
/// counting stops as soon as the budget is used up.
pub(super) fn exceeds(value: &Value, budget: usize) -> bool {
    let mut left = Left(budget);
    left.take(value).is_none()
}

/// The bytes that are left of a budget.
struct Left(usize);

impl Left {
    fn take(&mut self, value: &Value) -> Option<()> {
        match value {
            Value::Null | Value::Bool(true) => self.spend(4),
            Value::Bool(false) => self.spend(5),
            Value::Number(number) => self.take_number(number),
            Value::String(text) => self.take_text(text),
            Value::Array(elements) => {
                self.spend(2 + elements.len().saturating_sub(1))?;
                elements.iter().try_for_each(|element| self.take(element))
            }
            Value::Object(members) => {
                self.spend(2 + members.len().saturating_sub(1))?;
                members.iter().try_for_each(|(name, member)| {
                    self.take_text(name)?;
                    self.spend(1)?;
                    self.take(member)
                })
            }
        }
    }

    fn take_text(&mut self, text: &str) -> Option<()> {
        self.spend(text.len() + 2)?;
        let escapes: usize = text.bytes().map(|byte| usize::from(is_escaped(byte))).sum();
        if escapes == 0 {
            return Some(());
        }
        self.spend(text.bytes().map(escape_cost).sum())
    }

    fn take_number(&mut self, number: &Number) -> Option<()> {
        if let Some(whole) = number.as_u64() {
            return self.spend(whole.checked_ilog10().map_or(1, |digits| digits as usize + 1));
        }
        // Only how it is printed tells how long a decimal is.
        write!(self, "{number}").ok()
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.checked_sub(bytes)?;
        Some(())
    }
}

impl Write for Left {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.spend(text.len()).ok_or(fmt::Error)
    }
}

fn is_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// How many bytes escaping adds to this one.
fn escape_cost(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r' => 1,
        0..0x20 => 5,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_what_serialising_would_write() {
        for value in [
            json!(null),
            json!([true, false, []]),
            json!({"a": {}, "b\n": [1, 2]}),
            json!("q\"\\ \u{1}\u{8}\t\n\u{c}\r\u{1f}\u{7f} é 𝄞"),
            json!([0, 9, 10, 99, 100, u64::MAX, -1, i64::MIN, 0.1, -1.5e300, 1e21]),
        ] {
            let length = value.to_string().len();
            assert!(!exceeds(&value, length), "{value}");
            assert!(exceeds(&value, length - 1), "{value}");
        }
    }
}
