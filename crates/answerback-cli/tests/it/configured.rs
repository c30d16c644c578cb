//! Tests the ledger with a configuration: store, key, anchor, origin and governance, and options that override them.

use std::fs;

use serde_json::Value;

use crate::folder::Folder;
use crate::ledger::Ledger;
use crate::program::told;

fn configured(ledger: &Ledger, config: &str) -> String {
    fs::create_dir_all(ledger.path("project")).unwrap();
    ledger.write("project/config.yml", config)
}

fn size(ledger: &Ledger, arguments: &[&str]) -> String {
    let stats = ledger.good(&[arguments, &["stats", "--format", "json"]].concat());
    serde_json::from_str::<Value>(&stats).unwrap()["size"].as_str().unwrap().to_owned()
}

#[test]
fn everything_lies_where_the_configuration_says() {
    let ledger = Ledger::new();
    let config = configured(
        &ledger,
        "store: state/audit.db\nledger:\n  origin: example.org/audit\n  key: secret/audit.key\n  anchor: ../far/audit.anchor\n",
    );
    ledger.good(&["--config", &config, "record", "ui-least.json"]);
    for file in ["project/state/audit.db", "project/secret/audit.key", "far/audit.anchor"] {
        assert!(ledger.path(file).is_file(), "{file}");
    }
    assert!(!ledger.store().exists() && !ledger.path("data").exists());
    let stats = ledger.good(&["--config", &config, "stats"]);
    assert!(stats.contains("example.org/audit") && stats.contains("far/audit.anchor"), "{stats}");
    assert_eq!(ledger.code(&["--config", &config, "verify"]), 0);
    // Each option overrides its own setting.
    let [store, key, anchor] =
        ["other.db", "other.key", "other.anchor"].map(|name| ledger.path(name));
    let other = ["--store", store.to_str().unwrap(), "--key", key.to_str().unwrap()];
    let other = [&other[..], &["--anchor", anchor.to_str().unwrap()]].concat();
    ledger.good(&[&["--config", &config], &other[..], &["record", "ui-least.json"]].concat());
    assert!(store.is_file() && key.is_file());
    assert_eq!(size(&ledger, &["--config", &config]), "3");
    // A variable overrides the configuration, and an option overrides the variable.
    let output = ledger
        .command(&["--config", &config, "stats", "--format", "json"])
        .env("ANSWERBACK_STORE", ledger.path("nowhere.db"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    // A ledger with another origin is not taken for the same log.
    let renamed = fs::read_to_string(&config).unwrap().replace("org/audit", "org/other");
    configured(&ledger, &renamed);
    insta::assert_snapshot!(
        "configured-other-origin",
        ledger.told(&["--config", &config, "record", "ui-least.json"])
    );
}

#[test]
fn without_a_store_state_lies_beside_the_configuration() {
    let ledger = Ledger::new();
    let config = configured(&ledger, "ledger:\n  queue: 8\n");
    ledger.good(&["--config", &config, "record", "ui-least.json"]);
    assert!(ledger.path("project/ledger.db").is_file());
    assert!(ledger.path("project/ledger.key").is_file());
    assert!(ledger.path("data/answerback/anchors").is_dir());
}

#[test]
fn responses_are_verified_against_the_configuration_s_manifest() {
    let (ledger, prompts) = (Ledger::new(), Folder::of_prompts("configured-governance"));
    prompts.put(
        "audit.yml",
        "governance:\n  manifest: prompt-manifest.json\n  lock: prompt-lock.json\n",
    );
    let at = |name: &str| format!("{}/{name}", prompts.path());
    let config = at("audit.yml");
    ledger.good(&[
        "--config",
        &config,
        "record",
        "--handoff",
        &at("handoff.json"),
        &at("response.json"),
    ]);
    let shown = ledger.good(&["--config", &config, "show", "4", "--format", "json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["leaf"]["verdict"]["result"], "accepted");
    assert_eq!(ledger.code(&["--config", &config, "verify"]), 0);
}

#[test]
fn what_is_wrong_in_it_is_named() {
    let ledger = Ledger::new();
    for (name, config) in [
        ("values", "store: mysql://h/d\nledger:\n  on_failure: ajar\n  queue: 0\n"),
        ("unset", "store:\n  url_env: ANSWERBACK_NOT_SET\n"),
        ("no-file", "store:\n  url_file: nowhere/url\n"),
        ("no-url", "store:\n  url_file: config.yml\n"),
        ("no-key", "store: postgresql://nobody@127.0.0.1:1/x\n"),
        ("unknown", "stores: x\nledger:\n  ankor: x\n"),
    ] {
        let config = configured(&ledger, config);
        let told = ledger.told(&["--config", &config, "record", "ui-least.json"]);
        insta::assert_snapshot!(format!("configured-{name}"), told);
    }
}

/// A URL with a password can be stored outside the configuration.
#[test]
fn a_url_comes_from_a_variable_or_a_file() {
    let ledger = Ledger::new();
    let url = "postgresql://me:s3cret@127.0.0.1:1/x";
    ledger.write("url", format!("{url}\n"));
    for config in ["store:\n  url_env: LEDGER_URL\n", "store:\n  url_file: ../url\n"] {
        let config = configured(&ledger, config);
        let mut command = ledger.command(&["--config", &config, "tail"]);
        let output = command.env("LEDGER_URL", url).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(said.contains("at 127.0.0.1") && !said.contains("s3cret"), "{said}");
    }
}
