//! Tests that the cost of a search grows linearly with the text, for any text.
//!
//! They count steps instead of time, so that a test gives the same result on every machine.

use proptest::prelude::*;
use serde_json::json;

use super::tests::steps_of;
use super::{makes, redact, redact_pointer, scan};
use crate::Timestamp;
use crate::config::ValidationConfig;
use crate::finding::Preview;
use crate::json::Limits;
use crate::judge::{CallLine, Catalogue, judge};
use crate::retry::RetryTracker;

/// Returns pieces of text that the search handles specially: symbols, brackets, escapes and the beginnings of
/// secrets.
fn pieces() -> Vec<String> {
    let known = [
        "$",
        "$2b$",
        "$argon2",
        "$6$",
        "=",
        "==",
        ":",
        "://",
        "a://",
        "a://b:",
        "a://b:c",
        "a://@",
        "@",
        "@a",
        "%3A%2F%2F",
        "a%3A%2F%2Fb%3A",
        "%40",
        "?",
        "&",
        "#",
        "/",
        "//",
        ".",
        ",",
        ";",
        "|",
        "\\",
        "\\\\",
        "\"",
        "\\\"",
        "'",
        "\\'",
        "\\\\\\\"",
        "`",
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        "<",
        ">",
        "</",
        "*",
        "-",
        "--",
        "-----BEGIN ",
        "-----BEGIN a-----",
        "-----BEGIN PRIVATE KEY-----",
        "-----END ",
        "-----END a-----",
        "-p",
        "-p ",
        "-u ",
        "-u a:",
        "--user ",
        "--password ",
        "--password\",\"",
        "net user ",
        "net user a ",
        "ConvertTo-SecureString ",
        "ConvertTo-SecureString '",
        "NetworkCredential(",
        "NetworkCredential('a','",
        "1/1200000000000000:",
        "pwd",
        "pwd=",
        "pwd=$",
        "pwd=\"$",
        "pwd='$",
        "pwd=\\\"$",
        "\"pwd\":",
        "\"pwd\":[",
        "\"pwd\":{",
        "\"pin\":[]",
        "{\"pin\":",
        ",pin:",
        "password ",
        "password is ",
        "password: ",
        "password: a",
        "password = ",
        "password,",
        "password,a\n",
        "a,b\n",
        "|password|\n",
        "(password)",
        "(a,password) values (",
        "(password) values ('a'),('b'),",
        "'a',",
        "token ",
        "token=",
        "api key ",
        "key ",
        "key=",
        "auth=",
        "Unseal Key 1: ",
        "login a password ",
        "identified by '",
        " by '",
        "Bearer ",
        "Basic ",
        "Basic aaaa",
        "Authorization: ",
        "Cookie: ",
        "set('password','",
        "('token', '",
        "\"name\":\"pwd\",",
        "\"name\":\"pwd\",\"value\":",
        "\"value\":\"a\",",
        "name: password\n",
        "<password>",
        "<password>$",
        "arn:",
        "thin:",
        "thin:a/b@",
        "h:5432:d:u:",
        "*:*:*:a:",
        ":a",
        "mysql ",
        "docker login ",
        "sha256-",
        "md5=",
        "h1:",
        ";base64,",
        "/9j/",
        "iVBORw0KGgoAAAANSUhEUg",
        "AAAAAAAAAAAAAAAAAAAAAAAA\n",
        "ssh-rsa AAAAB3NzaC1yc2E",
        "https://hooks.slack.com/services/",
        "https://api.telegram.org/bot1:",
        "[redacted",
        "[redacted: token]",
        "Zk3vN8qLw2Tx9RbY5sJm7cPd4HfGa1Ue",
        "0123456789abcdef",
        "abc",
        "A1",
        "é",
        "\u{200b}",
        " ",
        "  ",
        "\t",
        "\n",
        "\r\n",
        "\\n",
    ];
    makes::prefixes().chain(known).map(str::to_owned).collect()
}

/// Checks that four times as many repetitions of a unit take at most five times as many steps.
fn grows_linearly(unit: &str, search: impl Fn(&str)) -> Result<(), String> {
    const BYTES: usize = 2 << 10;
    let times = BYTES / unit.len().max(1) + 1;
    let (once, often) = (unit.repeat(times), unit.repeat(4 * times));
    let (small, large) = (steps_of(|| search(&once)), steps_of(|| search(&often)));
    // The constant cost of any text does not count.
    if large <= 5 * (small + 64) {
        Ok(())
    } else {
        Err(format!("{unit:?}: {small} steps, then {large}"))
    }
}

fn search(text: &str) {
    scan::find(text);
}

#[test]
fn every_known_piece_is_searched_in_linear_time() {
    let slow: Vec<String> =
        pieces().iter().filter_map(|piece| grows_linearly(piece, search).err()).collect();
    assert!(slow.is_empty(), "{slow:#?}");
}

#[test]
fn no_known_piece_uses_up_the_budget() {
    for piece in pieces() {
        let text = piece.repeat((16 << 10) / piece.len());
        let unsearched =
            scan::find(&text).into_iter().find(|found| found.kind == super::SecretKind::Unsearched);
        assert_eq!(unsearched, None, "{piece:?}");
    }
}

#[test]
fn a_long_run_of_one_prefix_costs_a_few_steps_for_each_byte() {
    for unit in ["sk-", "$", "pwd=$", "hf_", "a://", "$2b$"] {
        let text = unit.repeat((256 << 10) / unit.len());
        let steps = steps_of(|| search(&text));
        assert!(steps <= 64 * text.len(), "{unit:?}: {steps} steps for {} bytes", text.len());
    }
}

#[test]
fn a_preview_and_a_pointer_cost_what_their_text_does() {
    for piece in pieces() {
        grows_linearly(&piece, |text| drop(Preview::new().show_text(text))).unwrap();
        grows_linearly(&format!("{piece}/"), |text| drop(redact_pointer(text))).unwrap();
        grows_linearly(&piece, |text| drop(redact(text))).unwrap();
    }
}

/// Runs all searches for one call, from its arguments to its output line.
fn answer(arguments: &serde_json::Value) {
    let leaf = json!({"type": "object", "properties": {"leaf": {"type": "integer"}}, "additionalProperties": false});
    let schema = json!({
        "type": "object",
        "properties": {
            "count": {"type": "integer"}, "mode": {"enum": ["read", "write"]}, "short": {"type": "string", "maxLength": 3},
            "list": {"type": "array", "items": {"type": "integer"}}, "either": {"anyOf": [{"type": "integer"}, leaf]},
        },
        "required": ["needed"],
        "additionalProperties": false,
    });
    let config = ValidationConfig::default();
    let catalogue = Catalogue::read(&json!([{"name": "tool", "inputSchema": schema}])).unwrap();
    let tracker = RetryTracker::new(&config);
    for attempt in 0..3 {
        let line =
            json!({"id": attempt, "tool": "tool", "arguments": arguments, "conversation": "c"});
        let line = CallLine::read(line.to_string().as_bytes(), Limits::default()).unwrap();
        let judged = judge(&catalogue, line, &config, Limits::default());
        let now = Timestamp::from_unix_millis(1_800_000_000_000);
        let outcome = judged.track(&tracker, now, [7; 10]);
        serde_json::to_string(&judged.answer(outcome)).unwrap();
    }
}

#[test]
fn the_way_of_a_call_costs_what_its_arguments_do() {
    for piece in pieces().iter().step_by(12) {
        let places: [&dyn Fn(&str) -> serde_json::Value; 4] = [
            &|text| json!({"count": text, "mode": text, "short": text, "either": text}),
            &|text| json!({text: 1, "list": [text, text]}),
            &|text| json!(text),
            &|text| json!({"other": {"name": "DB_PASSWORD", "value": text}, "count": {"deep": [text]}}),
        ];
        for place in places {
            grows_linearly(piece, |text| answer(&place(text))).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_row_of_pieces_is_searched_in_linear_time(
        unit in prop::collection::vec(prop_oneof![
            4 => prop::sample::select(pieces()),
            1 => "[ -~]{1,12}",
        ], 1..5),
    ) {
        prop_assert_eq!(grows_linearly(&unit.concat(), search), Ok(()));
    }

    #[test]
    fn a_beginning_that_differs_changes_nothing(
        start in prop::sample::select(pieces()),
        unit in prop::collection::vec(prop::sample::select(pieces()), 1..4),
    ) {
        let unit = unit.concat();
        prop_assert_eq!(grows_linearly(&unit, |text| search(&format!("{start}{text}"))), Ok(()));
    }
}
