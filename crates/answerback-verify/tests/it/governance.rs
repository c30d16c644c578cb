//! Checks agents and prompts against the manifest and the lock in the log.

use answerback_verify::VerifyOptions;

use crate::{
    failed, judge,
    support::{Writer, sample, sha256_hex, text, written::InMemory},
};

/// Verifies a log whose last response has changed members, and returns the levels that failed.
fn levels(change: impl FnOnce(&mut Vec<(&'static str, String)>)) -> Vec<u8> {
    let mut writer = Writer::new(7);
    sample::config(&mut writer, "manifest", sample::MANIFEST);
    sample::config(&mut writer, "lock", &sample::lock());
    let request = sample::request(&mut writer, 1);
    let mut members = sample::response_members(1, request);
    change(&mut members);
    writer.append("response", &members, &[]);
    writer.checkpoint();
    failed(&judge(&mut InMemory::new(writer.ledger), VerifyOptions::new()))
}

fn set(members: &mut Vec<(&'static str, String)>, name: &'static str, value: &str) {
    members.retain(|(member, _)| *member != name);
    members.push((name, text(value)));
}

#[test]
fn identity_is_that_of_manifest_and_lock() {
    let zeros = "0".repeat(64);
    assert_eq!(levels(|_| {}), [0_u8; 0]);
    assert_eq!(levels(|members| set(members, "agent_id", "domain-03")), [5]);
    assert_eq!(levels(|members| set(members, "prompt_sha256", &zeros)), [5]);
    assert_eq!(levels(|members| set(members, "agent_version", "2.0.0")), [5]);
    assert_eq!(levels(|members| set(members, "agent_type", "archetype")), [5]);
    assert_eq!(levels(|members| set(members, "manifest_sha256", &zeros)), [5]);
    assert_eq!(levels(|members| set(members, "lock_sha256", &zeros)), [5]);
    // A rejected response may have a wrong prompt, which may be the reason for the rejection.
    let refused = |members: &mut Vec<(&'static str, String)>| {
        set(members, "prompt_sha256", &zeros);
        members.retain(|(member, _)| *member != "verdict");
        members.push(("verdict", r#"{"failed":["GOV-HASH"],"result":"refused"}"#.to_owned()));
    };
    assert_eq!(levels(refused), [0_u8; 0]);
    // Missing members default to the manifest and lock in force.
    let unnamed = |members: &mut Vec<(&'static str, String)>| {
        members.retain(|(member, _)| !matches!(*member, "manifest_sha256" | "lock_sha256"));
    };
    assert_eq!(levels(unnamed), [0_u8; 0]);
}

#[test]
fn a_superseded_lock_is_a_warning() {
    let mut writer = Writer::new(7);
    sample::config(&mut writer, "manifest", sample::MANIFEST);
    sample::config(&mut writer, "lock", &sample::lock());
    sample::config(&mut writer, "lock", &sample::lock().replace("1.0.0", "1.0.1"));
    let request = sample::request(&mut writer, 1);
    let response = sample::response(&mut writer, 1, request);
    writer.checkpoint();
    let report = judge(&mut InMemory::new(writer.ledger), VerifyOptions::new());
    assert_eq!(failed(&report), [0_u8; 0], "{report}");
    let warning = report
        .warnings
        .iter()
        .find(|warning| warning.what.contains("no longer the newest"))
        .unwrap();
    assert_eq!(warning.indexes, [response]);
}

#[test]
fn a_logged_document_is_the_one_that_its_digest_names() {
    for (subject, content, digest, part, expected) in [
        ("lock", sample::lock(), sha256_hex(sample::lock().as_bytes()), "lock", &[][..]),
        ("lock", sample::lock(), "0".repeat(64), "lock", &[5]),
        ("lock", sample::lock(), sha256_hex(sample::lock().as_bytes()), "other", &[]),
        ("lock", "not JSON".to_owned(), sha256_hex(b"not JSON"), "lock", &[5]),
        ("manifest", "[]".to_owned(), sha256_hex(b"[]"), "manifest", &[5]),
    ] {
        let mut writer = Writer::new(7);
        let members = [("subject", text(subject)), ("sha256", text(&digest))];
        writer.append("config", &members, &[(part, content.as_bytes())]);
        writer.checkpoint();
        let report = judge(&mut InMemory::new(writer.ledger), VerifyOptions::new());
        assert_eq!(failed(&report), expected, "{subject} {content} {part}\n{report}");
    }
}
