//! `answerback convert`: there, back, and what is asked for.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::program::{run, run_with, told};

const DOCUMENTS: &str = "../answerback/tests/documents";

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("answerback-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, document: &Value) -> String {
        let path = self.0.join(name);
        fs::write(&path, document.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn to_each_contract() {
    for (name, arguments) in [
        ("tool-to-ui", &["convert", "--to", "ui", "tool-full.json"][..]),
        ("tool-to-atdf", &["convert", "--to", "atdf", "tool-full.json"]),
        (
            "ui-to-tool",
            &["convert", "--to", "tool", "--tool", "report.make@1.0.0", "ui-least.json"],
        ),
        (
            "governed-to-tool",
            &["convert", "--to", "tool", "--tool", "analysis@2.0.0", "governed-refused.json"],
        ),
        ("one-line", &["convert", "--to", "atdf", "--format", "json", "tool-least.json"]),
        ("same", &["convert", "--to", "tool", "--format", "json", "tool-least.json"]),
        ("tool-missing", &["convert", "--to", "tool", "ui-least.json"]),
        ("governed-missing", &["convert", "--to", "governed", "ui-least.json"]),
        ("file-missing", &["convert", "--to", "ui", "no-such.json"]),
        (
            "descriptor-is-no-reply",
            &["convert", "--to", "ui", "--from", "descriptor", "tool-least.json"],
        ),
    ] {
        insta::assert_snapshot!(format!("convert-{name}"), told(&run(DOCUMENTS, arguments)));
    }
}

#[test]
fn a_broken_document_is_refused_with_reasons() {
    let output = run_with(
        DOCUMENTS,
        &["convert", "--to", "ui", "-"],
        r#"{"schema_id": "dotbot-mcp-response@1"}"#,
    );
    insta::assert_snapshot!("convert-broken", told(&output));
    let output = run_with(DOCUMENTS, &["convert", "--to", "ui", "-"], r#"{"a": 1}"#);
    insta::assert_snapshot!("convert-unknown", told(&output));
}

#[test]
fn a_governed_response_takes_its_identity_from_the_lock() {
    let folder = Folder::new("convert");
    let lock = folder.write("lock.json", &json!({
        "version": "1.0.0", "lockfileVersion": 1, "algorithm": "SHA-256",
        "prompts": {"domain-02-analysis": {"file": "02.md", "type": "domain", "version": "1.4.0",
            "hash": "e7b34ef33d23d41e67ba23c640b26cbc4179840cc2be1278703e89fd74aefd9c"}},
    }));
    let attest = folder.write("attest.json", &json!({
        "governance": {"within_scope": true, "boundaries_respected": true, "quality_standards_met": true,
            "constraints_followed": true},
        "request_context": {"request_type": "task", "request_summary": "List the projects"},
        "confidence": "high",
    }));
    let arguments = [
        "convert",
        "--to",
        "governed",
        "--lock",
        &lock,
        "--agent",
        "domain-02-analysis",
        "--attest",
        &attest,
        "tool-least.json",
    ];
    let output = run(DOCUMENTS, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let governed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(governed["agent"]["agent_version"], "1.4.0");
    assert_eq!(governed["timestamp"], "2026-03-04T05:06:07Z");
    let checked = run_with(DOCUMENTS, &["check", "--format", "json", "-"], output.stdout.clone());
    assert_eq!(checked.status.code(), Some(0), "{}", told(&checked));

    // Home again, to the byte.
    let home = run_with(DOCUMENTS, &["convert", "--to", "tool", "-"], output.stdout);
    let home: Value = serde_json::from_slice(&home.stdout).unwrap();
    let original =
        fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(DOCUMENTS).join("tool-least.json"))
            .unwrap();
    assert_eq!(home, serde_json::from_slice::<Value>(&original).unwrap());

    let unknown = [
        "convert",
        "--to",
        "governed",
        "--lock",
        &lock,
        "--agent",
        "domain-99",
        "--attest",
        &attest,
        "tool-least.json",
    ];
    let output = run(DOCUMENTS, &unknown);
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains("the lock has no agent \"domain-99\"; it has domain-02-analysis"),
        "{errors}"
    );
}

#[test]
fn descriptors_and_mcp_tools() {
    let tool = json!({"name": "weather", "description": "Looks up the weather",
        "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}});
    let output = run_with(DOCUMENTS, &["convert", "--to", "descriptor", "-"], tool.to_string());
    insta::assert_snapshot!("convert-descriptor", told(&output));
    let home = run_with(DOCUMENTS, &["convert", "--to", "mcp-tool", "-"], output.stdout);
    assert_eq!(serde_json::from_slice::<Value>(&home.stdout).unwrap(), tool);
}
