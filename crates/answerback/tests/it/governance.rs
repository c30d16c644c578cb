//! Documents judged together: a response with manifest, lock and handoff; a handoff with manifest and lock; the two
//! with each other and with the prompts' files. Every case starts from `examples/governance`, where all holds, and
//! spoils it; `tests/cases/*-together.json`, `lock-files.json` and `lock-replaced.json` are the tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use answerback::contract::governed::{
    Attestation, Content, GovernedResponse, Refusal, RefusalReason, RefusalSeverity,
};
use answerback::contract::{Contract, Profile};
use answerback::governance::{
    Authority, Disagreement, HandoffRequest, Lock, LockfileVersion, Manifest, PromptFiles,
    Verification, compare_documents, disagreements, not_compared,
};
use answerback::json::patch::{PatchOperation, apply};
use answerback::json::{Limits, read};
use answerback::{Timestamp, UuidV4, ValidationError};
use serde::Deserialize;
use serde_json::Value;

use crate::rules::tests_folder;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What the case shows.
    name: String,
    #[serde(default)]
    manifest: Vec<PatchOperation>,
    #[serde(default)]
    lock: Vec<PatchOperation>,
    #[serde(default)]
    response: Vec<PatchOperation>,
    #[serde(default)]
    handoff: Vec<PatchOperation>,
    /// Whether the response is judged with its handoff though that is not spoiled.
    #[serde(default)]
    with_handoff: bool,
    /// Files that have another text, or are not there.
    #[serde(default)]
    files: BTreeMap<String, Option<String>>,
    /// `code pointer` of each finding, in any order; `?` when it is no error.
    found: BTreeSet<String>,
    /// The reason of the refusal that is demanded; none when the response is accepted.
    #[serde(default)]
    refusal: Option<String>,
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/governance")
}

fn document(name: &str) -> Value {
    let bytes = fs::read(examples().join(name)).unwrap();
    read(&bytes, Limits::default()).unwrap().value
}

const TABLES: [&str; 5] =
    ["response-together", "handoff-together", "lock-together", "lock-files", "lock-replaced"];

fn cases(table: &str) -> Vec<Case> {
    let path = tests_folder().join("cases").join(table).with_extension("json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Every code that a case of these tables breaks.
pub(crate) fn tested_codes() -> BTreeSet<String> {
    let found = TABLES.into_iter().flat_map(cases).flat_map(|case| case.found);
    found.filter_map(|finding| finding.split(' ').next().map(str::to_owned)).collect()
}

impl Case {
    fn manifest(&self) -> Value {
        apply(&document("prompt-manifest.json"), &self.manifest).unwrap()
    }

    fn lock(&self) -> Value {
        apply(&document("prompt-lock.json"), &self.lock).unwrap()
    }

    fn response(&self) -> Value {
        apply(&document("response.json"), &self.response).unwrap()
    }

    fn handoff(&self) -> Value {
        apply(&document("handoff.json"), &self.handoff).unwrap()
    }

    fn authority(&self) -> Authority {
        Authority::new(&self.manifest(), &self.lock())
    }

    /// The prompts' files, spoiled.
    fn files(&self, manifest: &Manifest) -> PromptFiles {
        let mut files = PromptFiles::default();
        for prompt in manifest.prompts() {
            let bytes = match self.files.get(prompt.file) {
                None => fs::read(examples().join(prompt.file)).unwrap(),
                Some(Some(text)) => text.clone().into_bytes(),
                Some(None) => continue,
            };
            files = files.with_file(prompt.file, &bytes);
        }
        let strays = self.files.keys().filter(|file| manifest.looks_like_a_prompt(file));
        strays.fold(files, PromptFiles::with_stray)
    }

    fn expect(&self, findings: &[ValidationError]) {
        let mark = |is_error: bool| if is_error { "" } else { "?" };
        let found: BTreeSet<String> = findings
            .iter()
            .map(|finding| {
                format!("{} {}{}", finding.error_code, finding.field_path, mark(finding.is_error()))
            })
            .collect();
        assert_eq!(found, self.found, "{}: {findings:#?}", self.name);
    }
}

#[test]
fn a_response_with_manifest_lock_and_handoff() {
    for case in cases("response-together") {
        let (authority, response) = (case.authority(), case.response());
        let handoff = (case.with_handoff || !case.handoff.is_empty()).then(|| case.handoff());
        let findings = authority.check_response(&response, handoff.as_ref(), Profile::Strict);
        case.expect(&findings);
        let verified = authority.verify(&response, handoff.as_ref());
        assert_eq!(verified.findings(), findings, "{}", case.name);
        match (&verified, &case.refusal) {
            (Verification::Accepted(_), None) => {
                assert!(!findings.iter().any(ValidationError::is_error), "{}", case.name);
            }
            (Verification::Refused(refused), Some(reason)) => {
                assert_eq!(refused.refusal.refusal_reason.as_str(), reason, "{}", case.name);
            }
            _ => panic!("{}: {verified:?}", case.name),
        }
    }
}

#[test]
fn a_handoff_with_manifest_and_lock() {
    for case in cases("handoff-together") {
        case.expect(&case.authority().check_handoff(&case.handoff(), Profile::Strict));
    }
}

#[test]
fn a_lock_with_its_manifest() {
    for case in cases("lock-together") {
        let manifest = Manifest::from_document(&case.manifest()).unwrap();
        let lock = Lock::from_document(&case.lock()).unwrap();
        let found = disagreements(&manifest, &lock);
        let of_lock: Vec<ValidationError> = found.iter().map(Disagreement::of_lock).collect();
        case.expect(&of_lock);
        // Seen from the manifest it is as many findings, at places that the manifest has.
        for finding in found.iter().map(Disagreement::of_manifest) {
            let place = finding.field_path.find(&case.manifest()).cloned();
            assert!(place.is_some(), "{}: {finding}", case.name);
        }
        assert_eq!(case.authority().is_sound(), found.is_empty(), "{}", case.name);
    }
}

/// What is broken in one place does not hide what differs in another.
#[test]
fn broken_documents_are_compared_where_they_are_sound() {
    let codes = |manifest: &Value, lock: &Value| -> Vec<String> {
        let found = compare_documents(manifest, lock);
        found.iter().map(|one| format!("{}", one.of_lock().error_code)).collect()
    };
    for case in cases("lock-together") {
        let expected: Vec<String> =
            case.found.iter().map(|found| found.split(' ').next().unwrap().to_owned()).collect();
        // A bad hash, a bad composition, a time that is none: each is an error of its own.
        let (mut manifest, mut lock) = (case.manifest(), case.lock());
        lock["prompts"]["analysis"]["hash"] = "UPPER".into();
        lock["generated"] = "yesterday".into();
        manifest["governance"] = Value::Null;
        assert!(Manifest::from_document(&manifest).is_err() && Lock::from_document(&lock).is_err());
        assert_eq!(codes(&manifest, &lock), expected, "{}", case.name);
        assert!(!Authority::new(&manifest, &lock).is_sound());
    }
    let case = &cases("lock-together")[0];
    // Of a group that cannot be read nothing is known, so no locked prompt is called extra.
    let mut manifest = case.manifest();
    manifest["archetypes"] = "none".into();
    assert_eq!(codes(&manifest, &case.lock()), [""; 0]);
    manifest["archetypes"] = Value::Object(serde_json::Map::new());
    assert_eq!(codes(&manifest, &case.lock()), ["LOCK-103"]);
    assert_eq!(codes(&Value::Null, &Value::Null), [""; 0]);
    let errors = Contract::Manifest.check(&Value::Null, Profile::Lenient);
    let finding = not_compared(Contract::Manifest, &errors).unwrap();
    assert!(finding.is_error() && finding.error_code == "LOCK-105", "{finding}");
    assert!(finding.message.starts_with("cannot be compared: the prompt manifest is not sound"));
    assert_eq!(not_compared(Contract::Lock, &[]), None);
}

#[test]
fn a_time_in_the_future_is_worth_a_warning() {
    let now = Timestamp::parse("2026-03-02T09:15:00Z").unwrap().0;
    for (contract, name, code) in [
        (Contract::Governed, "response.json", "GOV-048"),
        (Contract::Handoff, "handoff.json", "HAND-023"),
    ] {
        let mut document = document(name);
        for (time, is_future) in [
            ("2099-01-01T00:00:00Z", true),
            ("2026-03-02T09:20:01Z", true),
            ("2026-03-02T10:20:01+01:00", true),
            ("2026-03-02T09:20:00Z", false),
            ("2026-03-02T09:19:59Z", false),
            ("2025-01-01T00:00:00Z", false),
            ("soon", false),
        ] {
            document["timestamp"] = time.into();
            let finding = contract.check_time(&document, now);
            assert_eq!(finding.is_some(), is_future, "{time}");
            let Some(finding) = finding else { continue };
            assert_eq!((finding.error_code.as_ref(), finding.is_error()), (code, false));
            assert_eq!(finding.field_path.as_str(), "/timestamp");
        }
    }
}

#[test]
fn a_lock_that_is_written_anew_keeps_its_own_words() {
    let case = &cases("lock-replaced")[0];
    let manifest = Manifest::from_document(&case.manifest()).unwrap();
    let files = case.files(&manifest);
    let mut before = Lock::of(&manifest, &files, LockfileVersion::One).unwrap();
    assert_eq!(before.description, manifest.description);
    before.description = "Reviewed in spring".to_owned();
    before.extra.insert("x-reviewer".to_owned(), "QA".into());
    let key = before.prompts.keys().next().unwrap().clone();
    let prompt = before.prompts.get_mut(&key).unwrap();
    prompt.extra.insert("x-note".to_owned(), "read twice".into());
    let lock = Lock::of(&manifest, &files, LockfileVersion::One).unwrap().keeping(&before);
    assert_eq!(lock, before);
}

#[test]
fn a_lock_with_its_files() {
    for case in cases("lock-files") {
        let manifest = Manifest::from_document(&case.manifest()).unwrap();
        let lock = Lock::from_document(&case.lock()).unwrap();
        case.expect(&lock.check_files(&case.files(&manifest)));
    }
}

#[test]
fn a_lock_with_the_one_before() {
    for case in cases("lock-replaced") {
        let manifest = Manifest::from_document(&case.manifest()).unwrap();
        let previous = Lock::from_document(&case.lock()).unwrap();
        let lock = Lock::of(&manifest, &case.files(&manifest), LockfileVersion::One).unwrap();
        let findings = lock.check_replacing(&previous, &manifest.governance);
        case.expect(&findings);
        for finding in findings {
            for said in ["raise its version", previous.prompts["product"].version.as_str()] {
                assert!(finding.message.contains(said), "{}: {finding}", case.name);
            }
        }
    }
}

/// The example's lock is what is written from its manifest and files, byte by byte, and again.
#[test]
fn the_same_manifest_and_files_give_the_same_bytes() {
    let whole = cases("lock-files").remove(0);
    let manifest = Manifest::from_document(&whole.manifest()).unwrap();
    let files = whole.files(&manifest);
    let text = Lock::of(&manifest, &files, LockfileVersion::One).unwrap().to_text();
    assert_eq!(text, fs::read_to_string(examples().join("prompt-lock.json")).unwrap());

    // The order of a manifest's members is no reason for another lock.
    let mut turned = whole.manifest();
    let domains = turned["domains"].as_object_mut().unwrap();
    let first = domains.shift_remove("analysis").unwrap();
    domains.insert("analysis".to_owned(), first);
    let manifest = Manifest::from_document(&turned).unwrap();
    assert_eq!(Lock::of(&manifest, &files, LockfileVersion::One).unwrap().to_text(), text);

    let second = Lock::of(&manifest, &files, LockfileVersion::Two).unwrap();
    assert_eq!(second.algorithm, "sha256");
    assert_eq!(Contract::Lock.check(&second.to_document(), Profile::Strict), []);
    let missing = Lock::of(&manifest, &PromptFiles::default(), LockfileVersion::One).unwrap_err();
    assert_eq!(missing.files.len(), 3);
}

fn authority() -> Authority {
    Authority::new(&document("prompt-manifest.json"), &document("prompt-lock.json"))
}

fn now() -> Timestamp {
    Timestamp::from_unix_millis(1_772_443_200_000)
}

/// Whatever was refused, the refusal itself is a response that is accepted.
#[test]
fn a_refusal_is_a_response_that_is_accepted() {
    let authority = authority();
    let speaker = authority.speaker("archetype-01-product-thinker").unwrap();
    let mut reasons = BTreeSet::new();
    for case in cases("response-together") {
        let handoff = (case.with_handoff || !case.handoff.is_empty()).then(|| case.handoff());
        let broken = case.authority();
        let Verification::Refused(refused) = broken.verify(&case.response(), handoff.as_ref())
        else {
            continue;
        };
        let id = UuidV4::from_random([3; 16]);
        let response = refused.respond(&speaker, id, now()).unwrap();
        let read = GovernedResponse::from_document(&response.to_document()).unwrap();
        let refusal: Refusal = read.refusal().unwrap();
        assert_eq!(refusal, refused.refusal, "{}", case.name);
        let reason = refusal.refusal_reason;
        assert_eq!(read.status(), reason.status(), "{}", case.name);
        assert_eq!(refused.halts(), refusal.security_flag, "{}", case.name);
        assert_eq!(refused.halts(), reason.is_security(), "{}", case.name);
        let verified = authority.verify(&response.to_document(), None);
        assert!(verified.is_accepted(), "{}: {verified:?}", case.name);
        assert_eq!(verified.halts(), reason.is_security(), "{}", case.name);
        assert_eq!(response.meta["dev.answerback/refusal"]["severity"], reason.severity().as_str());
        reasons.insert(reason.as_str());
    }
    // All that a check can find out; the others are an agent's own to give.
    assert_eq!(
        reasons.into_iter().collect::<Vec<_>>(),
        [
            "BOUNDARY_VIOLATION",
            "COMPOSITION_VIOLATION",
            "HASH_VERIFICATION_FAILURE",
            "INSUFFICIENT_CONTEXT",
            "INVALID_AGENT_REFERENCE",
            "OUT_OF_SCOPE",
            "QUALITY_CANNOT_BE_MET"
        ]
    );
}

#[test]
fn a_hash_failure_is_critical_and_halts() {
    let mut response = document("response.json");
    response["agent"]["prompt_hash"] = "0".repeat(64).into();
    let authority = authority();
    let verified = authority.verify(&response, None);
    assert!(verified.halts());
    let Verification::Refused(refused) = &verified else { panic!("{verified:?}") };
    assert_eq!(refused.severity(), RefusalSeverity::Critical);
    assert_eq!(refused.refusal.refusal_reason, RefusalReason::HashVerificationFailure);
    insta::assert_snapshot!(refused.refusal.explanation, @r#"The response was not accepted: prompt_hash is "0000000000000000000000000000000000000000000000000000000000000000", but "81c7615084a07d7deed2337f38d02b1b783baba315ba162ec38b81e0640fdf4e" was observed"#);
}

#[test]
fn what_is_computed_stands_beside_what_is_claimed() {
    let (authority, response, handoff) =
        (authority(), document("response.json"), document("handoff.json"));
    let told = |verified: &Verification<'_>| {
        let Verification::Accepted(accepted) = verified else { panic!("{verified:?}") };
        let claims: Vec<String> = accepted
            .claims
            .iter()
            .map(|claim| format!("{} {} {:?}", claim.flag, claim.claimed, claim.observed))
            .collect();
        let scope: Vec<String> = accepted
            .scope
            .iter()
            .map(|scope| format!("{} {} %: {}", scope.canonical_id, scope.percent, scope.text))
            .collect();
        format!("{}\n{}\n{}", accepted.agent.agent_id, scope.join("\n"), claims.join("\n"))
    };
    insta::assert_snapshot!(told(&authority.verify(&response, None)), @"
    domain-01-analysis
    domain-01-analysis 100 %: Examining data, estimating effects and their uncertainty
    within_scope true None
    boundaries_respected true None
    quality_standards_met true None
    constraints_followed true None
    ");
    insta::assert_snapshot!(told(&authority.verify(&response, Some(&handoff))), @"
    domain-01-analysis
    domain-01-analysis 100 %: Examining data, estimating effects and their uncertainty
    within_scope true None
    boundaries_respected true Some(true)
    quality_standards_met true None
    constraints_followed true None
    ");
}

#[test]
fn an_honest_agent_cannot_get_its_identity_wrong() {
    let authority = authority();
    let request =
        HandoffRequest::new(answerback::contract::governed::RequestType::Query, "Why?", "A reason")
            .with_input_data("sales")
            .with_constraint("Be brief");
    let handoff = authority
        .handoff(
            UuidV4::from_random([1; 16]),
            ("domain-02-product", "domain-01-analysis"),
            request,
            "ledger:1",
        )
        .unwrap()
        .with_message("Why did sales rise?")
        .with_context("region", "north")
        .with_decision("look first")
        .meta("trace", 1)
        .build(now())
        .unwrap();
    let document = handoff.to_document();
    assert_eq!(authority.check_handoff(&document, Profile::Strict), []);

    let response = authority
        .speaker("domain-01-analysis")
        .unwrap()
        .answer(
            UuidV4::from_random([2; 16]),
            handoff.request_context(),
            Content::plain("A campaign."),
            Attestation::upheld().with_audit_trail("ledger:2"),
        )
        .build(now())
        .unwrap();
    let verified = authority.verify(&response.to_document(), Some(&document));
    assert!(verified.is_accepted() && verified.findings().is_empty(), "{verified:?}");

    let told = |agent: &str| authority.speaker(agent).unwrap_err().to_string();
    insta::assert_snapshot!(told("analysis"), @r#"there is no agent "analysis"; there are archetype-01-product-thinker, domain-01-analysis, domain-02-product"#);
    let other = Authority::new(&self::document("prompt-manifest.json"), &Value::Null);
    insta::assert_snapshot!(other.speaker("domain-01-analysis").unwrap_err().to_string(), @"manifest and lock cannot be relied on: prompt lock: error LOCK-001 at (root): expected an object");
}

/// Whatever documents are taken for manifest and lock, nothing is accepted unless they are sound.
#[test]
fn any_two_documents_fail_closed() {
    let response = document("response.json");
    let documents = ["prompt-manifest.json", "prompt-lock.json", "handoff.json", "response.json"];
    let all: Vec<Value> = documents.map(document).into_iter().chain([Value::Null]).collect();
    for (one, manifest) in all.iter().enumerate() {
        for (two, lock) in all.iter().enumerate() {
            let authority = Authority::new(manifest, lock);
            let verified = authority.verify(&response, None);
            assert_eq!(verified.is_accepted(), (one, two) == (0, 1), "{one} {two}");
            assert!(verified.is_accepted() || verified.halts(), "{one} {two}");
        }
    }
}

#[test]
fn types_come_back_as_they_went() {
    let manifest = document("prompt-manifest.json");
    let read = Manifest::from_document(&manifest).unwrap();
    assert_eq!(Manifest::from_document(&read.to_document()).unwrap(), read);
    assert_eq!(read.folders().into_iter().collect::<Vec<_>>(), ["archetypes", "domains"]);
    let handoff = document("handoff.json");
    let read = answerback::governance::Handoff::from_document(&handoff).unwrap();
    assert_eq!(read.to_document(), handoff);
    let lock = document("prompt-lock.json");
    assert_eq!(Lock::from_document(&lock).unwrap().to_document(), lock);
}
