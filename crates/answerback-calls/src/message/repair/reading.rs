//! A value of the wrong type, read as one of the right type.

use std::borrow::Cow;

use answerback_findings::ValidationError;
use answerback_json::{Limits, Pointer};
use answerback_parse::{Confidence, parse};
use serde_json::{Number, Value};

use super::separator;
use super::similarity::{NameSimilarity, similarity};
use crate::call::{Schema, Types};

/// The longest text that is read as a list or an object, in bytes.
const LONGEST: usize = 64 << 10;
/// The longest text that is read as a number, in bytes.
const LONGEST_NUMBER: usize = 32;
/// The most parts of a text that is read as a list.
const MOST_PARTS: usize = 100;

/// The value that was meant by one of another type, for a finding about its type.
pub(super) fn read(
    schema: &Schema,
    finding: &ValidationError,
    value: &Value,
) -> Option<(Value, Confidence)> {
    let path = finding.schema_path.as_ref()?;
    let types = Types::of_keyword(schema.at(path)?);
    match value {
        // A union names the type of its nearest branch only; the check of the whole decides.
        Value::String(text) if path.tokens().any(|token| token == "anyOf" || token == "oneOf") => {
            container(text).or_else(|| scalar(text, types))
        }
        Value::String(text) => {
            as_type(&Value::Null, types, value).or_else(|| scalar(text, types)).or_else(|| {
                let (owner, _) = path.split_last()?;
                types.meets(Types::ARRAY).then(|| parts(schema, &owner, text)).flatten()
            })
        }
        Value::Number(number) if types.meets(Types::BOOLEAN) => match number.as_f64() {
            Some(1.0) => Some((Value::Bool(true), Confidence::Safe)),
            Some(0.0) => Some((Value::Bool(false), Confidence::Safe)),
            _ => None,
        },
        // 25 may have been "025" or "25.0" once; who knows.
        Value::Number(_) | Value::Bool(_) if types.meets(Types::STRING) => {
            Some((Value::from(value.to_string()), Confidence::Guess))
        }
        Value::Array(elements) => match elements.as_slice() {
            // A list of one, where one is asked for.
            [only] if types.meets(Types::of(only)) => Some((only.clone(), Confidence::Guess)),
            _ => {
                let (owner, _) = path.split_last()?;
                as_type(schema.at(&owner)?, types, value)
            }
        },
        _ => None,
    }
}

/// Converts a text to a list or an object, or a list to a text, for a field of one of `types`.
pub(super) fn as_type(field: &Value, types: Types, value: &Value) -> Option<(Value, Confidence)> {
    match value {
        Value::String(text) => container(text).filter(|(value, _)| types.meets(Types::of(value))),
        // A text is asked for, whose description says how its parts are joined.
        Value::Array(elements) if elements.len() > 1 && types.meets(Types::STRING) => {
            let text = separator::joined(field, elements)?;
            Some((Value::from(text), Confidence::Guess))
        }
        _ => None,
    }
}

/// A text that holds a list or an object.
fn container(text: &str) -> Option<(Value, Confidence)> {
    let text = text.trim();
    if text.len() > LONGEST || !text.starts_with(['[', '{', '(']) {
        return None;
    }
    parse_text(text).filter(|(value, _)| value.is_array() || value.is_object())
}

/// Parses a text that holds an object.
pub(super) fn object_in_text(text: &str) -> Option<(Value, Confidence)> {
    container(text).filter(|(value, _)| value.is_object())
}

/// A text that holds a number or a truth value.
fn scalar(text: &str, types: Types) -> Option<(Value, Confidence)> {
    let text = text.trim();
    if types.meets(Types::BOOLEAN) {
        let truth = |truth, confidence| Some((Value::Bool(truth), confidence));
        match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "y" | "on" | "t" => return truth(true, Confidence::Safe),
            "false" | "no" | "n" | "off" | "f" => return truth(false, Confidence::Safe),
            // As a number it is one, where a number may stand there, too.
            "1" if !types.meets(Types::NUMBER) => return truth(true, Confidence::Safe),
            "0" if !types.meets(Types::NUMBER) => return truth(false, Confidence::Safe),
            _ => {}
        }
    }
    if types.meets(Types::NUMBER) {
        let number = number(text)?;
        let number = if types.meets(Types::FRACTION) { number } else { whole(number) };
        let value = Value::Number(number);
        return types.meets(Types::of(&value)).then_some((value, Confidence::Safe));
    }
    None
}

fn number(text: &str) -> Option<Number> {
    if text.len() > LONGEST_NUMBER
        || !text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
    {
        return None;
    }
    // Python and pydantic read underscores between digits.
    let plain = without_separators(text);
    match parse_text(&plain)? {
        (Value::Number(number), Confidence::Safe) => is_same(&plain, &number).then_some(number),
        _ => None,
    }
}

/// A number without the underscores between its digits.
fn without_separators(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut places = text.match_indices('_').map(|(at, _)| at).peekable();
    if places.peek().is_some() && places.all(|at| at > 0 && is_digit(at - 1) && is_digit(at + 1)) {
        Cow::Owned(text.replace('_', ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns true if a number has every digit of its text. Some texts have more digits than a number can hold.
fn is_same(text: &str, number: &Number) -> bool {
    digits(text).is_some_and(|digits_of_text| digits(&number.to_string()) == Some(digits_of_text))
}

/// The significant digits of a number, and the power of ten of the last one.
fn digits(text: &str) -> Option<(String, i64)> {
    let unsigned = text.trim().trim_start_matches(['+', '-']);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0').trim_end_matches('0').to_owned();
    if significant.is_empty() {
        return Some((significant, 0));
    }
    let zeros = all.len() - all.trim_end_matches('0').len();
    let power = exponent.trim_start_matches('+').parse::<i64>().ok()?;
    let power = power + i64::try_from(zeros).ok()? - i64::try_from(fraction.len()).ok()?;
    Some((significant, power))
}

/// `5.0` as it is written where an integer is asked for.
fn whole(number: Number) -> Number {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and within 53 bits")]
            let integer = float as i64;
            Number::from(integer)
        }
        _ => number,
    }
}

/// Parses a text as JSON, tolerating small mistakes. Returns `None` for a number that does not fit.
fn parse_text(text: &str) -> Option<(Value, Confidence)> {
    match parse(text, Limits::default()) {
        Ok(document) => document.findings.is_empty().then_some((document.value, Confidence::Safe)),
        // A text inside a value was not cut off with the call. If its end is missing, more may be missing.
        Err(malformed) if malformed.is_cut_off() => None,
        Err(malformed) => {
            malformed.into_reading().map(|reading| (reading.value, reading.confidence))
        }
    }
}

/// A text that lists its parts, where a list is asked for: `red, green`.
fn parts(schema: &Schema, owner: &Pointer, text: &str) -> Option<(Value, Confidence)> {
    let separator =
        ['\n', ';', ','].into_iter().find(|separator| text.trim().contains(*separator))?;
    let parts: Vec<&str> =
        text.trim().trim_end_matches(separator).split(separator).map(str::trim).collect();
    if !(2..=MOST_PARTS).contains(&parts.len()) || parts.iter().any(|part| part.is_empty()) {
        return None;
    }
    let items = resolved(schema, owner.join("items"))?;
    let types = items.get("type").map_or(Types::NONE, Types::of_keyword);
    let values: Option<Vec<Value>> = if let Some(options) = items.get("enum") {
        let options = options.as_array()?;
        let is_option = |part: &str| {
            let mut options = options.iter().filter_map(Value::as_str);
            options.any(|option| {
                option == part || similarity(part, option) == Some(NameSimilarity::Spelling)
            })
        };
        parts.iter().map(|part| is_option(part).then(|| Value::from(*part))).collect()
    } else if types.meets(Types::STRING) {
        is_list(text, separator, &parts)
            .then(|| parts.iter().map(|part| Value::from(*part)).collect())
    } else {
        parts.iter().map(|part| scalar(part, types).map(|(value, _)| value)).collect()
    };
    values.map(|values| (Value::Array(values), Confidence::Guess))
}

/// Returns true if free texts are a list, and not one text with commas. Two parts are often one name (`Paris,
/// France`), and long parts are often a sentence.
fn is_list(text: &str, separator: char, parts: &[&str]) -> bool {
    const MOST_WORDS: usize = 3;
    let is_tight = separator != ',' || !text.contains(", ");
    let is_word = |part: &&str| !part.contains(char::is_whitespace);
    let is_short = |part: &&str| part.split_whitespace().count() <= MOST_WORDS;
    let ends_sentence = text.trim().ends_with(['.', '!', '?', ':']);
    !ends_sentence
        && (is_tight && parts.iter().all(is_word) || parts.len() > 2 && parts.iter().all(is_short))
}

/// The subschema at a place, behind its references.
pub(super) fn resolved(schema: &Schema, mut path: Pointer) -> Option<&Value> {
    const MOST_STEPS: usize = 8;
    let mut found = schema.at(&path)?;
    for _ in 0..MOST_STEPS {
        if found.get("$ref").is_none() {
            break;
        }
        path = path.join("$ref");
        found = schema.at(&path)?;
    }
    Some(found)
}
