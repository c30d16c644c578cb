//! `answerback explain` and `answerback schema`.

use serde_json::Value;

use crate::program::{run, told};

#[test]
fn codes_are_explained() {
    for (name, arguments) in [
        ("one", &["explain", "TOOL-014"][..]),
        ("json", &["explain", "tool-014", "--format", "json"]),
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
