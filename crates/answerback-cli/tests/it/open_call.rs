//! Tests decisions about a call that is still open: at its client, in the inbox, or both.

use std::io::Read as _;
use std::path::Path;
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use crate::gateway::{Gateway, MODERN, PATIENCE, Session, json_of, stateless, until};
use crate::original::decide;
use crate::person::Person;
use crate::resumed::{POLLING, Stream};
use crate::serve::{one_stub, two_stubs};
use crate::wrap::{Client, Desk, meta, stub, text};

const WRONG: &str = r#"{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"count","arguments":{"n":0}}}"#;

/// Starts a client with elicitation. The stub also logs the responses that reach it.
fn client(desk: &Desk) -> Client {
    let mut command = desk.command();
    command.env("STUB_ANSWERS", "1");
    command.args(["wrap", "--name", "stub", "--", "python3"]).arg(stub());
    Client::start_with(command, json!({"elicitation": {}}))
}

/// Returns a client whose last call waits for its user, and the form.
fn asked(desk: &Desk) -> (Client, Value) {
    let mut client = client(desk);
    for _ in 0..2 {
        client.call("count", json!({"n": 0}));
    }
    client.say(WRONG);
    let form = client.hear();
    assert_eq!(form["method"], "elicitation/create", "{form}");
    (client, form)
}

fn waiting(desk: &Desk) -> Value {
    let listed = desk.good(&["inbox", "list", "--format", "json"]);
    serde_json::from_str(listed.trim()).unwrap()
}

fn id_of(case: &Value) -> String {
    case["case"]["id"].as_str().unwrap().to_owned()
}

/// Returns the client's response to a form.
fn filled_in(form: &Value, content: &Value) -> String {
    let result = json!({"action": "accept", "content": content});
    json!({"jsonrpc": "2.0", "id": form["id"], "result": result}).to_string()
}

fn corrected(form: &Value, n: u8) -> String {
    let arguments = json!({"n": n}).to_string();
    filled_in(form, &json!({"decision": "correct", "arguments": arguments}))
}

fn is_withdrawn(said: &Value, form: &Value) {
    assert_eq!(
        (&said["method"], &said["params"]["requestId"]),
        (&json!("notifications/cancelled"), &form["id"]),
        "{said}"
    );
}

fn decisions(desk: &Desk) -> usize {
    desk.leaves().iter().filter(|leaf| leaf["kind"] == "decision").count()
}

/// Returns the arguments of each call that reached the server, or null for other messages.
fn reached(desk: &Desk) -> Vec<Value> {
    desk.reached().into_iter().map(|call| call["params"]["arguments"].clone()).collect()
}

#[test]
fn the_desk_decides_and_the_open_call_goes_on() {
    for (words, expected, ran) in [
        (&["modify", "CASE", r#"{"n": 4}"#][..], "4 kg", Some(4)),
        (&["approve", "CASE"], "0 kg", Some(0)),
        (&["respond", "CASE", "count from one"], "A person answered: count from one", None),
        (&["reject", "CASE", "--reason", "not today"], "A person stopped the calls", None),
    ] {
        let desk = Desk::new();
        let (mut client, form) = asked(&desk);
        let case = id_of(&waiting(&desk));
        let words: Vec<&str> =
            words.iter().map(|word| if *word == "CASE" { &case } else { *word }).collect();
        let (code, told) = decide(&desk, &words);
        assert_eq!(code, 0, "{told}");
        is_withdrawn(&client.hear(), &form);
        let answer = client.hear();
        assert_eq!(answer["id"], "w", "{answer}");
        assert!(text(&answer).starts_with(expected), "{words:?}: {answer}");
        if words[0] == "approve" {
            let warnings = meta(&answer, "envelope")["warnings"].to_string();
            assert!(warnings.contains("CHECK_WAIVED"), "{answer}");
        }
        // The response to the form is too late, and is not forwarded to the server.
        client.say(&corrected(&form, 5));
        assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
        let ran: Vec<Value> = ran.into_iter().map(|n| json!({"n": n})).collect();
        assert_eq!(reached(&desk), [ran, vec![json!({"text": "a"})]].concat());
        assert_eq!(decisions(&desk), 1);
        client.leave();
        desk.good(&["ledger", "verify"]);
    }
}

/// The model learns that its call ran with other arguments, so it need not send them again.
#[test]
fn what_ran_corrected_is_not_asked_for_again() {
    for is_at_desk in [true, false] {
        let desk = Desk::new();
        let (mut client, form) = asked(&desk);
        if is_at_desk {
            let case = id_of(&waiting(&desk));
            assert_eq!(decide(&desk, &["modify", &case, r#"{"n": 4}"#]).0, 0);
            is_withdrawn(&client.hear(), &form);
        } else {
            client.say(&corrected(&form, 4));
        }
        let answer = client.hear();
        let note = answer["result"]["content"][1]["text"].as_str().unwrap();
        let marker = meta(&answer, "marker").as_str().unwrap();
        let told = "A person corrected the arguments of this call before it ran";
        assert_eq!(note, format!(r#"[answerback {marker}] {told}: {{"n":4}}"#));
        // The ledger has the call as received and as sent.
        let ran = desk.leaves().into_iter().find(|leaf| leaf["kind"] == "request").unwrap();
        let parts: Vec<_> = ran["parts"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
        assert_eq!(parts, ["seen", "sent"]);
        // The retry state is reset.
        let answer = client.call("count", json!({"n": 0}));
        assert_eq!(meta(&answer, "retry")["attempt"], 1, "{answer}");
        client.leave();
    }
}

#[test]
fn who_decides_after_the_client_did_is_refused() {
    let desk = Desk::new();
    let (mut client, form) = asked(&desk);
    let case = id_of(&waiting(&desk));
    client.say(&corrected(&form, 4));
    assert_eq!(text(&client.hear()), "4 kg");
    for words in [&["modify", &case, r#"{"n": 5}"#][..], &["approve", &case]] {
        let (code, told) = decide(&desk, words);
        assert_eq!(code, 1, "{told}");
        assert!(told.contains("the case is already decided: modify"), "{told}");
    }
    assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    assert_eq!(reached(&desk), [json!({"n": 4}), json!({"text": "a"})]);
    assert_eq!(decisions(&desk), 1);
    client.leave();
}

/// Of two concurrent decisions the first one counts, the call runs once, and the other decision is rejected.
#[test]
fn both_decide_at_once_and_one_of_them_holds() {
    for round in 0..4 {
        let desk = Desk::new();
        let (mut client, form) = asked(&desk);
        let case = id_of(&waiting(&desk));
        let (code, told) = std::thread::scope(|scope| {
            let at_desk = scope.spawn(|| decide(&desk, &["modify", &case, r#"{"n": 5}"#]));
            if round % 2 == 0 {
                // This waits until the other decision has begun.
                let _ = desk.good(&["inbox", "list"]);
            }
            client.say(&corrected(&form, 4));
            at_desk.join().unwrap()
        });
        let mut answer = client.hear();
        if answer["method"] == "notifications/cancelled" {
            answer = client.hear();
        }
        let n = if code == 0 { 5 } else { 4 };
        assert_eq!(text(&answer), format!("{n} kg"), "{code}: {told}");
        client.call("echo", json!({"text": "a"}));
        assert_eq!(reached(&desk), [json!({"n": n}), json!({"text": "a"})]);
        assert_eq!(decisions(&desk), 1);
        client.leave();
    }
}

/// Deferring a case is not a decision: the form stays open, and its response counts.
#[test]
fn a_case_that_is_put_off_still_waits_for_its_form() {
    let desk = Desk::new();
    let (mut client, form) = asked(&desk);
    let case = id_of(&waiting(&desk));
    assert_eq!(decide(&desk, &["defer", &case, "--hours", "2"]).0, 0);
    client.say(&corrected(&form, 4));
    assert_eq!(text(&client.hear()), "4 kg");
    client.leave();
}

/// Nothing runs without a caller, so a decision for a canceled call applies to the next one.
#[test]
fn a_decision_for_a_call_that_was_given_up_waits_for_the_next() {
    let desk = Desk::new();
    let (mut client, form) = asked(&desk);
    let case = id_of(&waiting(&desk));
    client
        .say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}"#);
    is_withdrawn(&client.hear(), &form);
    client.hear();
    assert_eq!(decide(&desk, &["approve", &case]).0, 0);
    assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    assert_eq!(reached(&desk), [json!({"text": "a"})]);
    assert_eq!(text(&client.call("count", json!({"n": 0}))), "0 kg");
    client.leave();
}

/// A client that disconnects withdraws its form. The case waits for the next caller, even over a restart.
#[test]
fn a_client_that_leaves_does_not_wait_for_its_form() {
    let desk = Desk::new();
    let call = |client: &mut Client, n: u8| {
        let meta = json!({"dev.answerback/conversation": "c"});
        client.ask("tools/call", json!({"name": "count", "arguments": {"n": n}, "_meta": meta}))
    };
    let mut first = client(&desk);
    for _ in 0..2 {
        call(&mut first, 0);
    }
    let meta = json!({"dev.answerback/conversation": "c"});
    let params = json!({"name": "count", "arguments": {"n": 0}, "_meta": meta});
    first.say(
        &json!({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": params}).to_string(),
    );
    assert_eq!(first.hear()["method"], "elicitation/create");
    assert_eq!(first.leave().0, 0);
    let case = id_of(&waiting(&desk));
    assert_eq!(decide(&desk, &["respond", &case, "count from one"]).0, 0);
    let mut second = client(&desk);
    let answer = call(&mut second, 0);
    assert!(text(&answer).starts_with("A person answered: count from one"), "{answer}");
    second.leave();
}

#[test]
fn secrets_of_an_open_call_are_filled_in_at_the_desk() {
    let secret = "correct horse battery";
    let desk = Desk::new();
    let mut client = client(&desk);
    let params = json!({"name": "log_in", "arguments": {"user": 7, "password": secret}});
    for _ in 0..2 {
        client.ask("tools/call", params.clone());
    }
    let call = json!({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": params});
    client.say(&call.to_string());
    let form = client.hear();
    let case = id_of(&waiting(&desk));
    let told = json!({"user": "ada", "password": "[redacted: password]"});
    assert_eq!(decide(&desk, &["modify", &case, &told.to_string()]).0, 0);
    is_withdrawn(&client.hear(), &form);
    let answer = client.hear();
    assert!(!answer.to_string().contains(secret), "{answer}");
    assert_eq!(reached(&desk), [json!({"user": "ada", "password": secret})]);
    client.leave();
}

const DESK: &str = "  tokens:\n    desk: {scopes: [read, decide], file: desk.token}\n";

/// Decides over HTTP and returns the status.
fn decide_by_http(desk: &Desk, gateway: &Gateway, case: &Value, mut decision: Value) -> u16 {
    let token = std::fs::read_to_string(desk.path("desk.token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    decision["digest"] = case["case"]["digest"].clone();
    decision["revision"] = case["case"]["revision"].clone();
    let path = format!("/api/cases/{}/decision", id_of(case));
    gateway.send("POST", &path, &[("Authorization", &bearer)], &decision.to_string()).status
}

/// Returns a session whose last call waits for its user, its messages, and the form.
fn asked_over_http<'g>(gateway: &'g Gateway, tool: &str) -> (Session<'g>, Receiver<Value>, Value) {
    let mut session = Session::begin_with(gateway, "/mcp", &json!({"elicitation": {}}));
    session.ask("tools/list", json!({}));
    for _ in 0..2 {
        session.call(tool, json!({"n": 0}));
    }
    let params = json!({"name": tool, "arguments": {"n": 0}});
    let call = json!({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": params});
    let said = session.open(&call);
    let form = said.recv_timeout(PATIENCE).unwrap();
    assert_eq!(form["method"], "elicitation/create", "{form}");
    (session, said, form)
}

#[test]
fn a_decision_over_http_reaches_the_open_call() {
    let one = (format!("{}{DESK}", one_stub()), "count");
    // With several servers, the form has another id at the client, and is withdrawn with that.
    let two = (format!("{}{DESK}", two_stubs()), "two_count");
    for ((config, tool), is_person) in [(&one, false), (&one, true), (&two, false)] {
        let desk = Desk::new();
        let gateway = Gateway::start(&desk, config, &[]);
        let (session, said, form) = asked_over_http(&gateway, tool);
        let hear = || said.recv_timeout(PATIENCE).unwrap();
        let case = waiting(&desk);
        let decision = json!({"decision": "modify", "arguments": {"n": 4}});
        let (status, surface) = if is_person {
            (Person::unlock(&desk, &gateway).decide(&case, decision).status, "console")
        } else {
            (decide_by_http(&desk, &gateway, &case, decision), "api")
        };
        assert_eq!(status, 201);
        is_withdrawn(&hear(), &form);
        let answer = hear();
        assert_eq!((&answer["id"], text(&answer)), (&json!("w"), "4 kg"), "{answer}");
        // A second decision is rejected on every surface.
        let late = json!({"decision": "modify", "arguments": {"n": 5}});
        assert_eq!(decide_by_http(&desk, &gateway, &case, late), 409);
        assert_eq!(session.send("POST", &corrected(&form, 6)).status, 202);
        assert_eq!(reached(&desk), [json!({"n": 4})]);
        assert_eq!((decisions(&desk), recorded(&desk)["surface"].clone()), (1, json!(surface)));
    }
}

fn recorded(desk: &Desk) -> Value {
    desk.decision(&[]).unwrap()
}

#[test]
fn an_answer_over_http_is_before_the_desk() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &format!("{}{DESK}", one_stub()), &[]);
    let (session, said, form) = asked_over_http(&gateway, "count");
    let case = waiting(&desk);
    assert_eq!(session.send("POST", &corrected(&form, 4)).status, 202);
    assert_eq!(text(&said.recv_timeout(PATIENCE).unwrap()), "4 kg");
    let late = json!({"decision": "approve"});
    assert_eq!(decide_by_http(&desk, &gateway, &case, late), 409);
    assert_eq!(reached(&desk), [json!({"n": 4})]);
    assert_eq!(recorded(&desk)["surface"], "elicitation");
}

/// Returns an invalid call in a named conversation, so that attempts are counted across sessions.
fn wrong_call(tool: &str) -> Value {
    let meta = json!({"dev.answerback/conversation": "c"});
    let params = json!({"name": tool, "arguments": {"n": 0}, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": params})
}

/// Configures servers that list their tools only once this file exists.
fn listing(gate: &Path, names: &[&str]) -> String {
    let (stub, gate) = (stub(), gate.display());
    let one = |name: &&str| {
        let stub = stub.display();
        format!("    {name}: {{command: python3, args: [{stub}], env: {{STUB_LISTING: {gate}}}}}\n")
    };
    format!("gateway:\n  upstreams:\n{}{DESK}", names.iter().map(one).collect::<String>())
}

/// A client that expected a single body and disconnected cannot resume. So nothing runs, and the decision applies to
/// its next call.
#[test]
fn a_decision_for_a_client_that_cannot_come_back_waits_for_its_next_call() {
    for (servers, tool) in [(&["one"][..], "count"), (&["one", "two"], "two_count")] {
        let desk = Desk::new();
        let gate = desk.path("listing");
        let gateway = Gateway::start(&desk, &listing(&gate, servers), &[]);
        std::fs::write(&gate, "").unwrap();
        let wrong = wrong_call(tool).to_string();
        let mut before = Session::begin(&gateway, "/mcp");
        before.ask("tools/list", json!({}));
        for _ in 0..2 {
            before.send("POST", &wrong);
        }
        // The third call is delayed, because its session needs the list of tools first.
        std::fs::remove_file(&gate).unwrap();
        let mut client = Session::begin_with(&gateway, "/mcp", &json!({"elicitation": {}}));
        let connection = client.sent("POST", &wrong);
        assert!(until(|| desk.path("listing.waits").exists()), "it is taken in");
        drop(connection);
        // The client has disconnected, but the call is still being processed.
        let is_left = || {
            let again = client.send("POST", &wrong);
            again.last()["error"]["message"] == "a call with this id is under way"
        };
        assert!(until(is_left), "it is left");
        std::fs::write(&gate, "").unwrap();
        let is_waiting = || !desk.good(&["inbox", "list", "--format", "json"]).trim().is_empty();
        assert!(until(is_waiting), "a person is asked");
        let approved = json!({"decision": "approve"});
        assert_eq!(decide_by_http(&desk, &gateway, &waiting(&desk), approved), 201);
        let echo = if servers.len() == 1 { "echo" } else { "two_echo" };
        assert_eq!(text(&client.call(echo, json!({"text": "a"}))), "a");
        assert_eq!(reached(&desk), [json!({"text": "a"})]);
        let answer = client.send("POST", &wrong);
        assert_eq!(text(answer.last()), "0 kg", "{:?}", answer.events);
        assert_eq!(reached(&desk), [json!({"text": "a"}), json!({"n": 0})]);
    }
}

/// The call of a client that can resume its stream stays open as long as the session lasts.
#[test]
fn a_decision_for_a_client_that_can_come_back_runs_its_call() {
    for is_ended in [false, true] {
        let desk = Desk::new();
        let gateway = Gateway::start(&desk, &format!("{}{DESK}", one_stub()), &[]);
        let client = Session::begin_with(&gateway, "/mcp", &json!({"elicitation": {}}));
        let wrong = wrong_call("count");
        for _ in 0..2 {
            client.send("POST", &wrong.to_string());
        }
        let mut stream = Stream::open(&gateway, &client.name, POLLING, None, Some(&wrong));
        stream.primed();
        let (last, form) = stream.message();
        assert_eq!(form["method"], "elicitation/create", "{form}");
        drop(stream);
        let case = waiting(&desk);
        let decision = json!({"decision": "modify", "arguments": {"n": 4}});
        if is_ended {
            let mut ending = client.sent("DELETE", "");
            // The session ends before the calls in progress do.
            let said = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
            assert!(until(|| client.send("POST", said).status == 404));
            assert_eq!(decide_by_http(&desk, &gateway, &case, decision), 201);
            let mut answer = String::new();
            ending.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            assert_eq!(reached(&desk), Vec::<Value>::new());
            continue;
        }
        assert_eq!(decide_by_http(&desk, &gateway, &case, decision), 201);
        let mut back = Stream::open(&gateway, &client.name, POLLING, Some(&last), None);
        is_withdrawn(&back.message().1, &form);
        let (_, answer) = back.message();
        assert_eq!((&answer["id"], text(&answer)), (&json!("w"), "4 kg"), "{answer}");
        assert_eq!(reached(&desk), [json!({"n": 4})]);
    }
}

/// A client without a session finds its case decided in the next round, whatever it sends.
#[test]
fn the_next_round_finds_the_case_decided() {
    let declined = json!({"action": "decline"});
    let late =
        json!({"action": "accept", "content": {"decision": "correct", "arguments": "{\"n\": 6}"}});
    for (decision, brought, expected) in [
        (json!({"decision": "modify", "arguments": {"n": 4}}), &late, "4 kg"),
        (json!({"decision": "modify", "arguments": {"n": 4}}), &declined, "4 kg"),
        (json!({"decision": "approve"}), &late, "0 kg"),
        (
            json!({"decision": "respond", "message": "count from one"}),
            &late,
            "A person answered: count from one",
        ),
        (json!({"decision": "reject"}), &declined, "A person stopped the calls"),
    ] {
        let desk = Desk::new();
        let gateway = Gateway::start(&desk, &format!("{}{DESK}", one_stub()), &[]);
        let call = |more: Value| {
            let capabilities =
                json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
            let mut params = json!({"name": "count", "arguments": {"n": 0}, "_meta": capabilities});
            for (name, value) in more.as_object().unwrap() {
                params[name] = value.clone();
            }
            stateless(&gateway, "/mcp", "tools/call", params).last().clone()
        };
        let mut last = Value::Null;
        for _ in 0..3 {
            last = call(json!({}));
        }
        assert_eq!(last["result"]["resultType"], "input_required", "{last}");
        let case = waiting(&desk);
        assert_eq!(decide_by_http(&desk, &gateway, &case, decision.clone()), 201);
        let round = json!({"inputResponses": {"answerback": brought}, "requestState": last["result"]["requestState"]});
        let answer = call(round.clone());
        assert!(text(&answer).starts_with(expected), "{decision}: {answer}");
        // The decision applies only once.
        let again = call(round);
        assert_eq!(again["result"]["isError"], true, "{decision}: {again}");
        assert!(reached(&desk).len() <= 1, "{:?}", reached(&desk));
        assert_eq!(decisions(&desk), 1);
    }
}

/// If a client sends its response several times at once, the call runs once. The others are checked as usual.
#[test]
fn of_equal_answers_at_once_one_runs_and_the_others_are_judged() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &one_stub(), &[]);
    let wrong = || {
        let able = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
        let params = json!({"name": "count", "arguments": {"n": "many"}, "_meta": able});
        stateless(&gateway, "/mcp", "tools/call", params).last()["result"].clone()
    };
    let [_, _, asked] = [(); 3].map(|()| wrong());
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let content = json!({"decision": "correct", "arguments": r#"{"n": 3}"#});
    let answer = json!({"answerback": {"action": "accept", "content": content}});
    let answer = json!({"inputResponses": answer, "requestState": asked["requestState"]});
    let mut params = json!({"name": "count", "arguments": {"n": "many"}, "_meta": {
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "io.modelcontextprotocol/protocolVersion": MODERN,
    }});
    params.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let (url, bearer, body) =
        (gateway.url("/mcp"), format!("Bearer {}", gateway.token), body.to_string());
    let send = || {
        let post = ureq::post(&url).header("Authorization", &bearer);
        let post = post.header("Content-Type", "application/json");
        let post = post.header("Accept", "application/json, text/event-stream");
        let post = post.header("MCP-Protocol-Version", MODERN).header("Mcp-Name", "count");
        let post = post.header("Mcp-Method", "tools/call");
        json_of(&post.send(&body).unwrap().body_mut().read_to_string().unwrap())
    };
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let calling: Vec<_> = (0..12).map(|_| scope.spawn(send)).collect();
        calling.into_iter().map(|calling| calling.join().unwrap()).collect()
    });
    let ran = answers.iter().filter(|answer| text(answer) == "3 kg");
    assert_eq!((ran.count(), reached(&desk)), (1, vec![json!({"n": 3})]), "{answers:?}");
    for answer in &answers {
        assert_ne!(meta(answer, "retry")["class"], "wait", "{answer}");
    }
    drop(gateway);
    desk.good(&["ledger", "verify"]);
}
