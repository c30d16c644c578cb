//! Creates sample logs for tests.

use super::{Ledger, Writer, sha256_hex, text};

pub(crate) const PROMPT: &str = "e7b34ef33d23d41e67ba23c640b26cbc4179840cc2be1278703e89fd74aefd9c";

pub(crate) const MANIFEST: &str = r#"{"version":"1.0.0","domains":{"domain-02":{"name":"Analysis","file":"domains/02.md","canonical_id":"domain-02-analysis","version":"1.0.0","scope":"analysis"}},"archetypes":{}}"#;

pub(crate) fn lock() -> String {
    format!(
        r#"{{"version":"1.0.0","lockfileVersion":1,"algorithm":"SHA-256","prompts":{{"domain-02":{{"file":"domains/02.md","hash":"{PROMPT}","type":"domain","version":"1.0.0"}}}}}}"#
    )
}

pub(crate) fn uuid(number: u64) -> String {
    format!("550e8400-e29b-41d4-a716-{number:012x}")
}

/// Logs a manifest or a lock.
pub(crate) fn config(writer: &mut Writer, subject: &str, content: &str) -> u64 {
    let members = [("subject", text(subject)), ("sha256", text(sha256_hex(content.as_bytes())))];
    writer.append("config", &members, &[(subject, content.as_bytes())])
}

pub(crate) fn request(writer: &mut Writer, number: u64) -> u64 {
    let members = [
        ("request_id", text(uuid(number))),
        ("agent_id", text("domain-02-analysis")),
        ("tool", text("weather.now")),
    ];
    writer.append(
        "request",
        &members,
        &[("as_seen", b"{\"city\":\"Oslo\"}"), ("as_sent", b"{\"city\":\"Oslo \"}")],
    )
}

/// Returns the members of a valid governed response.
pub(crate) fn response_members(number: u64, request: u64) -> Vec<(&'static str, String)> {
    let claimed = r#"{"boundaries_respected":true,"constraints_followed":true,"quality_standards_met":true,"within_scope":true}"#;
    vec![
        ("reply_id", text(uuid(2_000_000 + number))),
        ("request_id", text(uuid(number))),
        ("response_id", text(uuid(1_000_000 + number))),
        ("request_index", text(request.to_string())),
        ("agent_id", text("domain-02-analysis")),
        ("agent_type", text("domain")),
        ("agent_version", text("1.0.0")),
        ("prompt_sha256", text(PROMPT)),
        ("manifest_sha256", text(sha256_hex(MANIFEST.as_bytes()))),
        ("lock_sha256", text(sha256_hex(lock().as_bytes()))),
        ("claimed", claimed.to_owned()),
        ("claimed_ts", text("2026-11-15T00:00:00.000000Z")),
        ("verdict", r#"{"failed":[],"result":"accepted"}"#.to_owned()),
        ("outcome", text("ok")),
        ("status", text("success")),
    ]
}

pub(crate) fn response(writer: &mut Writer, number: u64, request: u64) -> u64 {
    let members = response_members(number, request);
    writer.append("response", &members, &[("response", b"{\"answer\":\"sunny\"}")])
}

/// Creates a log with an entry of every kind, an unanswered request, and an erased part.
pub(crate) fn every_kind() -> Writer {
    let mut writer = Writer::new(7);
    config(&mut writer, "manifest", MANIFEST);
    config(&mut writer, "lock", &lock());
    writer.checkpoint();
    let first = request(&mut writer, 1);
    response(&mut writer, 1, first);
    writer.checkpoint();
    let second = request(&mut writer, 2);
    let rejected = [
        ("request_index", text(second.to_string())),
        ("codes", r#"["GOV-001","GOV-002"]"#.to_owned()),
    ];
    writer.append("rejected", &rejected, &[("response", b"nonsense")]);
    writer.checkpoint();
    let validation = [
        ("attempt", "1".to_owned()),
        ("max_attempts", "3".to_owned()),
        ("codes", r#"["VAL-001"]"#.to_owned()),
        ("tool_sha256", text(sha256_hex(b"no such tool"))),
    ];
    writer.append("validation", &validation, &[("arguments", b"{}")]);
    writer.append("escalation", &[("case_id", text(uuid(9))), ("revision", "1".to_owned())], &[]);
    writer.append("decision", &[("case_id", text(uuid(9))), ("decision", text("approve"))], &[]);
    writer.checkpoint();
    let third = request(&mut writer, 3);
    response(&mut writer, 3, third);
    // This request stays unanswered.
    request(&mut writer, 4);
    writer.checkpoint();
    writer.erase(third, "as_sent");
    writer.append("config", &[("subject", text("stop"))], &[]);
    writer.checkpoint();
    writer
}

/// Creates a long log with a checkpoint after every `batch` entries.
pub(crate) fn long(entries: u64, batch: u64) -> Ledger {
    let mut writer = Writer::new(7);
    while writer.ledger.size < entries {
        let number = writer.ledger.size;
        let index = request(&mut writer, number);
        if writer.ledger.size < entries {
            ungoverned_response(&mut writer, index);
        }
        let signed = writer.ledger.checkpoints.last().map_or(0, |(size, _)| *size);
        if writer.ledger.size >= signed + batch || writer.ledger.size == entries {
            writer.checkpoint();
        }
    }
    writer.ledger
}

pub(crate) fn ungoverned_response(writer: &mut Writer, request: u64) -> u64 {
    let members = [("request_index", text(request.to_string()))];
    writer.append("response", &members, &[("response", b"{}")])
}

/// Creates the smallest log that covers most features: four entries, two checkpoints.
pub(crate) fn small() -> Ledger {
    let mut writer = Writer::new(7);
    writer.checkpoint();
    let request = request(&mut writer, 1);
    let members = [
        ("request_index", text(request.to_string())),
        ("outcome", text("ok")),
        ("response_id", text(uuid(2))),
    ];
    writer.append("response", &members, &[("response", b"{}")]);
    writer.erase(request, "as_sent");
    writer.checkpoint();
    writer.ledger
}
