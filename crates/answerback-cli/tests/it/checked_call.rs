//! Tests `POST /api/calls/check`, and with a conversation the attempts that are counted in the store and the
//! escalation.

use std::fs;

use serde_json::{Value, json};

use crate::gateway::{Gateway, Session};
use crate::original::{decide as at_the_desk, stored};
use crate::serve::{one_stub, two_stubs};
use crate::wrap::{Desk, contains, meta};

const SECRET: &str = "correct horse battery";
const MARK: &str = "[redacted: password]";
const TOKENS: &str = "  tokens:\n    desk: {scopes: [read, decide], file: desk.token}\n    other: {scopes: [call, read, ingest], file: other.token}\n    reader: {scopes: [read], file: reader.token}\n";

fn start(desk: &Desk) -> Gateway {
    Gateway::start(desk, &format!("{}{TOKENS}", one_stub()), &[])
}

fn bearer(desk: &Desk, name: &str) -> String {
    let token = fs::read_to_string(desk.path(&format!("{name}.token"))).unwrap();
    format!("Bearer {}", token.trim())
}

/// Returns a call of a tool that no server has, as an external program would have it checked.
fn line(arguments: &Value) -> Value {
    let schema = json!({
        "type": "object",
        "properties": {"user": {"type": "string"}, "password": {"type": "string"}, "word": {"writeOnly": true}},
        "required": ["user", "password"],
    });
    json!({"id": "a", "tool": "log_in", "arguments": arguments, "schema": schema, "conversation": "c"})
}

fn check(gateway: &Gateway, line: &Value) -> Value {
    let answer = gateway.send("POST", "/api/calls/check", &[], &line.to_string());
    assert_eq!(answer.status, 200, "{:?}", answer.events);
    answer.last().clone()
}

fn wrong() -> Value {
    line(&json!({"user": 7, "password": SECRET, "word": "xyzzy"}))
}

/// Checks an invalid call until it is escalated, and returns the case.
fn escalate(gateway: &Gateway) -> Value {
    for attempt in 1..=2 {
        let told = check(gateway, &wrong());
        assert_eq!(
            (&told["status"], &told["attempt"]),
            (&json!("retry"), &json!(attempt)),
            "{told}"
        );
    }
    let told = check(gateway, &wrong());
    assert_eq!((&told["status"], &told["attempt"]), (&json!("blocked"), &json!(3)), "{told}");
    let id = told["escalation"]["id"].as_str().unwrap();
    let content = told["result"]["content"].as_str().unwrap();
    assert!(content.contains(&format!("Case {id} waits for a person")), "{told}");
    let shown = gateway.send("GET", &format!("/api/cases/{id}"), &[], "");
    assert_eq!(shown.status, 200, "{:?}", shown.events);
    shown.last().clone()
}

fn path(case: &Value) -> String {
    format!("/api/cases/{}", case["case"]["id"].as_str().unwrap())
}

fn decide(desk: &Desk, gateway: &Gateway, case: &Value, mut decision: Value) {
    decision["digest"] = case["case"]["digest"].clone();
    decision["revision"] = case["case"]["revision"].clone();
    let headers = [("Authorization", bearer(desk, "desk"))];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let path = format!("{}/decision", path(case));
    let decided = gateway.send("POST", &path, &headers, &decision.to_string());
    assert_eq!(decided.status, 201, "{:?}", decided.events);
}

#[test]
fn attempts_are_counted_in_the_store_by_all_who_serve_it() {
    let desk = Desk::new();
    let (one, other) = (start(&desk), start(&desk));
    assert_eq!(check(&one, &wrong())["attempt"], 1);
    assert_eq!(check(&other, &wrong())["attempt"], 2);
    // Another conversation, tool or token has its own count. Without a conversation nothing is counted.
    let mut apart = wrong();
    apart["conversation"] = "d".into();
    assert_eq!(check(&one, &apart)["attempt"], 1);
    apart["conversation"] = "c".into();
    apart["tool"] = "log_out".into();
    assert_eq!(check(&one, &apart)["attempt"], 1);
    let bearer = bearer(&desk, "other");
    let headers = [("Authorization", bearer.as_str())];
    let others = one.send("POST", "/api/calls/check", &headers, &wrong().to_string());
    assert_eq!(others.last()["attempt"], 1);
    let mut alone = wrong();
    alone.as_object_mut().unwrap().remove("conversation");
    assert_eq!(check(&one, &alone)["attempt"], 1);
    drop((one, other));
    let again = start(&desk);
    let told = check(&again, &wrong());
    assert_eq!((&told["status"], &told["attempt"]), (&json!("blocked"), &json!(3)), "{told}");
    // Every counted attempt is in the ledger, without the secrets.
    let leaves = desk.leaves();
    let checked: Vec<&Value> =
        leaves.iter().filter(|leaf| leaf["upstream"] == "api/calls/check").collect();
    let outcomes: Vec<&Value> = checked
        .iter()
        .filter(|leaf| leaf["kind"] == "validation")
        .map(|leaf| &leaf["outcome"])
        .collect();
    assert_eq!(outcomes, ["retry", "retry", "retry", "retry", "retry", "blocked"]);
    let asked: Vec<_> = checked.iter().filter(|leaf| leaf["kind"] == "escalation").collect();
    assert_eq!((asked.len(), &asked[0]["principal"]), (1, &json!("local")), "{asked:?}");
    assert!(!contains(&stored(&desk), SECRET.as_bytes()) && !contains(&stored(&desk), b"xyzzy"));
    desk.good(&["ledger", "verify"]);
}

#[test]
fn calls_of_the_gateway_are_counted_apart() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &two_stubs(), &[]);
    let mut session = Session::begin(&gateway, "/mcp");
    session.ask("tools/list", json!({}));
    let called = json!({"name": "count", "arguments": {"n": 0}, "_meta": {"dev.answerback/conversation": "c"}});
    let answer = session.ask("tools/call", called);
    assert_eq!(meta(&answer, "retry")["attempt"], 1, "{answer}");
    // Two servers with a tool of the same name have separate counts.
    for tool in ["count", "two_count"] {
        let line = json!({"tool": tool, "arguments": {"n": 0}, "conversation": "c"});
        assert_eq!(check(&gateway, &line)["attempt"], 1, "{tool}");
    }
}

#[test]
fn what_is_approved_passes_once() {
    let desk = Desk::new();
    let gateway = start(&desk);
    let case = escalate(&gateway);
    // Invalid calls stay blocked until the decision.
    let told = check(&gateway, &wrong());
    assert_eq!((&told["status"], &told["valid"]), (&json!("blocked"), &json!(false)), "{told}");
    decide(&desk, &gateway, &case, json!({"decision": "approve"}));
    let told = check(&gateway, &wrong());
    assert_eq!(
        (&told["status"], &told["valid"], &told["waived"], &told["result"]),
        (&json!("ok"), &json!(true), &json!(true), &Value::Null),
        "{told}"
    );
    assert_eq!(told["errors"][0]["severity"], "warning", "{told}");
    let told = check(&gateway, &wrong());
    assert_eq!((&told["status"], &told["attempt"]), (&json!("retry"), &json!(1)), "{told}");
    assert_eq!(told.get("waived"), None, "{told}");
    let outcomes: Vec<_> = desk.leaves().iter().map(|leaf| leaf["outcome"].clone()).collect();
    assert!(outcomes.contains(&json!("waived")), "{outcomes:?}");
    desk.good(&["ledger", "verify"]);
}

/// The caller that asked gets the corrected arguments unredacted: once with the next check, and from the case until the
/// decision is acknowledged.
#[test]
fn what_is_corrected_is_given_once_and_whole_to_who_asked() {
    let desk = Desk::new();
    let gateway = start(&desk);
    let case = escalate(&gateway);
    let shown = case.to_string();
    assert!(shown.contains(MARK) && !shown.contains(SECRET) && !shown.contains("xyzzy"), "{shown}");
    let corrected = json!({"user": "ada", "password": MARK, "word": "[redacted]"});
    decide(&desk, &gateway, &case, json!({"decision": "modify", "arguments": corrected}));
    let whole = json!({"user": "ada", "password": SECRET, "word": "xyzzy"});
    let waited = format!("{}/decision?wait=5", path(&case));
    let heard = |name: Option<&str>| {
        let bearer = name.map(|name| bearer(&desk, name));
        let headers = bearer.iter().map(|it| ("Authorization", it.as_str())).collect::<Vec<_>>();
        let told = gateway.send("GET", &waited, &headers, "").last().clone();
        told["case"]["state"]["submission"]["arguments"].clone()
    };
    assert_eq!(heard(None), whole);
    assert_eq!(heard(Some("other")), corrected, "another token is told what is recorded");
    // Calls of another token are not affected, even with the same conversation.
    let bearer = bearer(&desk, "other");
    let headers = [("Authorization", bearer.as_str())];
    let others = gateway.send("POST", "/api/calls/check", &headers, &wrong().to_string());
    assert_eq!((&others.last()["attempt"], others.last().get("arguments")), (&json!(1), None));
    let told = check(&gateway, &wrong());
    assert_eq!(
        (&told["status"], &told["valid"], &told["arguments"]),
        (&json!("ok"), &json!(true), &whole),
        "{told}"
    );
    let told = check(&gateway, &wrong());
    assert_eq!((&told["status"], &told["attempt"]), (&json!("retry"), &json!(1)), "{told}");
    assert_eq!(told.get("arguments"), None, "{told}");
    let seen = gateway.send("POST", &format!("{}/acknowledgement", path(&case)), &[], "{}");
    assert_eq!(seen.status, 201, "{:?}", seen.events);
    assert_eq!(heard(None), corrected, "who has heard needs it no more");
    assert!(!contains(&stored(&desk), SECRET.as_bytes()));
    desk.good(&["ledger", "verify"]);
}

/// Redaction marks in a call are filled in with the original values. A call that the model fixed by itself is checked
/// as it is.
#[test]
fn a_call_that_fits_by_itself_is_judged_as_it_is() {
    for (arguments, expected) in [
        (
            json!({"user": "ada", "password": MARK}),
            Some(json!({"user": "ada", "password": SECRET})),
        ),
        (json!({"user": "bob", "password": "another horse"}), None),
    ] {
        let desk = Desk::new();
        let gateway = start(&desk);
        let case = escalate(&gateway);
        let corrected = json!({"user": "ada", "password": MARK});
        decide(&desk, &gateway, &case, json!({"decision": "modify", "arguments": corrected}));
        let told = check(&gateway, &line(&arguments));
        assert_eq!((&told["status"], told.get("arguments")), (&json!("ok"), expected.as_ref()));
        let guidance = told["guidance"].as_str().unwrap_or_default();
        assert_eq!(guidance.contains("A person had corrected"), expected.is_none(), "{told}");
        let told = check(&gateway, &wrong());
        assert_eq!((&told["attempt"], told.get("arguments")), (&json!(1), None), "{told}");
    }
}

/// A duplicate name is ambiguous, so the correction is rejected.
#[test]
fn a_correction_with_a_repeated_name_is_refused() {
    let desk = Desk::new();
    let gateway = start(&desk);
    let case = escalate(&gateway);
    let (digest, revision) = (&case["case"]["digest"], &case["case"]["revision"]);
    let twice = r#"{"user":"ada","user":"bob","password":"a horse"}"#;
    let body = format!(
        r#"{{"decision":"modify","arguments":{twice},"digest":{digest},"revision":{revision}}}"#
    );
    let bearer = bearer(&desk, "desk");
    let headers = [("Authorization", bearer.as_str())];
    let refused = gateway.send("POST", &format!("{}/decision", path(&case)), &headers, &body);
    assert_eq!(refused.status, 400, "{:?}", refused.events);
    assert!(refused.last().to_string().contains("/arguments/user occurs twice"));
    let id = case["case"]["id"].as_str().unwrap();
    let (code, said) = at_the_desk(&desk, &["modify", id, twice]);
    assert_ne!(code, 0, "{said}");
    assert!(
        said.contains("/user occurs twice in the corrected arguments; remove one of the two"),
        "{said}"
    );
    assert_eq!(check(&gateway, &wrong())["status"], "blocked");
}

/// A correction applies to a call that it fits. A call with another schema does not use it up.
#[test]
fn a_correction_waits_for_a_call_that_it_fits() {
    let desk = Desk::new();
    let gateway = start(&desk);
    let case = escalate(&gateway);
    let corrected = json!({"user": "ada", "password": MARK});
    decide(&desk, &gateway, &case, json!({"decision": "modify", "arguments": corrected}));
    let mut another = wrong();
    another["schema"]["required"] = json!(["user", "password", "realm"]);
    let told = check(&gateway, &another);
    assert_eq!((&told["status"], told.get("arguments")), (&json!("retry"), None), "{told}");
    let told = check(&gateway, &wrong());
    let whole = json!({"user": "ada", "password": SECRET});
    assert_eq!((&told["status"], &told["arguments"]), (&json!("ok"), &whole), "{told}");
    let told = check(&gateway, &wrong());
    assert_eq!((&told["status"], told.get("arguments")), (&json!("retry"), None), "{told}");
    desk.good(&["ledger", "verify"]);
}

#[test]
fn words_are_told_once_and_a_rejection_stops() {
    let desk = Desk::new();
    let gateway = start(&desk);
    let case = escalate(&gateway);
    let answer = json!({"decision": "respond", "message": "the user is a name"});
    decide(&desk, &gateway, &case, answer);
    let told = check(&gateway, &wrong());
    let content = told["result"]["content"].as_str().unwrap();
    assert!(content.starts_with("A person answered: the user is a name"), "{told}");
    let good = line(&json!({"user": "ada", "password": SECRET}));
    let told = check(&gateway, &good);
    assert_eq!((&told["status"], told.get("guidance")), (&json!("ok"), None), "{told}");
    // A call that is valid at once still gets the person's guidance.
    let case = escalate(&gateway);
    decide(&desk, &gateway, &case, json!({"decision": "respond", "message": "well done"}));
    assert_eq!(check(&gateway, &good)["guidance"], "well done");
    let case = escalate(&gateway);
    decide(&desk, &gateway, &case, json!({"decision": "reject", "reason": "not today"}));
    let told = check(&gateway, &good);
    assert_eq!(told["status"], "blocked", "{told}");
    assert!(told["result"]["content"].as_str().unwrap().contains("not today"), "{told}");
}

#[test]
fn who_may_only_read_has_nothing_counted() {
    let desk = Desk::new();
    let gateway = start(&desk);
    let bearer = bearer(&desk, "reader");
    let headers = [("Authorization", bearer.as_str())];
    let refused = gateway.send("POST", "/api/calls/check", &headers, &wrong().to_string());
    assert_eq!((refused.status, &refused.last()["data"]["code"]), (403, &json!("FORBIDDEN")));
    let mut alone = wrong();
    alone.as_object_mut().unwrap().remove("conversation");
    let told = gateway.send("POST", "/api/calls/check", &headers, &alone.to_string());
    assert_eq!((told.status, &told.last()["attempt"]), (200, &json!(1)));
    assert_eq!(check(&gateway, &wrong())["attempt"], 1);
}

#[test]
fn any_program_can_have_a_call_judged() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &one_stub(), &["--no-record"]);
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let check = |line: Value| gateway.send("POST", "/api/calls/check", &[], &line.to_string());
    let answer = check(json!({"id": "a", "tool": "t", "arguments": {"n": "x"}, "schema": schema}));
    assert_eq!(
        (answer.status, &answer.last()["status"]),
        (200, &json!("retry")),
        "{:?}",
        answer.events
    );
    let counted =
        json!({"id": "a", "tool": "t", "arguments": {}, "schema": schema, "conversation": "c"});
    check(counted.clone());
    assert_eq!(check(counted).last()["attempt"], 2);
    let broken = check(json!({"tool": 1}));
    assert_eq!(broken.status, 400);
    assert_eq!(broken.last()["data"]["code"], "INVALID_PARAMETER", "{:?}", broken.events);
}

/// If several servers share an endpoint, a tool is checked against the schema of the server that its name belongs to.
#[test]
fn a_call_is_judged_by_the_server_that_its_name_means() {
    let desk = Desk::new();
    let config = two_stubs().replace("STUB_PAGE: \"3\"", "STUB_HEADER: \"1\"");
    let gateway = Gateway::start(&desk, &config, &[]);
    let check = |tool: &str| {
        let line = json!({"id": "a", "tool": tool, "arguments": {"n": 1, "unit": "stone"}});
        gateway.send("POST", "/api/calls/check", &[], &line.to_string()).last().clone()
    };
    // The second server accepts any unit, the first only two.
    Session::begin(&gateway, "/mcp/two").ask("tools/list", json!({}));
    Session::begin(&gateway, "/mcp").ask("tools/list", json!({}));
    let prefixed = check("two_count");
    assert_eq!(
        (&prefixed["valid"], &prefixed["tool"]),
        (&json!(true), &json!("two_count")),
        "{prefixed}"
    );
    let bare = check("count");
    assert_eq!(
        (&bare["valid"], &bare["errors"][0]["error_code"]),
        (&json!(false), &json!("VAL-008")),
        "{bare}"
    );
    assert_eq!(check("three_count")["errors"][0]["error_code"], "VAL-008");
    drop(gateway);
    // After a restart the names keep their meaning, even before a client lists all tools.
    let gateway = Gateway::start(&desk, &config, &[]);
    for path in ["/mcp/two", "/mcp/one"] {
        Session::begin(&gateway, path).call("echo", json!({"text": "a"}));
    }
    let line = json!({"id": "a", "tool": "two_count", "arguments": {"n": 1, "unit": "stone"}});
    let judged = gateway.send("POST", "/api/calls/check", &[], &line.to_string());
    assert_eq!(judged.last()["valid"], true, "{:?}", judged.events);
}

/// A name belongs to its server, even while another server is the only one available.
#[test]
fn a_tool_whose_server_is_missing_is_not_judged_by_another_one() {
    let desk = Desk::new();
    // The second server accepts any unit, the first only two.
    let config = two_stubs().replace("STUB_PAGE: \"3\"", "STUB_HEADER: \"1\"");
    let gateway = Gateway::start(&desk, &config, &[]);
    Session::begin(&gateway, "/mcp").ask("tools/list", json!({}));
    drop(gateway);
    let missing = config.replacen("one: {command: python3", "one: {command: no-such-program", 1);
    let names = desk.path("state/answerback/pins/names.json");
    assert!(names.is_file());
    for has_names in [true, false] {
        if !has_names {
            // The pinned tool definitions contain the names, too.
            fs::remove_file(&names).unwrap();
        }
        let gateway = Gateway::start(&desk, &missing, &[]);
        Session::begin(&gateway, "/mcp/two").call("echo", json!({"text": "a"}));
        let line = |tool: &str| {
            let line = json!({"id": "a", "tool": tool, "arguments": {"n": 1, "unit": "stone"}});
            gateway.send("POST", "/api/calls/check", &[], &line.to_string())
        };
        let told = line("count");
        let problem = &told.last()["data"];
        assert_eq!((told.status, &problem["code"]), (503, &json!("TOOLS_UNKNOWN")), "{problem}");
        let details = &problem["details"];
        assert_eq!((&details["server"], &details["class"]), (&json!("one"), &json!("wait")));
        let judged = line("two_count");
        assert_eq!((judged.status, &judged.last()["valid"]), (200, &json!(true)));
    }
}
