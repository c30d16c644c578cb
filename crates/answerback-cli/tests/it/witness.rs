//! `ledger checkpoint --witness` and `ledger verify --witness`, against a witness that speaks HTTP.

use serde_json::{Value, json};

#[cfg(unix)]
use crate::gateway::{Gateway, Session, until};
use crate::ledger::Ledger;
use crate::witness_server::{Manner, WitnessServer};
#[cfg(unix)]
use crate::wrap::Desk;

fn with<'a>(config: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    [&["--config", config], arguments].concat()
}

#[test]
fn checkpoints_are_witnessed_and_verified_so() {
    let (ledger, server) = (Ledger::filled(), WitnessServer::start());
    let config = format!(
        "store: {}\nledger:\n  witness:\n    - url: {}\n      key: {}\n",
        ledger.store().display(),
        server.url(),
        server.key()
    );
    let config = ledger.write("config.yml", config);
    let key = server.key();
    let told =
        |arguments: &[&str]| ledger.told(&with(&config, arguments)).replace(&server.url(), "[url]");
    insta::assert_snapshot!("witness-unknown", told(&["checkpoint", "--witness"]));
    server.know(ledger.good(&["checkpoint", "--vkey"]).trim());
    insta::assert_snapshot!("witness-none-yet", told(&["verify", "--witness", &key]));
    for manner in [Manner::Forging, Manner::Stranger, Manner::Status(503)] {
        server.behave(manner);
        assert_eq!(ledger.code(&with(&config, &["checkpoint", "--witness"])), 1, "{manner:?}");
    }
    server.behave(Manner::Honest);
    insta::assert_snapshot!("witness-signed", told(&["checkpoint", "--witness"]));
    assert!(server.asked().len() >= 4);
    let report = ledger.good(&with(&config, &["verify", "--witness", &key, "--format", "json"]));
    assert_eq!(serde_json::from_str::<Value>(&report).unwrap()["valid"], true);
    ledger.good(&with(&config, &["record", "ui-least.json"]));
    insta::assert_snapshot!("witness-behind", told(&["verify", "--witness", &key]));
    let stats = ledger.good(&with(&config, &["stats"]));
    let line = stats.lines().find(|line| line.starts_with("witness")).unwrap();
    assert!(line.ends_with("has signed for 7 of 9 entries"), "{line}");
    // A checkpoint from the witness's side is as good as one from anywhere outside.
    let published = ledger.path("published");
    ledger.good(&with(
        &config,
        &["checkpoint", "--witness", "--publish", published.to_str().unwrap()],
    ));
    let note = std::fs::read_to_string(&published).unwrap();
    assert!(note.contains("— witness.example/w1 "), "{note}");
    let given = ["verify", "--witness", &key, "--checkpoint", published.to_str().unwrap()];
    ledger.good(&with(&config, &given));
}

/// Whoever stays asks the witnesses by itself, as the log grows.
#[cfg(unix)]
#[test]
fn a_gateway_has_its_log_witnessed() {
    let (desk, server) = (Desk::new(), WitnessServer::start());
    desk.client(&[]).leave();
    server.know(desk.good(&["ledger", "checkpoint", "--vkey"]).trim());
    let witness = format!(
        "ledger: {{witness: [{{url: \"{}\", key: \"{}\"}}]}}\n",
        server.url(),
        server.key()
    );
    let signed = || {
        let stats = desk.good(&["ledger", "stats"]);
        let line = stats.lines().find(|line| line.starts_with("witness")).unwrap_or_default();
        let size = line.split_once("has signed for ").and_then(|(_, rest)| rest.split(' ').next());
        size.map_or(0, |size| size.parse::<u64>().unwrap())
    };
    assert_eq!(signed(), 0);
    let config = desk.config(&witness);
    let store = desk.path("state/answerback/ledger.db");
    let mut client = desk.client(&["--config", &config, "--store", store.to_str().unwrap()]);
    client.call("echo", json!({"text": "a"}));
    assert!(until(|| signed() > 0), "wrap asks");
    client.leave();
    let before = signed();
    let gateway = Gateway::start(&desk, &witness, &[]);
    assert!(until(|| signed() > before), "serve asks");
    server.behave(Manner::Status(503));
    Session::begin(&gateway, "/mcp").call("validate_email", json!({"email": "a@example.org"}));
    let (before, failing) = (signed(), "answerback_store_witnesses_failing");
    assert!(gateway.comes_to(failing, |failing| failing >= 1.0), "{}", gateway.metrics());
    assert!(gateway.figure("answerback_store_witness_failures_total").unwrap() >= 1.0);
    server.behave(Manner::Honest);
    assert!(until(|| signed() > before), "serve asks again");
    assert!(gateway.comes_to(failing, |failing| failing == 0.0), "{}", gateway.metrics());
    let (code, said) = gateway.stop();
    assert_eq!(code, 0, "{said:?}");
    assert!(said.iter().any(|line| line.contains("a witness does not sign")), "{said:?}");
}

#[test]
fn what_is_missing_is_named() {
    let ledger = Ledger::filled();
    let log = ledger.good(&["checkpoint", "--vkey"]);
    for (name, arguments) in [
        ("no-witness", &["checkpoint", "--witness"][..]),
        ("not-a-key", &["verify", "--witness", "x"]),
        ("a-logs-key", &["verify", "--witness", log.trim()]),
    ] {
        insta::assert_snapshot!(format!("witness-{name}"), ledger.told(arguments));
    }
    server_that_is_silent(&ledger);
}

/// It is waited for ten seconds and no longer, and then the checkpoint is printed all the same.
fn server_that_is_silent(ledger: &Ledger) {
    let server = WitnessServer::start();
    server.behave(Manner::Silent);
    let config = format!(
        "store: {}\nledger:\n  witness:\n    - url: {}\n      key: {}\n",
        ledger.store().display(),
        server.url(),
        server.key()
    );
    let config = ledger.write("silent.yml", config);
    let begun = std::time::Instant::now();
    let output = ledger.run(&["--config", &config, "checkpoint", "--witness"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(begun.elapsed() < std::time::Duration::from_secs(25));
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("answerback.local/"));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot be reached"));
}
