//! Tests messages of a client: invalid, ambiguous and canceled ones.

use serde_json::{Value, json};

use crate::wrap::{Desk, meta, text};

#[test]
fn what_is_no_message_is_answered() {
    let desk = Desk::new();
    let mut client = desk.client(&["--no-record"]);
    for (line, code) in [
        ("nope", -32700),
        ("{}", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
    ] {
        client.say(line);
        assert_eq!(client.hear()["error"]["code"], code, "{line}");
    }
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    client.leave();
}

/// Duplicate members of a message. Everything else in it is a valid call.
pub(crate) const TWICE: [&str; 4] = [
    r#""jsonrpc":"2.0""#,
    r#""x":1,"x":1"#,
    r#""x":1,"\u0078":2"#,
    r#""params":{"name":"count","arguments":{"n":"many"}}"#,
];

/// Returns a request of this method with additional members.
pub(crate) fn with_members(method: &str, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"w","method":"{method}","params":{{"name":"count","arguments":{{"n":1}}}},{more}}}"#
    )
}

/// A message with a duplicate name is ambiguous. A client's is rejected; a server's is forwarded as written.
#[test]
fn a_message_in_which_a_name_stands_twice_is_refused_and_that_of_a_server_crosses() {
    let desk = Desk::new();
    let mut client = desk.client(&[]);
    for more in TWICE {
        for method in ["tools/call", "tools/list", "tasks/result"] {
            client.say(&with_members(method, more));
            let answer = client.hear();
            let said = (&answer["id"], &answer["error"]["code"]);
            assert_eq!(said, (&json!("w"), &json!(-32600)), "{method} {more}: {answer}");
        }
    }
    client.say(r#"{"jsonrpc":"2.0","method":"notifications/x","x":1,"x":2}"#);
    let answer = client.hear();
    assert_eq!(
        answer["error"]["message"],
        "'x' stands twice among the members of the message, and readers may take either value: send the message again \
         with each member once"
    );
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)));
    assert_eq!(desk.reached(), Vec::<Value>::new());
    // An unknown member is allowed once.
    client.say(&with_members("tools/call", r#""x":1,"y":{"x":1}"#));
    assert_eq!(text(&client.hear()), "1 kg");
    assert_eq!(desk.reached().len(), 1);
    client.say(&json!({"jsonrpc": "2.0", "id": "o", "method": "tools/call", "params": {"name": "odd", "arguments": {"how": "outside"}}}).to_string());
    let line = client.line();
    assert!(
        line.starts_with(r#"{"jsonrpc":"2.0","extra":1,"extra":2,"result":{"content""#),
        "{line}"
    );
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert!(meta(&answer, "receipt")["index"].is_u64(), "{line}");
    client.leave();
}

#[test]
fn a_cancelled_call_is_not_answered() {
    let desk = Desk::new();
    let mut client = desk.client(&[]);
    client.say(r#"{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"sleep","arguments":{"seconds":1}}}"#);
    client.say(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow"}}"#,
    );
    let answer = client.call("echo", json!({"text": "next"}));
    assert_eq!(text(&answer), "next");
    client.leave();
    desk.good(&["ledger", "verify"]);
}
