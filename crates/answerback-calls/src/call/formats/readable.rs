use std::sync::LazyLock;

use answerback_json::Pointer;
use jsonschema::{Draft, ValidationOptions, Validator};
use serde_json::{Value, json};

use super::{addresses, dates};

/// The formats that the validator knows.
pub(super) const FORMATS: [&str; 19] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uri-template",
    "uuid",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// Replaces the checks of the formats that a draft knows with [`is_readable`].
pub(in crate::call) fn with_readable_formats(
    options: ValidationOptions<'_>,
    draft: Draft,
) -> ValidationOptions<'_> {
    FORMATS.into_iter().fold(options, |options, format| {
        if options.is_known_format(draft, format) {
            options.with_format(format, move |text: &str| is_readable(format, text))
        } else {
            options
        }
    })
}

/// True if a common parser of a format accepts a text that may break the format's RFC.
///
/// The parsers are those of the Python standard library and pydantic, and `Date` and `URL` of JavaScript.
/// `urllib.parse` does not count, because it accepts every text. A day that does not exist, such as February 30, is
/// rejected: parsers that accept it change it to another day.
pub(in crate::call) fn is_readable(format: &str, text: &str) -> bool {
    match format {
        "date-time" => dates::is_date_time(text),
        "date" => dates::is_date(text),
        "time" => dates::is_time(text),
        "duration" => dates::is_duration(text),
        "email" | "idn-email" => addresses::is_email(text),
        "hostname" | "idn-hostname" => addresses::is_host(text),
        "ipv4" => addresses::is_ipv4(text),
        "ipv6" => addresses::is_ipv6(text),
        "uri" | "iri" => addresses::is_uri(text),
        "uri-reference" | "iri-reference" => addresses::is_uri_reference(text),
        "uri-template" => has_closed_braces(text),
        "uuid" => is_uuid(text),
        "json-pointer" => is_fragment_pointer(text),
        "regex" => is_regex(text),
        _ => false,
    }
}

/// Describes the difference between a text and the RFC of its format, if a few words can do so.
pub(in crate::call) fn difference(format: &str, text: &str) -> Option<String> {
    match format {
        "date-time" | "time" => dates::difference(format, text).map(str::to_owned),
        "uri" | "uri-reference" | "iri" | "iri-reference" => addresses::difference(format, text),
        "uuid" if is_uuid(text) => Some("it is not 32 digits in groups of 8-4-4-4-12".to_owned()),
        _ => None,
    }
}

/// True for a UUID as Python's `uuid.UUID` accepts it: with or without hyphens, braces and `urn:uuid:`.
fn is_uuid(text: &str) -> bool {
    let bare = text.strip_prefix("urn:").unwrap_or(text);
    let bare = bare.strip_prefix("uuid:").unwrap_or(bare);
    let bare = bare.trim_start_matches('{').trim_end_matches('}');
    let digits = || bare.bytes().filter(|byte| *byte != b'-');
    digits().all(|byte| byte.is_ascii_hexdigit()) && digits().count() == 32
}

/// True for a JSON Pointer in its other form, the fragment of a URI.
fn is_fragment_pointer(text: &str) -> bool {
    text.strip_prefix('#').is_some_and(|pointer| Pointer::try_from(pointer).is_ok())
}

/// True if the braces of a URI template are balanced and not nested. Libraries accept any text outside the braces.
fn has_closed_braces(text: &str) -> bool {
    let mut is_open = false;
    for character in text.chars() {
        match character {
            '{' | '}' if is_open == (character == '{') => return false,
            '{' | '}' => is_open = !is_open,
            _ => {}
        }
    }
    !is_open
}

/// True for a regular expression of Python or PCRE. Their named groups, leading flags and anchors are converted to
/// ECMA-262 first.
fn is_regex(text: &str) -> bool {
    static ECMA: LazyLock<Option<Validator>> = LazyLock::new(|| {
        let schema = json!({"format": "regex"});
        jsonschema::options().should_validate_formats(true).build(&schema).ok()
    });
    let Some(ecma) = &*ECMA else { return false };
    let body = text.strip_prefix("(?").and_then(|rest| {
        let (flags, body) = rest.split_once(')')?;
        let is_flag = |character| "aiLmsux".contains(character);
        (!flags.is_empty() && flags.chars().all(is_flag)).then_some(body)
    });
    let body = body.unwrap_or(text).replace("(?P<", "(?<").replace("\\A", "^");
    ecma.is_valid(&Value::from(body.replace("\\Z", "$").replace("\\z", "$")))
}
