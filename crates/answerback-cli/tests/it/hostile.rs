//! Tests hostile input: every command that reads it ends with a clear message, without a panic, hang or abort.

use crate::program::{run_with, told};

fn inputs() -> Vec<(&'static str, Vec<u8>)> {
    let within = |value: &str| {
        format!(r#"{{"response_type": "text", "summary": {value}, "timestamp": "2026-01-02T03:04:05Z"}}"#).into_bytes()
    };
    vec![
        ("nothing", Vec::new()),
        ("a byte order mark alone", b"\xef\xbb\xbf".to_vec()),
        ("a byte order mark", [b"\xef\xbb\xbf".to_vec(), within("\"fine\"")].concat()),
        ("NaN", within("NaN")),
        ("a lone surrogate", within(r#""\ud800""#)),
        ("a raw NUL", within("\"\u{0}\"")),
        ("an escaped NUL", within(r#""\u0000""#)),
        ("not UTF-8", b"{\"summary\": \"\xff\xfe\"}".to_vec()),
        ("10,000 deep", ["[".repeat(10_000), "]".repeat(10_000)].concat().into_bytes()),
        ("10,000 deep objects", "{\"a\":".repeat(10_000).into_bytes()),
        ("100 MB of brackets", "[".repeat(100_000_000).into_bytes()),
        ("a number beyond 2^64", within("18446744073709551616")),
        ("a number beyond doubles", within("1e400")),
        ("a number of a million digits", within(&"9".repeat(1_000_000))),
        ("a key of 1 MB", format!("{{\"{}\": 1}}", "k".repeat(1 << 20)).into_bytes()),
        (
            "a million keys",
            format!(
                "{{{}}}",
                (0..200_000).map(|n| format!("\"k{n}\":1")).collect::<Vec<_>>().join(",")
            )
            .into_bytes(),
        ),
        ("escapes", within(r#""\u001b]8;;http://x\u0007 \u202e""#)),
        (
            "a name that escapes",
            "{\"response_type\": \"text\", \"\\u001b[2J\\u202e\": 1}".to_string().into_bytes(),
        ),
    ]
}

#[test]
fn hostile_input_is_answered() {
    let commands: [&[&str]; 8] = [
        &["check", "-"],
        &["check", "--format", "json", "-"],
        &["check", "--as", "tool", "--profile", "lenient", "-"],
        &["convert", "--to", "atdf", "-"],
        &["show", "-"],
        &["replay", "--tools", "tests/replay/tools.json", "-"],
        &["replay", "--tools", "-", "tests/replay/calls.ndjson"],
        &[
            "call",
            "--tool",
            "search",
            "--schema",
            "tests/replay/tools.json",
            "--format",
            "json",
            "-",
        ],
    ];
    for (name, input) in inputs() {
        for command in commands {
            let output = run_with(".", command, input.clone());
            let code = output.status.code();
            assert!(matches!(code, Some(0..=2)), "{name}: {command:?} ended with {code:?}");
            let said = [output.stdout, output.stderr].concat();
            assert!(said.len() < 100 << 20, "{name}: {command:?} said {} bytes", said.len());
            let acts = |byte: &u8| *byte < 0x20 && *byte != b'\n';
            assert!(!said.iter().any(acts), "{name}: {command:?} sent a control");
            let text = String::from_utf8(said).expect("it prints UTF-8");
            assert!(!text.contains(['\u{202e}', '\u{9b}']), "{name}: {command:?}");
            assert!(!text.contains("panicked"), "{name}: {command:?}: {text}");
        }
    }
}

#[test]
fn limits_are_named_and_can_be_moved() {
    let deep = ["[".repeat(200), "]".repeat(200)].concat();
    insta::assert_snapshot!(
        "limit-depth",
        told(&run_with(".", &["check", "--as", "ui", "-"], deep.clone()))
    );
    let moved = run_with(".", &["check", "--as", "ui", "--max-depth", "200", "-"], deep);
    assert_eq!(moved.status.code(), Some(1));
    let large = format!("\"{}\"", "x".repeat(2000));
    insta::assert_snapshot!(
        "limit-bytes",
        told(&run_with(".", &["check", "--max-bytes", "1000", "-"], large))
    );
    let key = format!("{{\"{}\": 1}}", "k".repeat(2000));
    insta::assert_snapshot!(
        "limit-key",
        told(&run_with(".", &["check", "--max-key-bytes", "1000", "-"], key))
    );
}
