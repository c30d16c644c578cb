use jsonschema::Draft;
use serde_json::json;

use super::super::{CheckOptions, FormatMode, Schema, check};
use super::readable::FORMATS;

/// Returns the result of checking a text in a mode: nothing, a warning or an error.
fn found(format: &str, text: &str, mode: FormatMode) -> &'static str {
    let schema = Schema::compile(json!({"properties": {"x": {"format": format}}})).unwrap();
    let options = CheckOptions::default().with_formats(mode);
    let arguments = json!({"x": text});
    let findings = check(&schema, &arguments, options).unwrap();
    let is_valid = !findings.iter().any(answerback_findings::ValidationError::is_error);
    assert_eq!(schema.is_valid_with(&arguments, options).unwrap(), is_valid, "{format} {text}");
    match findings.as_slice() {
        [] => "",
        [finding] if finding.error_code == "VAL-010" => finding.severity.as_str(),
        other => panic!("{format} {text}: {other:?}"),
    }
}

/// Each row has a format, texts that some parser accepted, and texts that none accepted. The parsers were Python 3.11
/// (`fromisoformat`, `uuid.UUID`, `ipaddress`, `email.utils`), pydantic 2.14 and Node 20 (`Date`, `URL`).
const TABLE: &[(&str, &[&str], &[&str])] = &[
    (
        "date-time",
        &[
            "2024-01-01T00:00:00",
            "2024-01-01 00:00",
            "2024-01-01T10",
            "2024-01-01T1000",
            "20240101T100000",
            "2024-01-01T10:00:00,5",
            "2024-01-01T10:00:00.123456789",
            "2024-01-01T10:00:00 +02:00",
            "2024-01-01T10:00:00+0200",
            "2024-01-01T10:00:00+02",
            "2024-01-01T24:00:00",
            "2024-01-01",
            "20240101",
            "2024-01",
            "2024",
            "2024-1-1",
            "2024-W01-1",
            "2024W011",
            "2024/01/01",
            "01/02/2024",
            "1/2/24",
            "2024.01.01",
            "Jan 1, 2024",
            "1 January 2024",
            "January 1, 2024 10:00 PM",
            "Mon, 01 Jan 2024 00:00:00 GMT",
            "Mon Jan 01 2024 00:00:00 GMT+0100 (CET)",
            "1704067200",
            "1704067200.5",
        ],
        &[
            "",
            "tomorrow",
            "now",
            "next Monday",
            "2024-13-01",
            "2024-02-30",
            "2023-02-29T10:00:00",
            "2024-01-01T25:00:00",
            "2024-01-01T10:61:00",
            "13/13/2024",
            "10:00",
            "2024-01-01T10:00:00 in Berlin",
            "abc 2024",
            "Feb 30, 2024",
        ],
    ),
    (
        "date",
        &["20240101", "2024-1-1", "2024-W01-1", "2024-01-01T00:00:00", "01/02/2024", "Jan 1, 2024"],
        &["", "tomorrow", "2024-13-01", "2024-02-30", "31/31/2024", "12345"],
    ),
    (
        "time",
        &[
            "10:00:00",
            "10:00",
            "10",
            "1000",
            "100000",
            "T10:00",
            "10:00Z",
            "10:00:00.5",
            "10:00 AM",
        ],
        &["", "noon", "25:00", "10:60", "10:00:61", "13:00 PM", "1:00"],
    ),
    (
        "duration",
        &["1 day, 10:00:00", "10:00:00", "P1.5D", "-P1D", "PT1.5H", "1h30m", "300ms", "2 hours"],
        &["", "P", "PT", "soon", "P1H", "1", "5 apples", "PT1S1H"],
    ),
    (
        "email",
        &["jörg@example.com", "a..b@example.com", "a@b_c.com", " a@b.co "],
        &[
            "",
            "jane",
            "@example.com",
            "jane@",
            "a@b@c.com",
            "a b@example.com",
            "a@b c.com",
            "a@b.co, d@e.fo",
        ],
    ),
    ("idn-email", &["a..b@example.com"], &["jane", "a b@example.com"]),
    (
        "hostname",
        &["my_host", "münchen.de", "-a-.example"],
        &["", "a b", "https://example.com", "example.com/x", "example.com:80"],
    ),
    (
        "ipv4",
        &["127.1", "010.0.0.1", "0x7f.1", "3232235777"],
        &["", "256.1.1.1", "1.2.3.4.5", "a.b.c.d", "1.2.3.4/24"],
    ),
    ("ipv6", &["fe80::1%eth0", "[::1]"], &["", "::g", "1.2.3.4", ":::"]),
    (
        "uri",
        &[
            "https://de.wikipedia.org/wiki/Köln",
            "https://example.com/?q={a}",
            "https://example.com/a b",
            "https://example.com/%zz",
            "https://münchen.de",
            "http://ex_ample.com/<>",
            "C:\\Temp",
        ],
        &[
            "",
            "not a url",
            "example.com",
            "/path",
            "1http://x",
            "http://a b",
            "http://[::1",
            "http://a:b",
            "http://a^b",
        ],
    ),
    ("uri-reference", &["/wiki/Köln", "?q={a}", "a b"], &["http://[::1", "//a b"]),
    ("iri", &["https://example.com/a b"], &["example.com", "http://a:b"]),
    ("iri-reference", &["/a b"], &["http://a:b"]),
    ("uri-template", &["/a b/{id}", "/{a-b}"], &["/{a", "/a}", "/{{a}}"]),
    (
        "uuid",
        &[
            "00000000000040008000000000000000",
            "{00000000-0000-4000-8000-000000000000}",
            "urn:uuid:00000000-0000-4000-8000-000000000000",
        ],
        &["", "abc", "0000000000004000800000000000000g", "00000000-0000-4000-8000-00000000000"],
    ),
    ("json-pointer", &["#/a/b", "#"], &["a", "/a~2"]),
    ("relative-json-pointer", &[], &["a", "-1"]),
    ("regex", &["(?P<year>\\d+)", "(?i)abc", "\\Aabc\\Z"], &["(", "[a", "(?P<year>"]),
];

#[test]
fn what_some_parser_reads_is_a_warning() {
    let mut wrong = Vec::new();
    for (format, read, _) in TABLE {
        for text in *read {
            let modes = FormatMode::ALL.map(|mode| found(format, text, mode));
            if modes != ["error", "warning", "warning", ""] {
                wrong.push(format!("{format} {text:?}: {modes:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_no_parser_reads_is_an_error() {
    let mut wrong = Vec::new();
    for (format, _, unread) in TABLE {
        for text in *unread {
            let modes = FormatMode::ALL.map(|mode| found(format, text, mode));
            if modes != ["error", "error", "warning", ""] {
                wrong.push(format!("{format} {text:?}: {modes:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_follows_the_rfc_is_right_in_every_mode() {
    for (format, text) in [
        ("date-time", "2024-01-01T00:00:00Z"),
        ("date", "2024-01-01"),
        ("time", "10:00:00+02:00"),
        ("duration", "P1DT2H"),
        ("email", "a@example.com"),
        ("hostname", "example.com"),
        ("ipv4", "192.0.2.1"),
        ("ipv6", "2001:db8::1"),
        ("uri", "https://example.com/caf%C3%A9"),
        ("uri-reference", "/x"),
        ("iri", "https://de.wikipedia.org/wiki/Köln"),
        ("uri-template", "/{id}"),
        ("uuid", "00000000-0000-4000-8000-000000000000"),
        ("json-pointer", "/a"),
        ("relative-json-pointer", "1/a"),
        ("regex", "^a(?=b)"),
    ] {
        for mode in FormatMode::ALL {
            assert_eq!(found(format, text, mode), "", "{format} {text}");
        }
    }
}

#[test]
fn every_format_of_the_validator_has_a_row() {
    let options = jsonschema::options();
    for format in FORMATS {
        assert!(options.is_known_format(Draft::Draft202012, format), "{format}");
        assert!(format == "idn-hostname" || TABLE.iter().any(|(name, ..)| *name == format));
    }
}

#[test]
fn a_value_that_fits_one_format_is_not_refused_for_reading_as_two() {
    let both = json!({"oneOf": [{"format": "date"}, {"format": "date-time"}]});
    let schema = Schema::compile(json!({"properties": {"x": both}})).unwrap();
    assert!(schema.is_valid(&json!({"x": "2024-01-01"})).unwrap());
    assert_eq!(check(&schema, &json!({"x": "2024-01-01"}), ()).unwrap(), []);
    // A negated format forbids only values that follow the RFC.
    let schema = Schema::compile(json!({"not": {"format": "ipv4"}})).unwrap();
    assert!(schema.is_valid(&json!("127.1")).unwrap());
    assert!(!schema.is_valid(&json!("127.0.0.1")).unwrap());
}

#[test]
fn a_warning_comes_from_the_branch_that_reads_the_value() {
    let schema = Schema::compile(json!({"properties": {"x": {"anyOf": [
        {"type": "string", "format": "email"},
        {"type": "string", "format": "date-time"},
        {"type": "null"},
    ]}, "n": {"type": "integer"}}}))
    .unwrap();
    let findings = check(&schema, &json!({"x": "2024-01-01T00:00:00", "n": "x"}), ()).unwrap();
    let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "error VAL-002 at /n: Type mismatch: expected integer, got string",
            "warning VAL-010 at /x: Invalid format: date-time: it has no time zone",
        ]
    );
}

#[test]
fn a_message_says_what_differs_and_invents_nothing() {
    let message = |format: &str, text: &str| {
        let schema = Schema::compile(json!({"format": format})).unwrap();
        check(&schema, &json!(text), ()).unwrap()[0].message.clone()
    };
    for (format, text, expected) in [
        ("date-time", "2024-01-01T00:00:00", "it has no time zone"),
        ("date-time", "2024-01-01", "it has no time of day and no time zone"),
        ("time", "10:00", "it has no time zone"),
        ("uri", "https://de.wikipedia.org/wiki/Köln", "'ö' has to be percent-encoded as %C3%B6"),
        ("uri", "https://example.com/a b", "a space has to be percent-encoded as %20"),
        ("uri", "https://example.com/100%", "'%' has to be percent-encoded as %25"),
        ("uri", "example.com/Köln", "it has no scheme such as https:"),
        ("uuid", "00000000000040008000000000000000", "it is not 32 digits in groups of 8-4-4-4-12"),
    ] {
        assert_eq!(message(format, text), format!("Invalid format: {format}: {expected}"));
    }
    // A host is not percent-encoded, so the message does not mention its letters.
    assert_eq!(message("uri", "https://münchen.de"), "Invalid format: uri");
    assert_eq!(message("date-time", "tomorrow"), "Invalid format: date-time");
}

proptest::proptest! {
    /// Checks that a value that follows the RFC is never rejected, and that a stricter mode never accepts more.
    #[test]
    fn modes_are_ordered(text in "\\PC{0,24}|[0-9TZ:+. -]{0,24}|[a-z:/@%{}.0-9]{0,24}", format in 0_usize..19) {
        let errors = FormatMode::ALL.map(|mode| found(FORMATS[format], &text, mode) == "error");
        proptest::prop_assert!(errors.is_sorted_by(|one, other| one >= other), "{errors:?}");
        proptest::prop_assert!(!errors[2] && !errors[3]);
    }
}
