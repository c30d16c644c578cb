//! Tests secrets in a call that waits for a person: redacted wherever it is stored, and complete when it runs.
#![cfg(unix)]

use std::fs;

use serde_json::{Value, json};

use crate::prompt::at_a_terminal;
use crate::wrap::{Client, Desk, contains, meta, stub, text};

const SECRET: &str = "correct horse battery";
const MARK: &str = "[redacted: password]";

/// Makes a call in a conversation that outlives a connection.
fn log_in(client: &mut Client, user: &Value, password: &str) -> Value {
    let params = json!({
        "name": "log_in",
        "arguments": {"user": user, "password": password},
        "_meta": {"dev.answerback/conversation": "c"},
    });
    client.ask("tools/call", params)
}

/// Makes calls that fail until one is escalated, and returns the case.
fn escalate(desk: &Desk, client: &mut Client) -> String {
    for _ in 0..2 {
        assert_eq!(meta(&log_in(client, &json!(7), SECRET), "retry")["class"], "arguments");
    }
    assert_eq!(meta(&log_in(client, &json!(7), SECRET), "retry")["class"], "stop");
    let listed = desk.good(&["inbox", "list", "--format", "json"]);
    let case: Value = serde_json::from_str(listed.trim()).unwrap();
    case["case"]["id"].as_str().unwrap().to_owned()
}

/// Returns the content of all files in the folder of the store.
pub(crate) fn stored(desk: &Desk) -> Vec<u8> {
    let files = fs::read_dir(desk.path("state/answerback")).unwrap();
    let files = files.map(|file| file.unwrap().path()).filter(|file| file.is_file());
    files.flat_map(|file| fs::read(file).unwrap()).collect()
}

fn is_secret_kept(desk: &Desk) -> bool {
    contains(&stored(desk), SECRET.as_bytes())
}

/// True if the store contains a sealed original.
fn is_original_kept(desk: &Desk) -> bool {
    contains(&stored(desk), br#","original":""#)
}

/// Decides at a terminal.
pub(crate) fn decide(desk: &Desk, words: &[&str]) -> (i32, String) {
    let mut command = desk.command();
    command.arg("inbox").args(words);
    let (code, printed, shown) = at_a_terminal(command, "");
    (code, printed + &shown)
}

fn passwords(desk: &Desk) -> Vec<String> {
    let reached = desk.reached();
    let sent = reached.iter().map(|call| call["params"]["arguments"]["password"].as_str());
    sent.map(|password| password.unwrap().to_owned()).collect()
}

#[test]
fn a_mark_is_filled_in_from_the_original_and_only_there() {
    let desk = Desk::new();
    let mut client = desk.client(&[]);
    let case = escalate(&desk, &mut client);
    assert!(is_original_kept(&desk) && !is_secret_kept(&desk));
    let shown = desk.good(&["inbox", "show", &case]);
    assert!(shown.contains(MARK) && !shown.contains(SECRET), "{shown}");
    client.leave();

    // A mark without an original value is rejected with its place, and the case stays open.
    for (arguments, place) in [
        (json!({"user": MARK, "password": MARK}), "/user"),
        (json!({"user": "ada", "password": "[redacted: token]"}), "/password"),
    ] {
        let (code, told) = decide(&desk, &["modify", &case, &arguments.to_string()]);
        assert_eq!(code, 1, "{told}");
        assert!(told.contains(&format!("the mark at {place} cannot be filled in")), "{told}");
        assert!(told.contains("write the value itself"), "{told}");
    }
    assert!(is_original_kept(&desk));

    let corrected = json!({"user": "ada", "password": MARK}).to_string();
    let (code, told) = decide(&desk, &["modify", &case, &corrected]);
    assert_eq!(code, 0, "{told}");
    // The case is closed, and its original is removed.
    assert!(!is_original_kept(&desk) && !is_secret_kept(&desk));
    let shown = desk.good(&["inbox", "show", &case]);
    assert!(shown.contains(MARK) && !shown.contains(SECRET), "{shown}");

    // In another process with the same conversation, the model gets the correction, and its call runs with the secret.
    let mut client = desk.client(&[]);
    let answer = log_in(&mut client, &json!(7), "forgotten");
    assert!(text(&answer).contains(MARK) && text(&answer).contains("is filled in"), "{answer}");
    assert!(passwords(&desk).is_empty());
    let answer = log_in(&mut client, &json!("ada"), MARK);
    assert_eq!(text(&answer), "log_in ran", "{answer}");
    assert_eq!(passwords(&desk), [SECRET]);
    // The originals are used only once; after that a mark is plain text.
    log_in(&mut client, &json!("ada"), MARK);
    assert_eq!(passwords(&desk), [SECRET, MARK]);
    client.leave();
    assert!(!is_secret_kept(&desk));
    desk.good(&["ledger", "verify"]);
    // The ledger has the arguments that ran, redacted, with a commitment to the original.
    let leaves = desk.leaves();
    let ran = leaves.iter().find(|leaf| leaf["kind"] == "request").unwrap();
    let parts: Vec<&str> =
        ran["parts"].as_array().unwrap().iter().filter_map(|part| part["name"].as_str()).collect();
    assert_eq!(parts, ["seen", "sent", "sent.original"], "{ran}");
}

#[test]
fn what_a_person_writes_is_hidden_like_what_a_model_writes() {
    let desk = Desk::new();
    let mut client = desk.client(&[]);
    let case = escalate(&desk, &mut client);
    let corrected = json!({"user": "ada", "password": "another horse"}).to_string();
    let (code, told) = decide(&desk, &["modify", &case, &corrected]);
    assert_eq!(code, 0, "{told}");
    assert!(!contains(&stored(&desk), b"another horse"));
    log_in(&mut client, &json!("ada"), MARK);
    assert_eq!(passwords(&desk), ["another horse"]);
    client.leave();
    assert!(!contains(&stored(&desk), b"another horse"));
}

/// A value that only the tool's schema marks as secret is also redacted in a person's correction.
#[test]
fn what_the_schema_hides_is_hidden_in_a_correction() {
    let desk = Desk::new();
    let mut command = desk.command();
    command.env("STUB_MORE", "1").args(["wrap", "--name", "stub", "--", "python3"]).arg(stub());
    let mut client = Client::start(command);
    for _ in 0..3 {
        client.call("unlock", json!({"word": 7}));
    }
    let listed = desk.good(&["inbox", "list", "--format", "json"]);
    let case: Value = serde_json::from_str(listed.trim()).unwrap();
    let case = case["case"]["id"].as_str().unwrap();
    let (code, told) = decide(&desk, &["modify", case, r#"{"word": "swordfish"}"#]);
    assert_eq!(code, 0, "{told}");
    assert!(!contains(&stored(&desk), b"swordfish"));
    let answer = client.call("unlock", json!({"word": 7}));
    let told = text(&answer);
    assert!(told.contains("exactly these arguments.\n\n{\"word\":\"[redacted]\"}\n"), "{answer}");
    client.call("unlock", json!({"word": "[redacted]"}));
    assert_eq!(desk.reached()[0]["params"]["arguments"], json!({"word": "swordfish"}));
    client.leave();
    assert!(!contains(&stored(&desk), b"swordfish"));
}

#[test]
fn an_answer_at_the_client_is_filled_in_as_well() {
    for (arguments, expected) in [
        (json!({"user": "ada", "password": MARK}), vec![SECRET]),
        (json!({"user": MARK, "password": MARK}), vec![]),
    ] {
        let desk = Desk::new();
        let mut command = desk.command();
        command.args(["wrap", "--name", "stub", "--", "python3"]).arg(stub());
        let mut client = Client::start_with(command, json!({"elicitation": {}}));
        for _ in 0..2 {
            log_in(&mut client, &json!(7), SECRET);
        }
        client.say(&json!({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": {"name": "log_in",
            "arguments": {"user": 7, "password": SECRET}, "_meta": {"dev.answerback/conversation": "c"}}}).to_string());
        let question = client.hear();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        assert!(!question.to_string().contains(SECRET), "{question}");
        let content = json!({"decision": "correct", "arguments": arguments.to_string()});
        let result = json!({"action": "accept", "content": content});
        client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}).to_string());
        let answer = client.hear();
        assert_eq!(answer["id"], "w", "{answer}");
        assert_eq!(passwords(&desk), expected, "{answer}");
        let waits = text(&answer).contains("A person was asked: case");
        assert_eq!(waits, expected.is_empty(), "{answer}");
        client.leave();
        assert!(!is_secret_kept(&desk));
        desk.good(&["ledger", "verify"]);
    }
}
