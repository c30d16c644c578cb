use std::borrow::Cow;
use std::fmt::Write;

use answerback_findings::neutral::{Quoting, cut, plain, push_unit};
use answerback_findings::{
    FindingGroup, Preview, Severity, TRUNCATED, ValidationError, call_codes, kind_of_place,
    relative_paths, relative_paths_in_json, window,
};
use answerback_redaction::{SecretKind, redact, redact_pointer};

use super::budget::FindingLimits;
use super::schema::{SchemaPart, keyword, owner};
use super::suggest::nearest;
use super::{CallFailure, ErrorFormatter, Formatting};

/// A finding as it will be shown: every part harmless and without secrets, none cut yet.
pub(super) struct FindingEntry<'g> {
    pub(super) group: &'g FindingGroup<'g>,
    /// The place, quoted if it holds anything but ordinary characters.
    pub(super) place: Cow<'g, str>,
    pub(super) text: Cow<'g, str>,
    pub(super) expected: Option<Cow<'g, str>>,
    /// The expected value in fewer words, where a long list of options was one.
    pub(super) expected_short: Option<String>,
    pub(super) actual: Option<Cow<'g, str>>,
    pub(super) hint: Option<Cow<'g, str>>,
}

/// The longest place shown, in characters.
const PLACE: usize = 128;

impl<'g> FindingEntry<'g> {
    pub(super) fn of<F: ErrorFormatter + ?Sized>(
        group: &'g FindingGroup<'g>,
        failure: &CallFailure<'g>,
        formatting: &Formatting,
        formatter: &F,
    ) -> Self {
        let finding = group.finding;
        let root = formatting.root.as_deref();
        let part = failure.part(finding);
        let secret = secret_kind(finding, part.as_ref());
        let text = match secret.and_then(|_| message_without_value(&finding.error_code)) {
            Some(text) => Cow::Borrowed(text),
            None => clean(&finding.message, root),
        };
        let actual = match (secret, &finding.actual_value) {
            (_, None) => None,
            (Some(kind), Some(actual)) if actual != "null" => {
                Some(Cow::Owned(Preview::new().show_secret(kind)))
            }
            (_, Some(actual)) => Some(match clean(actual, root) {
                Cow::Borrowed(actual) => cut_preview(actual, formatting.value_preview()),
                Cow::Owned(actual) => {
                    Cow::Owned(cut_preview(&actual, formatting.value_preview()).into_owned())
                }
            }),
        };
        // The permitted values of a secret are secrets.
        let is_closed_secret =
            secret.is_some() && finding.error_code == call_codes::INVALID_ENUM_VALUE.code;
        let (expected, expected_short) = if is_closed_secret {
            (None, None)
        } else {
            expected(finding, part.as_ref(), failure, root)
        };
        let hint = if is_closed_secret {
            None
        } else {
            formatter.hint(failure, finding).map(|hint| Cow::Owned(clean(&hint, root).into_owned()))
        };
        Self { group, place: place(&group.path), text, expected, expected_short, actual, hint }
    }

    /// The code, and the severity where it is not the usual one.
    pub(super) fn push_code(&self, message: &mut String) {
        message.push_str(&cut(&clean(&self.group.finding.error_code, None), 32));
        match self.group.finding.severity {
            Severity::Error => {}
            milder => {
                message.push_str(", ");
                message.push_str(milder.as_str());
            }
        }
    }

    /// Returns the expected value, in the full or the short form, depending on the limits.
    pub(super) fn expected(&self, room: &FindingLimits) -> Option<&str> {
        let full = self.expected.as_deref()?;
        // Bytes are at least as many as characters: a list that might be cut is named in short.
        let short = self.expected_short.as_deref().filter(|_| full.len() > room.expected);
        Some(short.unwrap_or(full))
    }

    /// ` ×37`: how often it repeats.
    pub(super) fn push_repeats(&self, message: &mut String) {
        let count = self.group.count();
        if count > 1 {
            message.push_str(" ×");
            message.push_str(&count.to_string());
        }
    }
}

/// A text of others as it may be shown: without secrets and absolute paths, on one line, harmless. Its
/// backslashes stand for themselves.
pub(super) fn clean_plain<'t>(text: &'t str, root: Option<&str>) -> Cow<'t, str> {
    clean_with(text, root, relative_paths)
}

/// [`clean_plain`] for a text that quotes values as JSON does: `\n` in it is a line break and no path.
pub(super) fn clean<'t>(text: &'t str, root: Option<&str>) -> Cow<'t, str> {
    clean_with(text, root, relative_paths_in_json)
}

/// Shows absolute paths relative to a root.
type Relative = for<'a> fn(&'a str, Option<&str>) -> Cow<'a, str>;

fn clean_with<'t>(text: &'t str, root: Option<&str>, relative_paths: Relative) -> Cow<'t, str> {
    // Only what can be shown is looked at, and a good part beyond, so that nothing is half redacted.
    const LOOKED_AT: usize = 8192;
    let (text, _) = window(text, LOOKED_AT);
    let redacted = redact(text);
    match redacted {
        Cow::Borrowed(text) => match relative_paths(text, root) {
            Cow::Borrowed(text) => plain(text),
            Cow::Owned(text) => Cow::Owned(plain(&text).into_owned()),
        },
        Cow::Owned(text) => Cow::Owned(plain(&relative_paths(&text, root)).into_owned()),
    }
}

/// A preview in at most `limit` characters, with ` (truncated)` behind it if it is not all of the value.
pub(super) fn cut_preview(preview: &str, limit: usize) -> Cow<'_, str> {
    let value = preview.strip_suffix(TRUNCATED).unwrap_or(preview);
    // The quotes around a string do not count.
    let limit = if value.starts_with('"') { limit.saturating_add(2) } else { limit };
    match cut(value, limit) {
        Cow::Borrowed(_) => Cow::Borrowed(preview),
        Cow::Owned(shown) => Cow::Owned(shown + TRUNCATED),
    }
}

/// A JSON Pointer as it is shown: `(root)`, as it is, or quoted where it holds what could be taken for
/// our words; in at most 128 characters, its end kept.
pub(super) fn place(path: &str) -> Cow<'_, str> {
    if path.is_empty() {
        return Cow::Borrowed("(root)");
    }
    let (path, whole) = window(path, 8 * PLACE);
    let redacted = redact_pointer(path);
    let ordinary =
        |character: char| character.is_alphanumeric() || "/_-.~$@*+%#&=!^".contains(character);
    if redacted.chars().all(ordinary) {
        if whole && redacted.chars().count() <= PLACE {
            return redacted;
        }
        let tail: usize = redacted.char_indices().rev().nth(PLACE - 41).map_or(0, |(at, _)| at);
        let head = redacted.char_indices().nth(40).map_or(0, |(at, _)| at);
        return Cow::Owned(format!("{}…{}", &redacted[..head], &redacted[tail..]));
    }
    let mut quoted = String::from("\"");
    let mut rest = redacted.as_ref();
    while !rest.is_empty() {
        let (consumed, _) = push_unit(&mut quoted, rest, Quoting::Json);
        rest = &rest[consumed..];
    }
    quoted.push('"');
    Cow::Owned(cut(&quoted, PLACE).into_owned())
}

/// The secret that a finding is about, by the names on the way to it or because the schema says so.
pub(super) fn secret_kind(
    finding: &ValidationError,
    part: Option<&SchemaPart<'_>>,
) -> Option<SecretKind> {
    kind_of_place(&finding.field_path).or_else(|| {
        let holder = part?.holder;
        if holder.get("format").is_some_and(|format| format == "password") {
            Some(SecretKind::Password)
        } else {
            holder.get("writeOnly").is_some_and(|flag| flag == true).then_some(SecretKind::Secret)
        }
    })
}

/// Returns the message for a finding about a secret, without its value. Returns `None` if the original
/// message cannot contain the value.
fn message_without_value(code: &str) -> Option<&'static str> {
    Some(match code {
        "VAL-001" | "VAL-005" => return None,
        "VAL-002" => "Type mismatch",
        "VAL-003" => "Value is out of bounds",
        "VAL-006" => "Array has a number of items that is not allowed",
        "VAL-007" => "Value doesn't match the pattern",
        "VAL-008" => "Value is not one of those allowed",
        "VAL-009" => "String has a length that is not allowed",
        "VAL-010" => "Value doesn't have the required format",
        _ => "Value is not valid",
    })
}

/// The longest list of options, in characters. A longer one is reduced to the nearest options.
const OPTIONS: usize = 300;
/// The number of options that a reduced list names.
const NEAREST: usize = 5;

/// Returns the expected value, in full and in short.
fn expected<'g>(
    finding: &'g ValidationError,
    part: Option<&SchemaPart<'_>>,
    failure: &CallFailure<'_>,
    root: Option<&str>,
) -> (Option<Cow<'g, str>>, Option<String>) {
    if let Some(options) = permitted_values(finding, part) {
        let (full, short) =
            list_options(options, finding.actual_value.as_deref().unwrap_or_default());
        return (Some(Cow::Owned(full)), short);
    }
    let Some(text) = &finding.expected_value else { return (None, None) };
    let mut expected = clean(text, root);
    if let Some(description) = description(finding, failure) {
        let _ = write!(expected.to_mut(), " ({description})");
    }
    (Some(expected), None)
}

/// The values that a closed set permits at the place of a finding: those of all branches of a union,
/// where several were compared.
pub(super) fn permitted_values<'f>(
    finding: &'f ValidationError,
    part: Option<&SchemaPart<'f>>,
) -> Option<&'f [serde_json::Value]> {
    if let Some(values) = &finding.facts.values {
        return Some(values);
    }
    part.filter(|_| matches!(keyword(finding).as_deref(), Some("enum" | "const")))
        .and_then(SchemaPart::options)
}

/// Returns the schema's description of a field that is missing or malformed, quoted and shortened.
fn description(finding: &ValidationError, failure: &CallFailure<'_>) -> Option<String> {
    let is_missing = finding.error_code == call_codes::REQUIRED_FIELD_MISSING.code;
    let is_miswritten =
        [&call_codes::TYPE_MISMATCH, &call_codes::PATTERN_MISMATCH, &call_codes::FORMAT_VIOLATION]
            .iter()
            .any(|rule| rule.code == finding.error_code);
    if !is_missing && !is_miswritten {
        return None;
    }
    let (_, name) = finding.field_path.split_last()?;
    let part = failure.part(finding);
    let said = |field: &serde_json::Map<String, serde_json::Value>| {
        let text = field.get("description").or_else(|| field.get("title"))?.as_str()?;
        let first = text.lines().next().unwrap_or_default().trim();
        (!first.is_empty()).then(|| Preview::new().show_text(first))
    };
    if is_missing {
        let holder = part
            .filter(|part| part.fields().is_some())
            .or_else(|| owner(finding, failure.schema))?;
        return said(holder.field(&name)?);
    }
    // The title of a value that is there says no more than its name.
    let described = |field: &serde_json::Map<String, serde_json::Value>| {
        field.contains_key("description").then(|| said(field)).flatten()
    };
    let field = owner(finding, failure.schema).and_then(|owner| owner.field(&name));
    field.and_then(described).or_else(|| described(part?.holder))
}

/// The options of a closed set: all of them, or the nearest and how many more there are.
fn list_options(options: &[serde_json::Value], actual: &str) -> (String, Option<String>) {
    let preview = Preview::new().with_max_characters(60);
    if let [only] = options {
        return (preview.show(only), None);
    }
    let mut full = String::from("one of ");
    for (index, option) in options.iter().enumerate() {
        if full.len() > OPTIONS {
            break;
        }
        full.push_str(if index > 0 { ", " } else { "" });
        full.push_str(&preview.show(option));
    }
    if full.len() <= OPTIONS && options.len() <= NEAREST {
        return (full, None);
    }
    let written = actual.trim_matches('"');
    let texts: Vec<&str> = options.iter().filter_map(serde_json::Value::as_str).collect();
    let near = nearest(written, texts);
    let mut order: Vec<&serde_json::Value> = options.iter().collect();
    order.sort_by_key(|option| {
        near.iter().position(|near| *option == near.candidate).unwrap_or(usize::MAX)
    });
    let mut short = String::from("one of ");
    let mut named = 0;
    for option in order.iter().take(NEAREST) {
        let shown = preview.show(option);
        if named > 0 && short.len() + shown.len() > OPTIONS / 2 {
            break;
        }
        short.push_str(if named > 0 { ", " } else { "" });
        short.push_str(&shown);
        named += 1;
    }
    if named < options.len() {
        let _ = write!(short, " ({} more)", options.len() - named);
    }
    if full.len() <= OPTIONS { (full, Some(short)) } else { (short.clone(), Some(short)) }
}
