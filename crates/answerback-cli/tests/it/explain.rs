//! Tests `answerback explain` and `answerback schema`.

use serde_json::Value;

use crate::program::{run, told};

#[test]
fn codes_are_explained() {
    for (name, arguments) in [
        ("one", &["explain", "TOOL-014"][..]),
        ("json", &["explain", "tool-014", "--format", "json"]),
        ("word", &["explain", "CALLS_BLOCKED"]),
        ("word-json", &["explain", "hash_verification_failure", "--format", "json"]),
        ("unknown-number", &["explain", "TOOL-999"]),
        ("unknown", &["explain", "whatever"]),
    ] {
        insta::assert_snapshot!(format!("explain-{name}"), told(&run(".", arguments)));
    }
    let all = String::from_utf8(run(".", &["explain"]).stdout).unwrap();
    assert!(all.lines().count() > 100);
    let lines = String::from_utf8(run(".", &["explain", "--format", "json"]).stdout).unwrap();
    assert_eq!(lines.lines().count(), all.lines().count());
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
}

#[cfg(unix)]
#[test]
fn a_narrow_terminal_is_kept_to() {
    for arguments in [&["explain"][..], &["explain", "TOOL-014"], &["explain", "CALLS_BLOCKED"]] {
        for columns in [40, 61] {
            let mut command = crate::program::program(".");
            command.args(arguments);
            let lines = crate::prompt::in_columns(command, columns);
            let widest = lines.iter().max_by_key(|line| line.chars().count()).unwrap();
            assert!(widest.chars().count() <= usize::from(columns), "{arguments:?}: {widest}");
            // Wrapping loses no text.
            let words = |text: &str| text.split_whitespace().collect::<String>();
            let whole = String::from_utf8(run(".", arguments).stdout).unwrap();
            assert_eq!(words(&lines.join("\n")), words(&whole), "{arguments:?}");
        }
    }
}

/// Every code in the documentation can be explained.
#[test]
fn every_code_of_the_documentation_is_explained() {
    let known: Vec<Value> = String::from_utf8(run(".", &["explain", "--format", "json"]).stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut codes = 0;
    for name in ["gateway-codes", "governance", "tools"] {
        let path = format!("{}/../../docs/reference/{name}.md", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let tables = text.lines().filter(|line| line.starts_with('|'));
        for word in tables.flat_map(|line| line.split('`').skip(1).step_by(2)) {
            let is_code = word.contains('_')
                && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
            if is_code {
                codes += 1;
                assert!(known.iter().any(|known| known["code"] == word), "{name}: {word}");
            }
        }
    }
    assert!(codes > 40, "{codes}");
}

#[test]
fn schemas_are_printed_as_they_are_committed() {
    insta::assert_snapshot!("schema-list", told(&run(".", &["schema"])));
    insta::assert_snapshot!("schema-unknown", told(&run(".", &["schema", "x"])));
    for name in [
        "atdf",
        "governed",
        "ui",
        "tool",
        "descriptor",
        "handoff",
        "manifest",
        "lock",
        "refusal",
        "finding",
        "config",
        "call",
        "answer",
    ] {
        let printed = String::from_utf8(run(".", &["schema", name]).stdout).unwrap();
        let path = format!("{}/../../schemas/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(printed, std::fs::read_to_string(path).unwrap(), "{name}");
    }
}
