use std::fmt::{self, Write};

use serde_json::{Number, Value};

/// Formats a value in the canonical form of RFC 8785: no spaces, members sorted by their UTF-16 code units, numbers
/// as ECMAScript writes them. Values with the same meaning have the same text.
///
/// It deviates from the RFC in one point: an integer beyond 2^53 keeps all its digits, while the RFC rounds it to a
/// double. An approved value must never share its digest with another number.
///
/// ```
/// let value = serde_json::json!({"b": 1.0, "a": [1e21, "é\n"]});
/// assert_eq!(answerback_json::canonical(&value), r#"{"a":[1e+21,"é\n"],"b":1}"#);
/// ```
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_canonical(&mut text, value);
    text
}

/// Writes the canonical form into a sink, such as a hash.
///
/// # Errors
///
/// Returns the error of the sink.
pub fn write_canonical(sink: &mut impl Write, value: &Value) -> fmt::Result {
    match value {
        Value::Null => sink.write_str("null"),
        Value::Bool(true) => sink.write_str("true"),
        Value::Bool(false) => sink.write_str("false"),
        Value::Number(number) => write_number(sink, number),
        Value::String(text) => write_string(sink, text),
        Value::Array(elements) => {
            sink.write_char('[')?;
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    sink.write_char(',')?;
                }
                write_canonical(sink, element)?;
            }
            sink.write_char(']')
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            // Member names are unique, so an unstable sort is safe. ASCII names have the same order by bytes and by
            // UTF-16.
            if members.keys().all(|name| name.is_ascii()) {
                sorted.sort_unstable_by_key(|(name, _)| *name);
            } else {
                sorted.sort_unstable_by(|(one, _), (other, _)| {
                    one.encode_utf16().cmp(other.encode_utf16())
                });
            }
            sink.write_char('{')?;
            for (index, (name, member)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    sink.write_char(',')?;
                }
                write_string(sink, name)?;
                sink.write_char(':')?;
                write_canonical(sink, member)?;
            }
            sink.write_char('}')
        }
    }
}

/// Writes a string of the canonical form: in double quotes, with the shortest escapes.
///
/// # Errors
///
/// Returns the error of the sink.
pub fn write_string(sink: &mut impl Write, text: &str) -> fmt::Result {
    sink.write_char('"')?;
    // Every character that needs an escape is a single byte, so the text between escapes is written in one piece.
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        sink.write_str(&text[written..at])?;
        written = at + 1;
        match byte {
            b'"' => sink.write_str("\\\"")?,
            b'\\' => sink.write_str("\\\\")?,
            0x08 => sink.write_str("\\b")?,
            b'\t' => sink.write_str("\\t")?,
            b'\n' => sink.write_str("\\n")?,
            0x0c => sink.write_str("\\f")?,
            b'\r' => sink.write_str("\\r")?,
            control => write!(sink, "\\u{control:04x}")?,
        }
    }
    sink.write_str(&text[written..])?;
    sink.write_char('"')
}

fn write_number(sink: &mut impl Write, number: &Number) -> fmt::Result {
    if number.is_f64() { write_double(sink, &number.to_string()) } else { write!(sink, "{number}") }
}

/// Writes a double in the notation of ECMAScript's `Number::toString`. The digits in `text` are already the shortest
/// that parse back to the same number.
fn write_double(sink: &mut impl Write, text: &str) -> fmt::Result {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |text| ("-", text));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let length = |digits: &str| i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    // `point` is the position of the decimal point, counted from the first significant digit.
    let point = exponent.parse::<i32>().unwrap_or(0) + length(whole)
        - (length(&digits) - length(significant));
    let digits = significant.trim_end_matches('0');
    if digits.is_empty() {
        return sink.write_char('0');
    }
    let count = length(digits);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    sink.write_str(sign)?;
    if (count..=21).contains(&point) {
        write!(sink, "{digits}{}", zeros(point - count))
    } else if (1..=21).contains(&point) {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
        write!(sink, "{whole}.{fraction}")
    } else if (-5..=0).contains(&point) {
        write!(sink, "0.{}{digits}", zeros(-point))
    } else {
        let exponent = point - 1;
        let sign = if exponent < 0 { '-' } else { '+' };
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        write!(sink, "{first}{dot}{rest}e{sign}{}", exponent.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn reads_back_as_itself(double in any::<f64>(), name in any::<String>(), integer in any::<i64>()) {
            let value = json!({ "double": double, "text": name, &name: integer });
            let text = canonical(&value);
            let read: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(canonical(&read), text);
            prop_assert_eq!(read["double"].as_f64(), value["double"].as_f64());
        }
    }

    /// Checks the number samples of RFC 8785, appendix B, given by their bits.
    #[test]
    fn numbers_as_ecmascript_writes_them() {
        let table: [(u64, &str); 22] = [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ];
        for (bits, text) in table {
            assert_eq!(canonical(&json!(f64::from_bits(bits))), text);
        }
    }

    #[test]
    fn members_are_sorted_by_utf16() {
        let value = json!({"\u{fb33}": 1, "\u{1f600}": 2, "€": 3, "1": 4, "\r": 5, "\u{80}": 6});
        assert_eq!(
            canonical(&value),
            "{\"\\r\":5,\"1\":4,\"\u{80}\":6,\"€\":3,\"\u{1f600}\":2,\"\u{fb33}\":1}"
        );
        assert_eq!(
            canonical(&json!({"b": {"d": 1, "c": 2}, "a": []})),
            r#"{"a":[],"b":{"c":2,"d":1}}"#
        );
    }

    #[test]
    fn large_integers_stay_apart() {
        let one = canonical(&json!(9_007_199_254_740_993_u64));
        assert_eq!(one, "9007199254740993");
        assert_ne!(one, canonical(&json!(9_007_199_254_740_992_u64)));
    }
}
