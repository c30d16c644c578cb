//! What every contract's target asks of a document; what the targets of calls ask is what the property tests ask.

pub mod call;
#[path = "../../crates/answerback/tests/it/promises.rs"]
pub mod promises;

use answerback::UuidV4;
use answerback::contract::{Contract, Invalid, Profile, atdf, governed, recognise, tool, ui};
use answerback::convert::{Inputs, convert};
use answerback::finding::codes;
use answerback::governance::{Authority, Handoff, Lock, Manifest};
use answerback::json::{Limits, read};
use serde_json::{Map, Value, json};

/// Judges any bytes as a document of one contract, under both profiles: nothing panics, every finding can be
/// explained, what is valid can be read into its type, and goes to every other contract and comes home.
pub fn judge(contract: Contract, bytes: &[u8]) {
    let Ok(document) = read(bytes, Limits::default()) else { return };
    let _ = recognise(&document.value);
    for profile in [Profile::Strict, Profile::Lenient] {
        for finding in contract.check(&document.value, profile) {
            assert!(codes::find(&finding.error_code).is_some(), "{finding}");
        }
    }
    let valid = Invalid::unless_valid(contract.check(&document.value, Profile::Lenient)).is_ok();
    let read = match contract {
        Contract::Atdf => atdf::EnrichedResponse::from_document(&document.value).map(drop),
        Contract::Governed => governed::GovernedResponse::from_document(&document.value).map(drop),
        Contract::Ui => ui::ResponseEnvelope::from_document(&document.value).map(drop),
        Contract::Tool => tool::EnvelopeResponse::from_document(&document.value).map(drop),
        Contract::Handoff => Handoff::from_document(&document.value).map(drop),
        Contract::Manifest => Manifest::from_document(&document.value).map(drop),
        Contract::Lock => Lock::from_document(&document.value).map(drop),
        _ => atdf::descriptor::Descriptor::from_document(&document.value).map(drop),
    };
    assert_eq!(valid, read.is_ok(), "check and reader disagree: {read:?}");
    if valid && Contract::REPLIES.contains(&contract) {
        there_and_back(contract, &document.value);
    }
}

/// Verifies the three documents of one input, split at empty lines, against each other: nothing panics, and nothing
/// is accepted that has an error or stands against a manifest and a lock that are not sound.
pub fn verify(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split("\n\n").map(|part| {
        read(part.as_bytes(), Limits::default()).map(|document| document.value).unwrap_or_default()
    });
    let mut next = || parts.next().unwrap_or_default();
    let (manifest, lock, response, handoff) = (next(), next(), next(), next());
    let authority = Authority::new(&manifest, &lock);
    for handoff in [None, Some(&handoff)] {
        let verified = authority.verify(&response, handoff);
        let is_wrong = verified.findings().iter().any(answerback::ValidationError::is_error);
        assert_eq!(verified.is_accepted(), authority.is_sound() && !is_wrong, "{verified:?}");
    }
}

fn there_and_back(from: Contract, document: &Value) {
    let inputs = inputs();
    for to in Contract::REPLIES {
        // What would break a rule of the target is refused, with reasons.
        let Ok(there) = convert(document, from, to, &inputs) else { continue };
        let home = convert(&there.document, to, from, &Inputs::default());
        assert_eq!(home.map(|home| home.document).as_ref(), Ok(document), "by way of {to}");
    }
}

fn inputs() -> Inputs {
    let agent = json!({"agent_type": "domain", "agent_id": "domain-01", "agent_version": "1.0.0",
        "prompt_hash": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"});
    let governance = json!({"within_scope": true, "boundaries_respected": true, "quality_standards_met": true,
        "constraints_followed": true, "audit_trail": "log/1"});
    Inputs::default()
        .with_tool("a.tool", "1.0.0")
        .with_response_id(UuidV4::from_random([7; 16]))
        .with_agent(members(&agent))
        .with_governance(members(&governance))
        .with_request(members(&json!({"request_type": "query", "request_summary": "asked"})))
        .with_confidence("medium")
}

fn members(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}
