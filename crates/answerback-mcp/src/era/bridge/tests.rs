use super::*;
use crate::era::script::Script;

const INITIALIZE: &str = r#"C {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"old","version":"1"}}}"#;
const DISCOVER: &str = r#"C {"id":"d","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
const CALL: &str = r#"C {"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"x":1}}}"#;

fn swapped(line: &str) -> String {
    match line.split_at(1) {
        ("C", rest) => format!("S{rest}\n"),
        (_, rest) => format!("C{rest}\n"),
    }
}

/// Messages between peers of one era. Each contains a detail that is lost if the text is parsed and
/// rewritten.
const TRAFFIC: [&str; 10] = [
    r#"C { "id" : 1.0, "method":"tools/call", "params":{"n":12345678901234567890123, "a":[ ]} }"#,
    r#"S@1.0 {"method":"notifications/progress","params":{"progressToken":1e2}}"#,
    r#"S@1.0 {"id":"e","method":"elicitation/create","params":{"message":"\u0041"}}"#,
    r#"C {"id":"\u0065","result":{"action":"accept"},"z":0.10}"#,
    r#"S {"id":1,"result":{"resultType":"input_required","content":[],"content":[]}}"#,
    r#"C {"id":2,"method":"ping"}"#,
    r#"S {"id":2,"error":{"code":-32002,"message":"x"}}"#,
    r#"C {"method":"notifications/cancelled","params":{"requestId":2}}"#,
    r#"C {"id":3,"method":"subscriptions/listen"}"#,
    r#"S [{"id":3,"result":{}}]"#,
];

#[test]
fn one_era_crosses_byte_for_byte() {
    let result = r#"S {"id":0,"result":{"protocolVersion":"2025-06-18"} }"#;
    let found = r#"S {"id":"d" ,"result":{"supportedVersions":["2026-07-28"]}}"#;
    let refused = r#"S {"id":"d","error":{"code":-32022,"message":"no","data":{"supported":["2027-01-01"]}}}"#;
    for (era, opening) in [
        (Era::Legacy, &[INITIALIZE, result][..]),
        (Era::Modern, &[DISCOVER, found]),
        (Era::Modern, &[DISCOVER, refused]),
    ] {
        let cache = EraCache::default();
        // The second link probes nothing. Messages before the first one that shows an era are not lost.
        for _ in 0..2 {
            let mut script = Script::new(&cache);
            for line in opening.iter().chain(&TRAFFIC) {
                let expected = swapped(line).replace("@1.0", "@1");
                assert_eq!(script.play(&[line]), expected);
            }
        }
        assert_eq!(cache.speaks(era), Some(true));
    }
}

#[test]
fn what_shows_no_era_crosses() {
    let cache = EraCache::default();
    let mut script = Script::new(&cache);
    for line in &TRAFFIC {
        assert_eq!(script.play(&[line]), swapped(line).replace("@1.0", "@1"));
    }
    assert_eq!((cache.speaks(Era::Legacy), cache.speaks(Era::Modern)), (None, None));
}

#[test]
fn a_server_may_speak_both() {
    let cache = EraCache::default();
    let result = r#"S {"id":0,"result":{}}"#;
    Script::new(&cache).play(&[INITIALIZE, result]);
    let output = Script::new(&cache).play(&[
        CALL,
        r#"S {"id":"answerback-era/1","result":{"supportedVersions":["2025-11-25","2026-07-28"]}}"#,
    ]);
    insta::assert_snapshot!(output, @r#"
    S {"jsonrpc":"2.0","id":"answerback-era/1","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
    S {"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"x":1}}}
    "#);
    assert_eq!((cache.speaks(Era::Legacy), cache.speaks(Era::Modern)), (Some(true), Some(true)));
}

/// A client that speaks both eras receives a legacy server's own notifications, such as changed lists.
#[test]
fn a_client_that_speaks_both_eras_goes_on_in_its_server_s() {
    let refused = r#"S {"id":"d","error":{"code":-32601,"message":"what"}}"#;
    let result = r#"S {"id":0,"result":{"protocolVersion":"2025-06-18"}}"#;
    let changed = r#"S {"method":"notifications/tools/list_changed"}"#;
    let cache = EraCache::default();
    let mut script = Script::keeping_era(&cache);
    for line in [DISCOVER, refused, INITIALIZE, result, changed] {
        assert_eq!(script.play(&[line]), swapped(line));
    }
    // The next link uses the cached era.
    let mut script = Script::keeping_era(&cache);
    let output = script.play(&[DISCOVER]);
    assert!(output.starts_with("C ") && output.contains("-32601"), "{output}");
    for line in [INITIALIZE, result, changed] {
        assert_eq!(script.play(&[line]), swapped(line));
    }
    // A silent server delays the client only until the probe expires.
    let mut script = Script::keeping_era(&EraCache::default());
    assert_eq!(script.play(&[DISCOVER]), swapped(DISCOVER));
    assert!(script.play(&["T 10"]).contains("-32601"));
    assert_eq!(script.play(&[refused]), "");
    let mut script = Script::keeping_era(&EraCache::default());
    script.play(&[DISCOVER]);
    assert_eq!(script.play(&[INITIALIZE, refused]), swapped(INITIALIZE));
    assert_eq!(script.play(&[result]), swapped(result));
}

#[test]
fn a_client_that_needs_the_bridge_has_it() {
    let refused = r#"S {"id":"d","error":{"code":-32601,"message":"what"}}"#;
    for next in [CALL, DISCOVER] {
        let mut script = Script::keeping_era(&EraCache::default());
        assert_eq!(script.play(&[DISCOVER, refused]).matches("C {").count(), 1);
        let output = script.play(&[next]);
        assert!(output.starts_with("S ") && output.contains("initialize"), "{next}: {output}");
    }
    // A modern server is used without translation.
    let found = r#"S {"id":"d" ,"result":{"supportedVersions":["2026-07-28"]}}"#;
    let mut script = Script::keeping_era(&EraCache::default());
    for line in [DISCOVER, found] {
        assert_eq!(script.play(&[line]), swapped(line));
    }
}

#[test]
fn a_refused_initialize_is_told_where_the_server_is_not_modern() {
    let refused = r#"S {"id":0,"error":{"code":-32602,"message":"no"}}"#;
    let unknown = r#"S {"id":"answerback-era/1","error":{"code":-32601,"message":"what"}}"#;
    for answer in [unknown, "T 10", r#"S {"id":"answerback-era/1","result":{}}"#] {
        let cache = EraCache::default();
        let mut script = Script::new(&cache);
        script.play(&[INITIALIZE, refused]);
        assert_eq!(script.play(&[answer]), swapped(refused));
        // The client may try again.
        assert_eq!(script.play(&[INITIALIZE]), swapped(INITIALIZE));
        assert_eq!(cache.speaks(Era::Legacy), None);
    }
}

#[test]
fn a_library_may_know_an_era_that_its_server_does_not_speak() {
    let cache = EraCache::default();
    let output = Script::new(&cache).play(&[
        DISCOVER,
        r#"S {"id":"d","error":{"code":-32022,"message":"no","data":{"supported":["2025-11-25"]}}}"#,
    ]);
    assert!(output.contains(r#""method":"initialize""#), "{output}");
    assert_eq!(cache.speaks(Era::Modern), Some(false));
    // A modern revision in the response does not open a session.
    let output = Script::new(&EraCache::default())
        .play(&[INITIALIZE, r#"S {"id":0,"result":{"protocolVersion":"2026-07-28"}}"#]);
    assert!(output.contains(r#""method":"server/discover""#), "{output}");
}

#[test]
fn what_turns_out_to_be_wrong_is_forgotten() {
    let cache = EraCache::default();
    cache.learn(Era::Legacy, false);
    cache.learn(Era::Modern, false);
    let refused = r#"S {"id":"answerback-era/1","error":{"code":-32601,"message":"what"}}"#;
    for (first, era) in [(INITIALIZE, Era::Legacy), (DISCOVER, Era::Modern)] {
        let mut script = Script::new(&cache);
        let output = script.play(&[first, refused]);
        assert!(output.contains("C {"), "{output}");
        assert_eq!(cache.speaks(era), None);
        assert_eq!(script.play(&[first]), swapped(first));
    }
}

#[test]
fn a_slow_initialize_is_waited_for() {
    let result = r#"S {"id":0,"result":{}}"#;
    let mut script = Script::new(&EraCache::default());
    script.play(&[INITIALIZE]);
    assert!(script.play(&["T 10"]).contains("server/discover"));
    assert_eq!(script.play(&["T 10", "T 100"]), "");
    assert_eq!(script.play(&[result]), swapped(result));
    // The late response to the probe is dropped.
    let late = r#"S {"id":"answerback-era/1","error":{"code":-32601,"message":"what"}}"#;
    assert_eq!(script.play(&[late]), "");
    assert_eq!(script.play(&[TRAFFIC[0]]), swapped(TRAFFIC[0]));
}

#[test]
fn a_server_that_never_answers_the_probe_is_initialised() {
    let cache = EraCache::default();
    let mut script = Script::new(&cache);
    insta::assert_snapshot!(script.play(&[CALL, "T 9", "T 1"]), @r#"
    S {"jsonrpc":"2.0","id":"answerback-era/1","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
    S {"jsonrpc":"2.0","id":"answerback-era/2","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"answerback","version":"0.1.0"}}}
    "#);
    insta::assert_snapshot!(script.play(&[
        r#"S {"id":"answerback-era/2","result":{"capabilities":{}}}"#,
        r#"S {"id":"answerback-era/1","error":{"code":-32601,"message":"late"}}"#,
        r#"S {"id":1,"result":{"tools":[]}}"#,
    ]), @r#"
    S {"jsonrpc":"2.0","method":"notifications/initialized","params":{}}
    S {"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"x":1}}}
    C {"id":1,"result":{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}}
    "#);
    assert_eq!(cache.speaks(Era::Modern), Some(false));
    // The next link does not wait.
    insta::assert_snapshot!(Script::new(&cache).play(&[DISCOVER]), @r#"
    S {"jsonrpc":"2.0","id":"answerback-era/1","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"answerback","version":"0.1.0"}}}
    "#);
}

#[test]
fn a_modern_server_may_be_slow_to_start() {
    for first in [DISCOVER, CALL] {
        let mut script = Script::new(&EraCache::default());
        script.play(&[first, "T 10"]);
        let id = if first == CALL { r#""answerback-era/1""# } else { r#""d""# };
        let found = format!(r#"S {{"id":{id},"result":{{"supportedVersions":["2026-07-28"]}}}}"#);
        let expected = if first == CALL { swapped(CALL) } else { swapped(&found) };
        assert_eq!(script.play(&[&found]), expected);
        // The server rejects the session that the bridge tried in the meantime.
        let number = if first == CALL { 2 } else { 1 };
        let refused = format!(
            r#"S {{"id":"answerback-era/{number}","error":{{"code":-32601,"message":"what"}}}}"#
        );
        assert_eq!(script.play(&[&refused]), "");
        assert_eq!(script.play(&[TRAFFIC[0]]), swapped(TRAFFIC[0]));
    }
}

#[test]
fn a_server_that_speaks_neither_is_said_to() {
    let mut script = Script::new(&EraCache::default());
    insta::assert_snapshot!(script.play(&[
        DISCOVER,
        CALL,
        r#"C {"method":"notifications/cancelled","params":{"requestId":"d"}}"#,
        r#"S {"id":"d","error":{"code":-32601,"message":"what"}}"#,
        r#"S {"id":"answerback-era/1","error":{"code":-32601,"message":"what?"}}"#,
        CALL,
        "T 10",
        "T 60",
    ]), @r#"
    S {"id":"d","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
    S {"jsonrpc":"2.0","id":"answerback-era/1","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"answerback","version":"0.1.0"}}}
    C {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server speaks neither era of the protocol: what?"}}
    S {"jsonrpc":"2.0","id":"answerback-era/2","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
    S {"jsonrpc":"2.0","id":"answerback-era/3","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"answerback","version":"0.1.0"}}}
    C {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server speaks neither era of the protocol: it did not answer initialize in time"}}
    "#);
}
