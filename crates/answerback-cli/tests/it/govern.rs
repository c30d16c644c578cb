//! Tests `answerback check` with a manifest, a lock and a handoff.

use serde_json::Value;

use crate::folder::Folder;
use crate::program::{run, told};

const AGAINST: [&str; 4] = ["--manifest", "prompt-manifest.json", "--lock", "prompt-lock.json"];

fn check(folder: &Folder, words: &[&str]) -> String {
    let words: Vec<&str> = ["check"].iter().chain(&AGAINST).chain(words).copied().collect();
    told(&run(folder.path(), &words))
}

#[test]
fn what_holds_is_accepted() {
    let folder = Folder::of_prompts("govern-good");
    let all = ["--handoff", "handoff.json", "response.json", "handoff.json"];
    insta::assert_snapshot!("govern-good", check(&folder, &all));
    insta::assert_snapshot!(
        "govern-good-json",
        check(&folder, &["--format", "json", "response.json"])
    );
    let pair = run(folder.path(), &["check", "--lock", "prompt-lock.json", "prompt-manifest.json"]);
    insta::assert_snapshot!("govern-pair", told(&pair));
}

#[test]
fn what_does_not_hold_is_refused() {
    let folder = Folder::of_prompts("govern-bad");
    let original = folder.text("response.json");
    for (name, old, new) in [
        ("hash", "81c7615", "91c7615"),
        ("agent", "domain-01-analysis", "domain-09-magic"),
        ("version", "\"1.2.0\"", "\"1.3.0\""),
        ("type", "\"domain\"", "\"orchestrator\""),
        ("target", "domain-02-product", "domain-77"),
        ("request", "3f1c2b7e", "4f1c2b7e"),
        ("form", "\"high\"", "\"sure\""),
    ] {
        folder.edit("response.json", old, new);
        let told = check(&folder, &["--handoff", "handoff.json", "response.json"]);
        assert!(told.starts_with("exit: 1"), "{name}: {told}");
        insta::assert_snapshot!(format!("govern-{name}"), told);
        folder.put("response.json", &original);
    }
    folder.edit("response.json", "81c7615", "91c7615");
    let line = run(
        folder.path(),
        &[&["check"], &AGAINST[..], &["--format", "json", "response.json"]].concat(),
    );
    let line: Value = serde_json::from_slice(&line.stdout).unwrap();
    let verification = &line["verification"];
    assert_eq!(verification["accepted"], false);
    assert_eq!(verification["halt"], true);
    assert_eq!(verification["severity"], "Critical");
    assert_eq!(verification["refusal"]["refusal_reason"], "HASH_VERIFICATION_FAILURE");
    assert_eq!(verification["refusal"]["security_flag"], true);
}

#[test]
fn a_handoff_is_judged_against_both() {
    let folder = Folder::of_prompts("govern-handoff");
    folder.edit("handoff.json", "\"agent_version\": \"1.0.0\"", "\"agent_version\": \"1.0.1\"");
    insta::assert_snapshot!("govern-handoff", check(&folder, &["handoff.json"]));
    let both = check(&folder, &["--handoff", "handoff.json", "response.json"]);
    insta::assert_snapshot!("govern-broken-handoff", both);
}

/// If manifest and lock disagree, no response is accepted.
#[test]
fn a_broken_lock_accepts_nothing() {
    let folder = Folder::of_prompts("govern-closed");
    folder.edit("prompt-lock.json", "archetypes/product-thinker", "archetypes/other");
    insta::assert_snapshot!("govern-closed", check(&folder, &["response.json"]));
    let pair =
        run(folder.path(), &["check", "--manifest", "prompt-manifest.json", "prompt-lock.json"]);
    insta::assert_snapshot!("govern-closed-lock", told(&pair));
    let pair = run(folder.path(), &["check", "--lock", "prompt-lock.json", "prompt-manifest.json"]);
    insta::assert_snapshot!("govern-closed-manifest", told(&pair));
}

/// An invalid manifest or lock is an error, but its valid parts are still compared.
#[test]
fn what_cannot_be_compared_is_not_called_good() {
    let folder = Folder::of_prompts("govern-unsound");
    folder.edit("prompt-manifest.json", "\"product\": 60", "\"product\": 70");
    let pair =
        run(folder.path(), &["check", "--manifest", "prompt-manifest.json", "prompt-lock.json"]);
    insta::assert_snapshot!("govern-unsound-manifest", told(&pair));
    folder.edit("prompt-manifest.json", "\"product\": 70", "\"product\": 60");
    folder.edit("prompt-lock.json", "81c76", "81C76");
    folder.edit("prompt-lock.json", "\"1.2.0\"", "\"1.3.0\"");
    let pair = run(folder.path(), &["check", "--lock", "prompt-lock.json", "prompt-manifest.json"]);
    insta::assert_snapshot!("govern-unsound-lock", told(&pair));
    // All errors are reported at once.
    folder.edit("prompt-manifest.json", "\"total_prompts\": 3", "\"total_prompts\": 4");
    let all = run(folder.path(), &["lock", "verify"]);
    insta::assert_snapshot!("govern-unsound-both", told(&all));
}

#[test]
fn a_response_from_the_future_is_worth_a_warning() {
    let folder = Folder::of_prompts("govern-future");
    let time = folder.text("response.json");
    let time =
        time.split("\"timestamp\": \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    folder.edit("response.json", &time, "2999-02-11T00:45:15Z");
    let told = check(&folder, &["response.json"]);
    assert!(told.starts_with("exit: 0") && told.contains("GOV-048"), "{told}");
}

#[test]
fn what_is_missing_is_named() {
    let folder = Folder::of_prompts("govern-missing");
    for (name, words) in [
        ("no-lock", &["check", "--manifest", "prompt-manifest.json", "response.json"][..]),
        ("no-manifest", &["check", "--lock", "prompt-lock.json", "handoff.json"]),
        ("handoff-alone", &["check", "--handoff", "handoff.json", "response.json"]),
        (
            "swapped",
            &[
                "check",
                "--manifest",
                "prompt-lock.json",
                "--lock",
                "prompt-manifest.json",
                "response.json",
            ],
        ),
    ] {
        let told = told(&run(folder.path(), words));
        assert!(told.starts_with("exit: 2"), "{name}: {told}");
        insta::assert_snapshot!(format!("govern-{name}"), told);
    }
}
