use super::*;
use crate::era::script::Script;
use crate::era::{Era, EraCache};

const BOTH: &str = r#"{"elicitation":{},"sampling":{},"roots":{}}"#;
const ASKS: &str =
    r#"S {"id":"e1","method":"elicitation/create","params":{"message":"Who?", "n":1.0}}"#;
const DONE: &str = r#"S@1 {"id":1,"result":{"content":[ ]}}"#;
const UNKNOWN: &str = "the requestState is not known";

fn opened() -> Script {
    let cache = EraCache::default();
    cache.learn(Era::Modern, false);
    let mut script = Script::new(&cache);
    script.play(&[
        r#"C {"id":0,"method":"server/discover"}"#,
        r#"S {"id":"answerback-era/1","result":{"capabilities":{}}}"#,
    ]);
    script
}

fn call(id: &str, capabilities: &str, more: &str) -> String {
    let meta = format!(r#""{}":{capabilities}"#, meta::CAPABILITIES);
    format!(
        r#"C {{"id":{id},"method":"tools/call","params":{{"name":"book","arguments":{{"n":1.0}},"_meta":{{{meta}}}{more}}}}}"#
    )
}

/// Repeats the call with answers.
fn back(id: &str, answers: &str) -> String {
    call(id, BOTH, &format!(r#","inputResponses":{{{answers}}},"requestState":"STATE""#))
}

#[test]
fn a_question_sends_the_client_away_and_its_answer_takes_the_call_up() {
    let mut script = opened();
    insta::assert_snapshot!(script.play(&[
        &call("1", BOTH, ""),
        ASKS,
        &back("2", r#""question-1":{"action":"accept","content":{"n":2.0}}"#),
        DONE,
    ]), @r#"
    S {"id":1,"method":"tools/call","params":{"name":"book","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}}}}
    C {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"question-1":{"method":"elicitation/create","params":{"message":"Who?", "n":1.0}}},"requestState":"STATE"}}
    S {"jsonrpc":"2.0","id":"e1","result":{"action":"accept","content":{"n":2.0}}}
    C@2 {"id":2,"result":{"content":[ ],"resultType":"complete"}}
    "#);
    // A state can be used only once.
    assert!(script.play(&[&back("3", "")]).contains(UNKNOWN));
}

#[test]
fn progress_follows_the_client() {
    let token = |id: &str, token: &str, more: &str| {
        format!(
            r#"C {{"id":{id},"method":"tools/call","params":{{"name":"t","_meta":{{"{}":{BOTH},"progressToken":{token}}}{more}}}}}"#,
            meta::CAPABILITIES
        )
    };
    let progress =
        r#"S {"method":"notifications/progress","params":{"progressToken":"a", "progress":1}}"#;
    let again = r#","inputResponses":{"question-1":{}},"requestState":"STATE""#;
    insta::assert_snapshot!(opened().play(&[
        &token("1", r#""a""#, ""),
        progress,
        ASKS,
        progress,
        &token("2", "7", again),
        progress,
    ]), @r#"
    S {"id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}},"progressToken":"a"}}}
    C@1 {"method":"notifications/progress","params":{"progressToken":"a", "progress":1}}
    C {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"question-1":{"method":"elicitation/create","params":{"message":"Who?", "n":1.0}}},"requestState":"STATE"}}
    S {"jsonrpc":"2.0","id":"e1","result":{}}
    C@2 {"method":"notifications/progress","params":{"progressToken":7, "progress":1}}
    "#);
}

#[test]
fn more_questions_wait_until_the_client_is_back() {
    insta::assert_snapshot!(opened().play(&[
        &call("1", BOTH, ""),
        ASKS,
        r#"S {"id":9,"method":"roots/list"}"#,
        r#"S {"id":10,"method":"sampling/createMessage","params":{}}"#,
        r#"S {"method":"notifications/cancelled","params":{"requestId":10}}"#,
        &back("2", r#""question-1":{"action":"decline"}"#),
        &back("3", r#""question-2":{"roots":[ ]}"#),
        DONE,
    ]), @r#"
    S {"id":1,"method":"tools/call","params":{"name":"book","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}}}}
    C {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"question-1":{"method":"elicitation/create","params":{"message":"Who?", "n":1.0}}},"requestState":"STATE"}}
    S {"jsonrpc":"2.0","id":"e1","result":{"action":"decline"}}
    C {"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"question-2":{"method":"roots/list"}},"requestState":"STATE"}}
    S {"jsonrpc":"2.0","id":9,"result":{"roots":[ ]}}
    C@3 {"id":3,"result":{"content":[ ],"resultType":"complete"}}
    "#);
}

#[test]
fn an_answer_waits_for_a_client_that_is_away() {
    let mut script = opened();
    assert!(script.play(&[&call("1", BOTH, ""), ASKS]).contains("input_required"));
    assert_eq!(script.play(&[DONE]), "");
    insta::assert_snapshot!(script.play(&[&back("2", "")]), @r#"
    C@2 {"id":2,"result":{"content":[ ],"resultType":"complete"}}
    "#);
}

#[test]
fn a_question_belongs_to_the_call_that_is_named_or_to_the_newest() {
    let calls = [call("1", BOTH, ""), call("2", BOTH, "")];
    for (asks, expected) in [(ASKS, 2), (&ASKS.replacen('S', "S@1", 1), 1)] {
        let mut script = opened();
        script.play(&[&calls[0], &calls[1]]);
        let output = script.play(&[asks]);
        let start = format!(
            r#"C {{"jsonrpc":"2.0","id":{expected},"result":{{"resultType":"input_required""#
        );
        assert!(output.starts_with(&start), "{output}");
    }
}

#[test]
fn what_the_client_did_not_declare_is_not_asked() {
    let mut script = opened();
    insta::assert_snapshot!(script.play(&[
        &call("1", "{}", ""),
        ASKS,
        r#"S@1 {"id":9,"method":"roots/list"}"#,
        r#"C {"id":2,"method":"tools/list"}"#,
        r#"S@2 {"id":10,"method":"roots/list"}"#,
    ]), @r#"
    S {"id":1,"method":"tools/call","params":{"name":"book","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}
    S {"jsonrpc":"2.0","id":"e1","result":{"action":"decline"}}
    S {"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"the client did not declare that it answers this"}}
    S {"id":2,"method":"tools/list"}
    S {"jsonrpc":"2.0","id":10,"error":{"code":-32601,"message":"no request of the client is under way"}}
    "#);
}

#[test]
fn a_state_is_bound_to_its_call() {
    let mut script = opened();
    script.play(&[&call("1", BOTH, ""), ASKS]);
    let other = back("2", "").replace("1.0", "1.1");
    assert!(script.play(&[&other]).contains("other parameters"));
    let forged = back("2", "").replace("STATE", "0000");
    assert!(script.play(&[&forged]).contains(UNKNOWN));
    // Neither attempt changed the call.
    assert!(script.play(&[&back("2", "")]).contains("input_required"));
}

#[test]
fn a_cancelled_call_is_cancelled_upstream() {
    let cancel =
        |id| format!(r#"C {{"method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#);
    let mut script = opened();
    let answer = r#""question-1":{"action":"decline"}"#;
    script.play(&[&call("1", BOTH, ""), ASKS, &back("2", answer)]);
    insta::assert_snapshot!(script.play(&[&cancel(2)]), @r#"
    S {"method":"notifications/cancelled","params":{"requestId":1}}
    "#);
    script.play(&[&call("3", BOTH, ""), ASKS]);
    insta::assert_snapshot!(script.play(&[&cancel(3), &back("4", answer)]), @r#"
    S {"jsonrpc":"2.0","id":"e1","result":{"action":"cancel"}}
    S {"method":"notifications/cancelled","params":{"requestId":3}}
    C {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"the requestState is not known: it was used, has expired, or is not ours"}}
    "#);
}

#[test]
fn a_client_that_stays_away_is_given_up() {
    let mut script = opened();
    script.play(&[&call("1", BOTH, ""), ASKS, r#"S {"id":9,"method":"roots/list"}"#]);
    assert_eq!(script.play(&["T 599"]), "");
    insta::assert_snapshot!(script.play(&["T 1"]), @r#"
    S {"jsonrpc":"2.0","id":"e1","result":{"action":"cancel"}}
    S {"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"the client did not come back"}}
    S {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
    "#);
    assert!(script.play(&[&back("2", "")]).contains(UNKNOWN));
}

#[test]
fn an_id_may_come_again_while_its_call_waits() {
    insta::assert_snapshot!(opened().play(&[
        &call("1", BOTH, ""),
        ASKS,
        r#"C {"id":1,"method":"tools/list"}"#,
        r#"S {"id":"answerback-era/2","result":{"tools":[]}}"#,
    ]), @r#"
    S {"id":1,"method":"tools/call","params":{"name":"book","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}}}}
    C {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"question-1":{"method":"elicitation/create","params":{"message":"Who?", "n":1.0}}},"requestState":"STATE"}}
    S {"id":"answerback-era/2","method":"tools/list"}
    C {"id":1,"result":{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}}
    "#);
}

#[test]
fn absent_clients_and_calls_are_bounded() {
    let mut script = opened();
    for number in 1..=MAX_SUSPENDED {
        let output = script.play(&[&call(&number.to_string(), BOTH, ""), ASKS]);
        assert!(output.contains("input_required"), "{number}: {output}");
    }
    let output = script.play(&[&call("\"more\"", BOTH, ""), ASKS]);
    assert!(output.contains("decline"), "{output}");
    for number in MAX_SUSPENDED + 2..=MAX_CALLS {
        script.play(&[&call(&number.to_string(), BOTH, "")]);
    }
    let output = script.play(&[&call("\"last\"", BOTH, "")]);
    assert!(output.contains("1024 requests are under way already"), "{output}");
}
