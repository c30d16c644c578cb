//! `answerback show`: what is drawn, and what can never be sent.

use std::path::PathBuf;
use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::{program, run, run_with, told};

/// The folder of fixtures.
const FOLDER: &str = "tests/fixtures/show";

/// The documents in the folder of fixtures: each kind and contract, good and bad.
const DOCUMENTS: [&str; 14] = [
    "report",
    "tables",
    "charts",
    "texts",
    "missions",
    "clarification",
    "failure",
    "broken",
    "atdf-error",
    "atdf-success",
    "tool",
    "governed",
    "governed-refused",
    "descriptor",
];

fn show(arguments: &[&str]) -> Output {
    run(FOLDER, &[&["show"], arguments].concat())
}

/// Shows a document handed in on standard input.
fn show_value(document: &Value, arguments: &[&str]) -> Output {
    show_text(document.to_string(), arguments)
}

fn show_text(document: String, arguments: &[&str]) -> Output {
    run_with(FOLDER, &[&["show"], arguments, &["-"]].concat(), document)
}

/// The columns a line takes; the drawings use wide characters only in the fixtures' own text.
fn columns(line: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(line)
}

#[test]
fn every_contract_and_kind_at_three_widths() {
    for name in DOCUMENTS {
        for width in ["60", "80", "120"] {
            // Rows are few so that a person still reads the snapshots.
            let file = format!("{name}.json");
            let output = show(&["--width", width, "--rows", "8", &file]);
            insta::assert_snapshot!(format!("{name}-{width}"), told(&output));
        }
    }
}

#[test]
fn no_line_is_wider_than_asked() {
    for name in DOCUMENTS {
        for width in [20, 25, 40, 60, 80, 120, 200, 400] {
            for flag in ["--all", "--ascii"] {
                let output = show(&["--width", &width.to_string(), flag, &format!("{name}.json")]);
                assert!(output.status.success(), "{name} at {width}");
                for line in String::from_utf8(output.stdout).unwrap().lines() {
                    assert!(columns(line) <= width, "{name} at {width}: {line}");
                    assert!(flag == "--all" || line.is_ascii(), "{name}: {line}");
                }
            }
        }
    }
}

#[test]
fn narrow_wide_and_ascii() {
    insta::assert_snapshot!("report-20", told(&show(&["--width", "20", "report.json"])));
    insta::assert_snapshot!("report-400", told(&show(&["--width", "400", "report.json"])));
    insta::assert_snapshot!("report-ascii", told(&show(&["--ascii", "report.json"])));
}

#[test]
fn colours() {
    let coloured = show(&["--color", "always", "missions.json"]);
    insta::assert_snapshot!("missions-colour", told(&coloured).replace('\u{1b}', "␛"));
    let plain = show(&["--color", "never", "missions.json"]);
    assert_eq!(show(&["missions.json"]).stdout, plain.stdout, "a pipe is not a terminal");
    assert_eq!(without_sgr(&String::from_utf8(coloured.stdout).unwrap()).as_bytes(), plain.stdout);
    let asked =
        program(FOLDER).args(["show", "missions.json"]).env("NO_COLOR", "1").output().unwrap();
    assert_eq!(asked.stdout, plain.stdout);
}

#[test]
fn json_is_the_document_unchanged() {
    let output = show(&["--format", "json", "report.json", "tool.json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2);
    for (line, name) in lines.into_iter().zip(["report", "tool"]) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/fixtures/show/{name}.json"));
        let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(line).unwrap(), file);
    }
    let any = show_value(&json!([1, {"a\u{202e}": "\u{9b}"}]), &["--format", "json"]);
    assert_eq!(
        told(&any),
        "exit: 0\n----- stdout -----\n[1,{\"a\\u202e\":\"\\u009b\"}]\n----- stderr -----\n"
    );
}

#[test]
fn what_breaks_its_contract_is_drawn_and_said() {
    let twice = r#"{"response_type": "text", "summary": "one", "summary": "two"}"#;
    insta::assert_snapshot!("findings", told(&show_text(twice.to_owned(), &[])));
}

#[test]
fn what_cannot_be_drawn() {
    insta::assert_snapshot!(
        "several",
        told(&show(&["atdf-success.json", "missing.json", "failure.json"]))
    );
    insta::assert_snapshot!("unrecognised", told(&show_value(&json!({"hello": "world"}), &[])));
    insta::assert_snapshot!("not-json", told(&show(&["../../it/show.rs"])));
    insta::assert_snapshot!(
        "forced",
        told(&show_value(&json!(["not", "an", "envelope"]), &["--as", "ui"]))
    );
    insta::assert_snapshot!("usage", told(&show(&["--as", "poem", "report.json"])));
    insta::assert_snapshot!("help", told(&show(&["--help"])));
}

/// Texts that would do harm, if they were sent as they are.
const HOSTILE: [&str; 12] = [
    "\u{1b}[31mred\u{1b}[0m",
    "\u{1b}]0;title\u{7}",
    "\u{1b}]8;;https://evil.example\u{1b}\\click\u{1b}]8;;\u{1b}\\",
    "\u{9b}2J",
    "\u{9d}52;c;aGk=\u{9c}",
    "line\r\nover\rwritten\u{8}\u{8}",
    "user\u{202e}nimda\u{2066}x\u{2069}",
    "zero\u{200b}width\u{200d}\u{2060}\u{feff}",
    "tag\u{e0041}\u{e0042} shy\u{ad} fill\u{3164}",
    "\u{0}\u{7f}\u{85}\u{2028}\u{2029}",
    "z\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}",
    "**&#27;[31m** [a](https://e.example/&#27;]8;;x) `&#x9b;` &#x202e; ![&#7;](&#27;)",
];

/// The document with a hostile text in place of every text, and as the name of an extra member
/// of every object. What tells how to draw it stays.
fn poisoned(value: &Value, hostile: &str) -> Value {
    const TELLING: [&str; 6] =
        ["artifact_type", "chart_type", "schema_id", "format", "language", "timestamp"];
    match value {
        Value::String(_) => hostile.into(),
        Value::Array(items) => items.iter().map(|item| poisoned(item, hostile)).collect(),
        Value::Object(members) => {
            let mut poison: serde_json::Map<String, Value> = members
                .iter()
                .map(|(name, item)| {
                    let telling = TELLING.contains(&name.as_str());
                    (name.clone(), if telling { item.clone() } else { poisoned(item, hostile) })
                })
                .collect();
            poison.insert(hostile.to_owned(), hostile.into());
            poison.into()
        }
        other => other.clone(),
    }
}

/// The text without the colour sequences we write; anything else that begins with ESC stays.
fn without_sgr(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        kept.push_str(&rest[..at]);
        let parameters = &rest[at + 2..];
        let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(0);
        if parameters[end..].starts_with('m') {
            rest = &parameters[end + 1..];
        } else {
            kept.push_str("\u{1b}[");
            rest = parameters;
        }
    }
    kept + rest
}

fn assert_quiet(text: &str, context: &str) {
    let loud = text.chars().find(|&character| {
        (character.is_control() && character != '\n')
            || matches!(character,
                '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
    });
    assert_eq!(loud, None, "{context}");
}

#[test]
fn hostile_text_is_shown_and_never_sent() {
    for name in DOCUMENTS {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/fixtures/show/{name}.json"));
        let document: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let contract = match name.split('-').next().unwrap() {
            word @ ("atdf" | "tool" | "governed" | "descriptor") => word,
            _ => "ui",
        };
        for (index, hostile) in HOSTILE.iter().enumerate() {
            let poison = poisoned(&document, hostile);
            let context = format!("{name} with text {index}");
            let plain = show_value(&poison, &["--as", contract]);
            assert!(plain.status.success(), "{context}");
            assert_quiet(&String::from_utf8(plain.stdout).unwrap(), &context);
            assert_quiet(&String::from_utf8(plain.stderr).unwrap(), &context);
            if index % 4 != 0 {
                continue;
            }
            // Few rows and colours on: the cuts must not let anything through either.
            let coloured = show_value(
                &poison,
                &["--as", contract, "--color", "always", "--width", "30", "--rows", "2"],
            );
            let coloured = without_sgr(&String::from_utf8(coloured.stdout).unwrap());
            assert_quiet(&coloured, &format!("{context}, coloured"));
        }
    }
}

#[test]
fn hostile_names_of_files_are_quiet_too() {
    let output = show(&["\u{1b}[31m\u{202e}.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert_quiet(&String::from_utf8(output.stderr).unwrap(), "stderr");
}

/// Documents that are large in each way a document can be.
fn large() -> Vec<(&'static str, Value)> {
    let artifact = |kind: &str, content: Value| {
        json!({"response_type": "report", "summary": "large", "timestamp": "2026-03-12T10:00:00Z",
               "artifacts": [{"artifact_type": kind, "title": "t", "content": content, "metadata": {}}]})
    };
    let cell = "longest ".repeat(10 * 1024 * 128);
    let word = "longest ".repeat(1024 * 64);
    let numbers: Vec<usize> = (0..100_000).collect();
    // Enough to be too many; a hundred thousand of each would only keep this test busy.
    let some = &numbers[..20_000];
    let rows: Vec<Value> = numbers.iter().map(|n| json!([n, n * 2, "x"])).collect();
    let node = |n: &usize| (format!("k{n}"), json!({"v": [n]}));
    let nodes: serde_json::Map<String, Value> = numbers.iter().take(34_000).map(node).collect();
    let event =
        |n: &usize| json!({"timestamp": "2026-03-12T10:00:00Z", "event": n, "status": "ok"});
    let signal =
        |n: &usize| json!({"signal_type": format!("t{n}"), "signal_layer": format!("l{n}")});
    vec![
        ("cell", artifact("table", json!({"columns": ["a", "b"], "rows": [[cell, 1]]}))),
        ("rows", artifact("table", json!({"columns": ["a", "b", "c"], "rows": rows}))),
        ("columns", artifact("table", json!({"columns": some, "rows": [some]}))),
        ("nodes", artifact("json_data", nodes.into())),
        ("code", artifact("code_block", json!({"code": word, "language": "rust"}))),
        ("lines", artifact("code_block", json!({"code": "x\n".repeat(100_000), "language": "c"}))),
        (
            "prose",
            artifact(
                "document",
                json!({"format": "markdown", "sections": [{"heading": word, "content": word}]}),
            ),
        ),
        (
            "brackets",
            artifact(
                "document",
                json!({"format": "markdown", "sections": [{"content": "[".repeat(1_000_000)}]}),
            ),
        ),
        (
            "quotes",
            artifact(
                "document",
                json!({"format": "markdown", "sections": [{"content": ">".repeat(1_000_000)}]}),
            ),
        ),
        (
            "points",
            artifact(
                "chart",
                json!({"chart_type": "line", "data": {"datasets": [{"data": some}]}}),
            ),
        ),
        (
            "bars",
            artifact(
                "chart",
                json!({"chart_type": "bar", "data": {"labels": some, "datasets": [{"data": some}]}}),
            ),
        ),
        (
            "events",
            artifact("timeline", json!({"events": some.iter().map(event).collect::<Vec<_>>()})),
        ),
        (
            "signals",
            artifact(
                "signal_batch",
                json!({"signals": some.iter().map(signal).collect::<Vec<_>>()}),
            ),
        ),
        (
            "summary",
            json!({"response_type": "text", "summary": word, "ui_hints": {"priority": word, "suggested_actions": [word]}}),
        ),
        (
            "tool",
            json!({"schema_id": "dotbot-mcp-response@1", "tool": word, "summary": word, "errors": [{"code": word, "message": word}], "data": word}),
        ),
    ]
}

#[test]
fn large_documents_are_drawn_fast_and_do_not_flood() {
    for (name, document) in large() {
        let start = Instant::now();
        let output = show_value(&document, &[]);
        let took = start.elapsed();
        assert!(output.status.success(), "{name}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().count();
        assert!(lines <= 500, "{name}: {lines} lines");
        // Without optimisation and with other tests beside it; a release build takes a tenth.
        assert!(took < Duration::from_secs(20), "{name}: {took:?}");
    }
}

/// Lists of x and y are not names with numbers: what was drawn of them were two bars, of 20 and 5.
#[test]
fn only_data_that_is_understood_is_drawn() {
    let content = json!({"chart_type": "bar", "data": {"x": [10, 20, 30], "y": [1, 5, 2]}});
    let artifact = json!({"artifact_type": "chart", "title": "Side by side", "content": content});
    let document = json!({
        "response_type": "forecast", "summary": "A chart.", "artifacts": [artifact],
        "timestamp": "2026-03-12T10:02:11+00:00",
    });
    insta::assert_snapshot!(told(&show_value(&document, &["--width", "60"])), @r#"
    exit: 0
    ----- stdout -----
    ┃ A chart.
    ┃ forecast · 2026-03-12 10:02:11 UTC

    ── Side by side ───────────────────────────── chart · bar ──
      ⚠ cannot be drawn as chart: it needs content.data with
        labels and datasets, whose data are numbers or points
      ├─ chart_type: "bar"
      └─ data
         ├─ x: [10, 20, 30]
         └─ y: [1, 5, 2]
    ----- stderr -----
    "#);
}
