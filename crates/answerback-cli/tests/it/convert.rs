//! Tests `answerback convert`: to another contract, back, and with missing inputs.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::program::{run, run_with, told};

const DOCUMENTS: &str = "../answerback/tests/documents";

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
        "version": "1.0.0", "lockfileVersion": 1, "algorithm": "SHA-256", "generated": "2026-01-01T00:00:00Z",
        "description": "One prompt", "integrity": {"total_prompts": 1, "domains": 1, "archetypes": 0},
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

    // The conversion back restores the original.
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
        errors.contains("there is no agent \"domain-99\"; there are domain-02-analysis"),
        "{errors}"
    );
}

/// In the example, a prompt's key differs from its agent's id, so both manifest and lock are needed.
#[test]
fn a_manifest_gives_agents_their_ids() {
    const EXAMPLE: &str = "../../examples/governance";
    let folder = Folder::new("convert-manifest");
    let attest = folder.write("attest.json", &json!({
        "governance": {"within_scope": true, "boundaries_respected": true, "quality_standards_met": true,
            "constraints_followed": true, "audit_trail": "ledger:1"},
        "request_context": {"request_type": "task", "request_summary": "List the projects"},
        "confidence": "high",
    }));
    let agent = ["--manifest", "prompt-manifest.json", "--lock", "prompt-lock.json"];
    let convert = |id: &str| {
        let mut words = vec!["convert", "--to", "governed", "--agent", id, "--attest", &attest];
        words.extend(agent);
        words.push("../../crates/answerback/tests/documents/tool-least.json");
        run(EXAMPLE, &words)
    };
    let output = convert("domain-01-analysis");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let mut check = vec!["check", "--format", "json"];
    check.extend(agent);
    check.push("-");
    let checked = run_with(EXAMPLE, &check, output.stdout);
    assert_eq!(checked.status.code(), Some(0), "{}", told(&checked));
    insta::assert_snapshot!("convert-key-is-no-agent", told(&convert("analysis")));
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
