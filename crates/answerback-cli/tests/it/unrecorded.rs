//! What happens when the record fails in the midst of a call, from outside: what the model is told, what the server
//! sees, and where it shows.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::gateway::{Gateway, Session, until};
use crate::wrap::{Client, Desk, meta, text};

fn server() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/breaking_server.py")
}

fn store(desk: &Desk) -> PathBuf {
    desk.path("state/answerback/ledger.db")
}

fn mend(desk: &Desk) {
    let mut command = Command::new("python3");
    assert!(command.arg(server()).arg("mend").arg(store(desk)).status().unwrap().success());
}

/// The configuration with what becomes of answers that could not be recorded.
fn config(on_failure: &str) -> String {
    let server = server();
    format!(
        "ledger: {{on_failure: {on_failure}}}\ngateway:\n  upstreams:\n    stub: {{command: python3, args: [{}]}}\n",
        server.display()
    )
}

fn wrapped(desk: &Desk, on_failure: &str) -> Client {
    let config = desk.config(&config(on_failure));
    let mut command = desk.command();
    command.args(["wrap", "--name", "stub", "--config", &config, "--store"]).arg(store(desk));
    command.args(["--", "python3"]).arg(server());
    Client::start(command)
}

fn break_store(desk: &Desk, how: &str) -> Value {
    json!({"store": store(desk), "how": how})
}

/// The tools that the server was asked for.
fn ran(desk: &Desk) -> Vec<String> {
    let name = |call: &Value| call["params"]["name"].as_str().unwrap().to_owned();
    desk.reached().iter().map(name).collect()
}

/// The model is told that the tool ran, that its result is withheld, and not to repeat it.
fn assert_withheld(answer: &Value) {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let told = text(answer);
    for words in
        ["'break_store' ran", "could not be recorded and is withheld", "Do not repeat the call"]
    {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!told.contains("it took effect"), "{told}");
    let retry = meta(answer, "retry");
    assert_eq!(
        (&retry["class"], &retry["retryable"], &retry["code"]),
        (&json!("stop"), &json!(false), &json!("NOT_RECORDED")),
        "{answer}"
    );
    assert!(meta(answer, "receipt").is_null(), "{answer}");
}

/// The model is told that the tool did not run, and that it may try again later.
fn assert_not_run(answer: &Value) {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let told = text(answer);
    for words in ["'echo' was not run", "could not be recorded", "try again later"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let retry = meta(answer, "retry");
    assert_eq!(
        (&retry["class"], &retry["retryable"], &retry["code"]),
        (&json!("wait"), &json!(true), &json!("NOT_RECORDED")),
        "{answer}"
    );
}

/// The result crosses, and says of itself that there is no record of it.
fn assert_unrecorded(answer: &Value, said: &str) {
    assert_eq!((text(answer), answer["result"].get("isError")), (said, None), "{answer}");
    assert!(meta(answer, "receipt").is_null(), "{answer}");
}

/// The kinds of entries about calls.
fn calls(desk: &Desk) -> Vec<String> {
    let kind = |leaf: &Value| leaf["kind"].as_str().unwrap().to_owned();
    desk.leaves().iter().map(kind).filter(|kind| kind != "config").collect()
}

fn assert_logged(said: &str, lines: &[&str]) {
    for line in lines {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn a_closed_gateway_withholds_what_it_cannot_record() {
    let desk = Desk::new();
    let mut client = wrapped(&desk, "closed");
    assert_withheld(&client.call("break_store", break_store(&desk, "full")));
    assert_not_run(&client.call("echo", json!({"text": "a"})));
    assert_eq!(ran(&desk), ["break_store"], "what is not recorded does not run");
    mend(&desk);
    // Calls are taken again by themselves, and what was not recorded stays an open request.
    let mut answer = Value::Null;
    for _ in 0..600 {
        answer = client.call("echo", json!({"text": "b"}));
        if text(&answer) == "b" {
            break;
        }
        assert_not_run(&answer);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(meta(&answer, "receipt")["index"].is_u64(), "{answer}");
    let (code, said) = client.leave();
    assert_eq!(code, 0, "{said}");
    assert_eq!(calls(&desk), ["request", "request", "response"]);
    desk.good(&["ledger", "verify"]);
    let told =
        ["a result is withheld", "a call was not run", "the store cannot be written", "no room"];
    assert_logged(&said, &told);
}

#[test]
fn an_open_gateway_goes_on_and_says_so() {
    let desk = Desk::new();
    let mut client = wrapped(&desk, "open");
    assert_unrecorded(&client.call("break_store", break_store(&desk, "full")), "it took effect");
    let answer = client.call("echo", json!({"text": "a"}));
    assert_unrecorded(&answer, "a");
    let warnings = &meta(&answer, "envelope")["warnings"];
    assert_eq!(warnings[0]["code"], "NOT_RECORDED", "{answer}");
    // A call that is wrong is answered back all the same.
    let wrong = client.call("echo", json!({"text": 1}));
    assert_eq!(meta(&wrong, "retry")["class"], "arguments", "{wrong}");
    assert_eq!(ran(&desk), ["break_store", "echo"]);
    mend(&desk);
    let (code, said) = client.leave();
    assert_eq!(code, 0, "{said}");
    assert_logged(&said, &["a reply goes on without a record", "no room"]);
    desk.good(&["ledger", "verify"]);
}

#[test]
fn a_server_that_cannot_record_shows_it() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &config("closed"), &[]);
    let ready = || gateway.send("GET", "/readyz", &[("Authorization", "")], "");
    let mut client = Session::begin(&gateway, "/mcp");
    assert_eq!(ready().status, 200);
    assert_eq!(gateway.figure("answerback_store_healthy"), Some(1.0));
    assert_withheld(&client.call("break_store", break_store(&desk, "full")));
    assert_not_run(&client.call("echo", json!({"text": "a"})));
    assert_eq!(ran(&desk), ["break_store"]);
    let told = ready();
    assert_eq!((told.status, &told.last()["parts"]["record"]["ready"]), (503, &json!(false)));
    // Whoever can reach the server reads it: no word of what is in the store.
    let reason = &told.last()["parts"]["record"]["reason"];
    assert_eq!(reason, "the store cannot be written; the log says why");
    for (series, expected) in [
        ("answerback_store_healthy", 0.0),
        ("answerback_store_withheld_total", 2.0),
        ("answerback_store_unrecorded_total", 0.0),
    ] {
        assert_eq!(gateway.figure(series), Some(expected), "{series}\n{}", gateway.metrics());
    }
    assert!(gateway.figure("answerback_store_poisonings_total") >= Some(1.0));
    mend(&desk);
    // Nobody calls while it is not ready: it finds out by itself that it is well.
    assert!(until(|| ready().status == 200), "{:?}", ready().events);
    assert_eq!(gateway.figure("answerback_store_healthy"), Some(1.0));
    let answer = client.call("echo", json!({"text": "b"}));
    assert!(meta(&answer, "receipt")["index"].is_u64(), "{answer}");
    let (code, said) = gateway.stop();
    assert_eq!(code, 0, "{said:?}");
    assert_logged(&said.join("\n"), &["the store cannot be written", "the store is written again"]);
    desk.good(&["ledger", "verify"]);
}

#[test]
fn an_open_server_counts_what_it_did_not_record() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &config("open"), &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    assert_unrecorded(&client.call("break_store", break_store(&desk, "full")), "it took effect");
    assert_unrecorded(&client.call("echo", json!({"text": "a"})), "a");
    assert_eq!(ran(&desk), ["break_store", "echo"]);
    // The first result; the second request and its result.
    assert_eq!(gateway.figure("answerback_store_unrecorded_total"), Some(3.0));
    assert_eq!(gateway.figure("answerback_store_withheld_total"), Some(0.0));
    assert_eq!(gateway.send("GET", "/readyz", &[("Authorization", "")], "").status, 503);
    mend(&desk);
    let (code, said) = gateway.stop();
    assert_eq!(code, 0, "{said:?}");
    assert_logged(&said.join("\n"), &["a reply goes on without a record"]);
}

#[test]
fn a_store_that_another_process_keeps_locked_is_not_ready() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &config("closed"), &[]);
    let ready = || gateway.send("GET", "/readyz", &[("Authorization", "")], "");
    let mut client = Session::begin(&gateway, "/mcp");
    assert_withheld(&client.call("break_store", break_store(&desk, "locked")));
    let reason = ready().last()["parts"]["record"]["reason"].clone();
    assert_eq!(reason, "another process keeps the store locked");
    assert!(gateway.figure("answerback_store_lock_timeouts_total") >= Some(1.0));
    // The lock goes with the server that has it, and that goes with its client.
    assert_eq!(client.send("DELETE", "").status, 200);
    assert!(until(|| ready().status == 200), "{:?}", ready().events);
    let mut client = Session::begin(&gateway, "/mcp");
    let answer = client.call("echo", json!({"text": "b"}));
    assert!(meta(&answer, "receipt")["index"].is_u64(), "{answer}");
}
