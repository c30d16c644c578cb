use std::fmt::{self, Write};

use serde_json::{Number, Value};

/// True if a value takes more than `budget` bytes as compact JSON. The value is not serialized, and counting
/// stops as soon as the budget is used up.
pub(super) fn exceeds(value: &Value, budget: usize) -> bool {
    let is_small = at_worst(value, budget).is_some();
    !is_small && ByteBudget(budget).take(value).is_none()
}

/// Returns the rest of a budget if every character had to be escaped. This settles small values without
/// reading their texts.
fn at_worst(value: &Value, left: usize) -> Option<usize> {
    let text = |text: &str, left: usize| left.checked_sub(text.len().saturating_mul(6) + 3);
    match value {
        // The longest number is -2.2250738585072014e-308, and a comma follows.
        Value::Null | Value::Bool(_) | Value::Number(_) => left.checked_sub(25),
        Value::String(string) => text(string, left),
        Value::Array(elements) => {
            elements.iter().try_fold(left.checked_sub(3)?, |left, element| at_worst(element, left))
        }
        Value::Object(members) => {
            members.iter().try_fold(left.checked_sub(3)?, |left, (name, member)| {
                at_worst(member, text(name, left)?)
            })
        }
    }
}

/// The bytes left in a budget.
struct ByteBudget(usize);

impl ByteBudget {
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
        // Small sums over small chunks let the compiler count many bytes at a time.
        let cost = |chunk: &[u8]| chunk.iter().fold(0_u8, |sum, byte| sum + escape_cost(*byte));
        text.as_bytes().chunks(48).try_for_each(|chunk| self.spend(usize::from(cost(chunk))))
    }

    fn take_number(&mut self, number: &Number) -> Option<()> {
        if let Some(whole) = number.as_u64() {
            return self.spend(whole.checked_ilog10().map_or(1, |digits| digits as usize + 1));
        }
        // The length of a decimal is only known from its printed form.
        write!(self, "{number}").ok()
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.checked_sub(bytes)?;
        Some(())
    }
}

impl Write for ByteBudget {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.spend(text.len()).ok_or(fmt::Error)
    }
}

/// Returns the number of bytes that escaping adds to this byte.
fn escape_cost(byte: u8) -> u8 {
    let has_letter = matches!(byte, 0x08 | b'\t' | b'\n' | 0x0c | b'\r');
    let is_mark = byte == b'"' || byte == b'\\';
    u8::from(byte < 0x20) * 5 - u8::from(has_letter) * 4 + u8::from(is_mark)
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

    #[test]
    fn what_is_called_small_is_small() {
        let longest = json!([-2.225_073_858_507_201_4e-308, i64::MIN, "\u{1}", {"\u{1}": []}]);
        for value in [longest, json!([]), json!({}), json!(""), json!(false), json!([[], [{}]])] {
            let length = value.to_string().len();
            assert!(at_worst(&value, length - 1).is_none(), "{value}");
        }
    }
}
