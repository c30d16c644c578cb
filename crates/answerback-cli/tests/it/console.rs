//! The console from outside: its API as programs use it, and its guards as others try them.

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::gateway::{Answer, Gateway, PATIENCE, Session};
use crate::wrap::Desk;

/// A server without a configuration of its own: our tools behind it, everything recorded.
pub(crate) fn start(desk: &Desk, config: &str) -> Gateway {
    Gateway::start(desk, config, &[])
}

fn examples() -> Vec<Value> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../answerback-console/examples.json");
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

pub(crate) fn example(name: &str) -> String {
    let found = examples().into_iter().find(|example| example["name"] == name).unwrap();
    found["document"].to_string()
}

/// A person at a browser, known by a cookie.
pub(crate) struct Person<'g> {
    gateway: &'g Gateway,
    pub(crate) cookie: String,
}

impl<'g> Person<'g> {
    pub(crate) fn unlock(desk: &Desk, gateway: &'g Gateway) -> Self {
        let link = link(desk);
        let (status, cookie) = redeem(gateway, &link);
        assert_eq!(status, 201, "{link}");
        Self { gateway, cookie: cookie.unwrap() }
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        let headers = [
            ("Authorization", ""),
            ("Cookie", self.cookie.as_str()),
            ("Sec-Fetch-Site", "same-origin"),
        ];
        self.gateway.send(method, path, &headers, body)
    }

    pub(crate) fn decide(&self, case: &Value, decision: Value) -> Answer {
        let mut decision = decision;
        decision["digest"] = case["case"]["digest"].clone();
        decision["revision"] = case["case"]["revision"].clone();
        let path = format!("/api/cases/{}/decision", case["case"]["id"].as_str().unwrap());
        self.send("POST", &path, &decision.to_string())
    }
}

pub(crate) fn link(desk: &Desk) -> String {
    let store = desk.path("state/answerback/ledger.db");
    let link = desk.good(&["link", "--store", store.to_str().unwrap()]);
    link.trim().to_owned()
}

/// Opens a link as the page does, and gives the status and the cookie.
fn redeem(gateway: &Gateway, link: &str) -> (u16, Option<String>) {
    let token = link.split_once("#t=").unwrap().1;
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let answer =
        agent.post(gateway.url("/api/session")).send(json!({ "token": token }).to_string());
    let answer = answer.unwrap();
    let cookie = answer.headers().get("set-cookie").map(|value| value.to_str().unwrap().to_owned());
    if let Some(cookie) = &cookie {
        assert!(cookie.contains("HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
    }
    let cookie = cookie.map(|cookie| cookie.split(';').next().unwrap().to_owned());
    (answer.status().as_u16(), cookie)
}

/// A reader of server-sent events.
pub(crate) struct Reader {
    lines: BufReader<TcpStream>,
}

/// An event as it is sent: name, id, data.
pub(crate) type Sent = (String, Option<u64>, Value);

impl Reader {
    pub(crate) fn open(gateway: &Gateway, path: &str, header: &str) -> Self {
        let mut reader = Self::ask(gateway, path, header);
        assert_eq!(reader.answer(), Some(200), "{path}");
        reader
    }

    /// Only how the request was answered; then it is closed.
    pub(crate) fn status(gateway: &Gateway, path: &str, header: &str) -> Option<u16> {
        Self::ask(gateway, path, header).answer()
    }

    fn answer(&mut self) -> Option<u16> {
        let mut status = String::new();
        self.lines.read_line(&mut status).unwrap();
        status.split(' ').nth(1)?.parse().ok()
    }

    /// Asks, and does not wait for the answer.
    pub(crate) fn ask(gateway: &Gateway, path: &str, header: &str) -> Self {
        let url = gateway.url(path);
        let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let token = if header.contains("Cookie") {
            String::new()
        } else {
            format!("Authorization: Bearer {}\r\n", gateway.token)
        };
        let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n{token}{header}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        Self { lines: BufReader::new(stream) }
    }

    /// The next event; nothing when the stream has ended.
    pub(crate) fn next(&mut self) -> Option<Sent> {
        let (mut name, mut id, mut data) = (String::new(), None, None);
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            let line = line.trim_end();
            if let Some(word) = line.strip_prefix("event: ") {
                word.clone_into(&mut name);
            } else if let Some(number) = line.strip_prefix("id: ") {
                id = number.parse().ok();
            } else if let Some(text) = line.strip_prefix("data: ") {
                data = serde_json::from_str(text).ok();
            } else if line == "0" {
                return None;
            } else if line.is_empty()
                && let Some(data) = data.take()
            {
                return Some((name, id, data));
            }
        }
    }

    /// The next event of a stream.
    pub(crate) fn live(&mut self) -> Option<(u64, Value)> {
        loop {
            let (name, id, data) = self.next()?;
            if name == "live" {
                return Some((id.unwrap(), data));
            }
        }
    }
}

#[test]
fn every_operation_of_the_description_is_there() {
    let desk = Desk::new();
    let gateway = start(&desk, "");
    let person = Person::unlock(&desk, &gateway);
    let document = person.send("GET", "/api/openapi.json", "").last().clone();
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let committed: Value = serde_json::from_str(&fs::read_to_string(committed).unwrap()).unwrap();
    assert_eq!(document, committed, "docs/openapi.json is not current: run scripts/generate");
    let mut asked = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            // What follows is asked elsewhere, and does not end by itself.
            if path == "/api/events" || method == "delete" {
                continue;
            }
            let place =
                path.replace("{id}", "0").replace("{index}", "0").replace("{position}", "0");
            let method = method.to_uppercase();
            let nobody = gateway.send(&method, &place, &[("Authorization", "")], "{}");
            let is_open = operation["security"] == json!([]);
            assert!(is_open || nobody.status == 401, "{method} {path}: {}", nobody.status);
            let answer = person.send(&method, &place, "{}");
            asked += 1;
            let told = answer.last()["data"]["message"].as_str().unwrap_or_default().to_owned();
            assert!(answer.status != 405, "{method} {path}");
            assert!(told != "There is nothing at this address", "{method} {path}");
        }
    }
    assert!(asked > 30, "{asked}");
}

#[test]
fn a_reply_comes_in_is_shown_in_every_contract_and_proven() {
    let desk = Desk::new();
    let gateway = start(&desk, "");
    for example in examples() {
        let name = &example["name"];
        let taken = gateway.send("POST", "/api/replies", &[], &example["document"].to_string());
        assert_eq!(taken.status, 201, "{name}: {:?}", taken.events);
        let taken = taken.last();
        assert_eq!((&taken["valid"], &taken["kind"]), (&json!(true), &json!("response")), "{name}");
        assert!(taken["receipt"].as_str().unwrap().starts_with("c2sp.org/tlog-proof@v1"), "{name}");
        let path = format!("/api/replies/{}", taken["id"].as_str().unwrap());
        let shown = gateway.send("GET", &path, &[], "");
        assert_eq!(shown.last()["document"], example["document"], "{name}");
        assert!(shown.last()["ui"]["summary"].is_string(), "{name}");
        for contract in ["ui", "atdf"] {
            let other = gateway.send("GET", &format!("{path}?as={contract}"), &[], "");
            assert_eq!(other.status, 200, "{name} as {contract}: {:?}", other.events);
        }
        let proof = gateway.send("GET", &format!("{path}/proof"), &[], "");
        assert_eq!(proof.last()["state"], "verified", "{name}: {:?}", proof.events);
    }
    let listed = gateway.send("GET", "/api/replies?limit=5", &[], "").last().clone();
    let next = listed["next"].as_u64().unwrap();
    assert_eq!(listed["replies"].as_array().unwrap().len(), 5);
    let page = gateway.send("GET", &format!("/api/replies?limit=5&before={next}"), &[], "");
    assert!(page.last()["replies"][0]["index"].as_u64().unwrap() < next);
    let found = gateway.send("GET", "/api/replies?text=berth&kind=response", &[], "");
    assert!(!found.last()["replies"].as_array().unwrap().is_empty());
    for (query, status) in [("kind=nothing", 400), ("since=yesterday", 400), ("limit=x", 400)] {
        assert_eq!(gateway.send("GET", &format!("/api/replies?{query}"), &[], "").status, status);
    }
    let tool = gateway.send("GET", "/api/replies/0?as=tool", &[], "");
    assert_eq!(tool.status, 404, "a start is no reply");

    // What breaks its contract is recorded as rejected; what is no reply is not recorded.
    let broken = r#"{"response_type":"table","summary":7,"timestamp":"x"}"#;
    let rejected = gateway.send("POST", "/api/replies?as=ui", &[], broken);
    assert_eq!((rejected.status, &rejected.last()["kind"]), (201, &json!("rejected")));
    for (body, code) in
        [("[]", "INVALID_PARAMETER"), ("{", "INVALID_PARAMETER"), ("{}", "INVALID_PARAMETER")]
    {
        let refused = gateway.send("POST", "/api/replies", &[], body);
        assert_eq!(
            (refused.status, &refused.last()["data"]["code"]),
            (400, &json!(code)),
            "{body}"
        );
    }
    // What cannot be given in another contract, or asks too much of a person, is refused before it is recorded.
    let size = || gateway.send("GET", "/api/overview", &[], "").last()["size"].clone();
    let before = size();
    let refused = gateway.send("POST", "/api/replies?to=governed", &[], &example("table"));
    assert_eq!((refused.status, &refused.last()["data"]["code"]), (422, &json!("NOT_CONVERTIBLE")));
    let mut many: Value = serde_json::from_str(&example("mission_draft")).unwrap();
    many["artifacts"] = vec![many["artifacts"][0].clone(); 21].into();
    let refused = gateway.send("POST", "/api/replies", &[], &many.to_string());
    assert_eq!(refused.status, 400, "{:?}", refused.events);
    assert_eq!(size(), before);
    assert_eq!(gateway.send("GET", "/api/replies?text=a%00b", &[], "").status, 400);
    // Secrets do not reach the record.
    let secret = example("table").replace("Hamburg", "sk-live-4242424242424242424242424242");
    let taken = gateway.send("POST", "/api/replies", &[], &secret);
    let path = format!("/api/replies/{}", taken.last()["index"]);
    let shown = gateway.send("GET", &path, &[], "").last().to_string();
    assert!(!shown.contains("sk-live-4242"), "{shown}");

    let verified = gateway.send("POST", "/api/ledger/verify", &[], "");
    assert_eq!(verified.last()["ok"], true, "{:?}", verified.events);
    let size = verified.last()["size"].as_u64().unwrap();
    let path = format!("/api/ledger/consistency?from=2&to={size}");
    assert!(!gateway.send("GET", &path, &[], "").last()["hashes"].as_array().unwrap().is_empty());
    assert_eq!(gateway.send("GET", "/api/ledger/consistency?from=9&to=2", &[], "").status, 400);
}

#[test]
fn a_person_decides_and_the_agent_that_waits_hears_of_it() {
    let desk = Desk::new();
    let gateway = start(&desk, "");
    let person = Person::unlock(&desk, &gateway);
    let asked = gateway.send("POST", "/api/replies", &[], &example("mission_draft"));
    let id = asked.last()["cases"][0].as_str().unwrap().to_owned();
    let path = format!("/api/cases/{id}");
    let case = person.send("GET", &path, "").last().clone();
    assert_eq!(case["content"]["arguments"]["to_berth"], 4);

    std::thread::scope(|scope| {
        let (url, bearer) =
            (gateway.url(&format!("{path}/decision?wait=50")), format!("Bearer {}", gateway.token));
        let waiting = scope.spawn(move || {
            let began = Instant::now();
            let mut answer = ureq::get(url).header("Authorization", bearer).call().unwrap();
            let text = answer.body_mut().read_to_string().unwrap();
            (began.elapsed(), serde_json::from_str::<Value>(&text).unwrap())
        });
        // What the person saw is what counts.
        let mut other = case.clone();
        other["case"]["digest"] = "0".repeat(64).into();
        let changed = person.decide(&other, json!({"decision": "approve"}));
        assert_eq!(
            (changed.status, &changed.last()["data"]["code"]),
            (409, &json!("CASE_CHANGED"))
        );
        // Changed arguments fit what the proposal asks for, whoever decides where.
        let wrong = json!({"decision": "modify", "arguments": {"ship": "Aurora", "to_berth": "seven", "at": "15:00"}});
        let refused = person.decide(&case, wrong);
        assert_eq!(
            (refused.status, &refused.last()["data"]["code"]),
            (422, &json!("DECISION_UNUSABLE"))
        );
        let arguments = json!({"ship": "Aurora", "to_berth": 7, "at": "15:00"});
        let modify = json!({"decision": "modify", "arguments": arguments});
        assert_eq!(person.decide(&case, modify.clone()).status, 201);
        assert_eq!(person.decide(&case, modify).status, 200, "the same again is answered alike");
        let late = person.decide(&case, json!({"decision": "reject"}));
        assert_eq!((late.status, &late.last()["data"]["code"]), (409, &json!("ALREADY_DECIDED")));
        let winning = &late.last()["data"]["details"]["received"]["winning"];
        assert_eq!(winning["decision"], "modify", "{:?}", late.events);
        let (took, told) = waiting.join().unwrap();
        assert!(took < Duration::from_secs(40), "{took:?}");
        let decision = &told["case"]["state"]["submission"];
        assert_eq!((&decision["arguments"], &decision["by"]), (&arguments, &json!("console")));
    });
    let early = gateway.send("GET", &path, &[], "");
    assert_eq!(early.last()["acknowledged"], Value::Null);
    let seen = json!({"outcome": "done", "note": "moved"}).to_string();
    let acknowledged = gateway.send("POST", &format!("{path}/acknowledgement"), &[], &seen);
    assert_eq!(acknowledged.status, 201, "{:?}", acknowledged.events);
    assert_eq!(acknowledged.last()["acknowledged"]["outcome"], "done");
    let again = gateway.send("POST", &format!("{path}/acknowledgement"), &[], &seen);
    assert_eq!(again.status, 200);
    // Every decision is in the ledger, and the inbox of the terminal shows the same.
    let decisions = desk.leaves().into_iter().filter(|leaf| leaf["kind"] == "decision").count();
    assert_eq!(decisions, 1);

    let question = json!({"kind": "question", "question": "Which?", "options": ["a", "b"]});
    let asked = gateway.send("POST", "/api/cases", &[], &question.to_string());
    assert_eq!(asked.status, 201, "{:?}", asked.events);
    let answered = person.decide(asked.last(), json!({"decision": "respond", "message": "a"}));
    assert_eq!(answered.status, 201, "{:?}", answered.events);
    let empty = gateway.send("POST", "/api/cases", &[], &question.to_string());
    let empty = person.decide(empty.last(), json!({"decision": "respond", "message": "  "}));
    assert_eq!((empty.status, &empty.last()["data"]["code"]), (422, &json!("DECISION_UNUSABLE")));
    // The terminal shows what the pages show.
    let store = desk.path("state/answerback/ledger.db");
    let store = store.to_str().unwrap();
    let listed = desk.good(&["inbox", "list", "--all", "--store", store]);
    assert!(listed.contains("proposal  Move the Aurora to berth 4"), "{listed}");
    assert!(listed.contains("question  Which?"), "{listed}");
    let shown = desk.good(&["inbox", "show", &id, "--store", store]);
    for line in ["Risk: high", "  to_berth: 4", "  - Berth 2 is free from 15:00", "Decided: "] {
        assert!(shown.contains(line), "{line} is not in {shown}");
    }
    let short = json!({"kind": "proposal", "title": "t", "expires_in_seconds": 1});
    let short = gateway.send("POST", "/api/cases", &[], &short.to_string());
    let path = format!("/api/cases/{}", short.last()["case"]["id"].as_str().unwrap());
    let began = Instant::now();
    while person.send("GET", &path, "").last()["is_expired"] != true {
        assert!(began.elapsed() < PATIENCE);
    }
    let lapsed = person.decide(short.last(), json!({"decision": "approve"}));
    assert_eq!((lapsed.status, &lapsed.last()["data"]["code"]), (410, &json!("CASE_EXPIRED")));
    let unknown = gateway.send("POST", "/api/cases", &[], r#"{"kind":"order","title":"t"}"#);
    assert_eq!(unknown.status, 400);
}

#[test]
fn who_may_not_is_kept_out() {
    let desk = Desk::new();
    let config = "gateway:\n  tokens:\n    writer: {scopes: [ingest], file: writer.token}\n    caller: {scopes: [call], file: caller.token}\n";
    let gateway = start(&desk, config);
    let person = Person::unlock(&desk, &gateway);
    let asked = gateway.send("POST", "/api/replies", &[], &example("mission_draft"));
    let case = person.send("GET", "/api/cases", "").last()["cases"][0].clone();
    let path = format!("/api/cases/{}/decision", asked.last()["cases"][0].as_str().unwrap());
    let decision =
        json!({"decision": "approve", "digest": case["case"]["digest"], "revision": 0}).to_string();
    let writer = fs::read_to_string(desk.path("writer.token")).unwrap();
    let writer = format!("Bearer {}", writer.trim());
    let caller = fs::read_to_string(desk.path("caller.token")).unwrap();
    let caller = format!("Bearer {}", caller.trim());
    let (waited, seen) = (path.clone(), path.replace("decision", "acknowledgement"));
    let cookie = person.cookie.as_str();
    let none = ("Authorization", "");
    for (what, method, path, headers, status, code) in [
        ("no token", "GET", "/api/replies", vec![none], 401, "UNAUTHENTICATED"),
        ("no token", "GET", "/api/events", vec![none], 401, "UNAUTHENTICATED"),
        (
            "a wrong cookie",
            "GET",
            "/api/replies",
            vec![none, ("Cookie", "answerback_1=ab_x")],
            401,
            "UNAUTHENTICATED",
        ),
        (
            "a rebound name",
            "GET",
            "/api/replies",
            vec![none, ("Cookie", cookie), ("Host", "evil.example")],
            421,
            "HOST_UNKNOWN",
        ),
        ("a rebound page", "GET", "/", vec![none, ("Host", "evil.example")], 421, "HOST_UNKNOWN"),
        (
            "a cross-site read",
            "GET",
            "/api/replies",
            vec![none, ("Cookie", cookie), ("Sec-Fetch-Site", "cross-site")],
            403,
            "CROSS_SITE",
        ),
        (
            "another port's read",
            "GET",
            "/api/replies",
            vec![none, ("Cookie", cookie), ("Sec-Fetch-Site", "same-site")],
            403,
            "CROSS_SITE",
        ),
        (
            "a cross-site decision",
            "POST",
            &path,
            vec![none, ("Cookie", cookie), ("Sec-Fetch-Site", "cross-site")],
            403,
            "CROSS_SITE",
        ),
        (
            "a foreign origin",
            "POST",
            &path,
            vec![none, ("Cookie", cookie), ("Origin", "https://evil.example")],
            403,
            "ORIGIN_NOT_ALLOWED",
        ),
        ("our own token decides", "POST", &path, vec![], 403, "SCOPE_MISSING"),
        (
            "an ingest token decides",
            "POST",
            &path,
            vec![("Authorization", writer.as_str())],
            403,
            "SCOPE_MISSING",
        ),
        (
            "another's case is waited for",
            "GET",
            &waited,
            vec![("Authorization", writer.as_str())],
            404,
            "NOT_FOUND",
        ),
        (
            "another's case is acknowledged",
            "POST",
            &seen,
            vec![("Authorization", writer.as_str())],
            404,
            "NOT_FOUND",
        ),
        (
            "a token that calls asks a person",
            "POST",
            "/mcp/answerback",
            vec![("Authorization", caller.as_str())],
            403,
            "FORBIDDEN",
        ),
        (
            "an ingest token reads",
            "GET",
            "/api/replies",
            vec![("Authorization", writer.as_str())],
            403,
            "SCOPE_MISSING",
        ),
        ("our own token makes links", "POST", "/api/launch", vec![], 403, "SCOPE_MISSING"),
        (
            "an agent's session hands in",
            "POST",
            "/api/replies",
            vec![none, ("Cookie", cookie)],
            403,
            "SCOPE_MISSING",
        ),
    ] {
        let body = match (method, path) {
            ("POST", path) if path == seen => "{}",
            ("POST", _) => decision.as_str(),
            _ => "",
        };
        let answer = gateway.send(method, path, &headers, body);
        let told = answer.last()["data"]["code"].as_str().unwrap_or_default();
        assert_eq!((answer.status, told), (status, code), "{what}");
    }
    // A link opens one session.
    let link = link(&desk);
    assert_eq!(redeem(&gateway, &link).0, 201);
    let used = redeem(&gateway, &link);
    assert_eq!(used, (401, None));
    assert_eq!(redeem(&gateway, "x#t=ab_guess").0, 401);

    // A session that is revoked takes its open stream along.
    let mut reader = Reader::open(&gateway, "/api/events", &format!("Cookie: {cookie}\r\n"));
    assert_eq!(reader.next().unwrap().0, "hello");
    let sessions = person.send("GET", "/api/sessions", "").last()["sessions"].clone();
    assert_eq!(sessions.as_array().unwrap().len(), 2, "{sessions}");
    let own = sessions.as_array().unwrap().iter().find(|session| session["is_current"] == true);
    let path = format!("/api/sessions/{}", own.unwrap()["id"].as_str().unwrap());
    assert_eq!(person.send("DELETE", &path, "").status, 204);
    while reader.next().is_some() {}
    assert_eq!(person.send("GET", "/api/replies", "").status, 401);
}

#[test]
fn a_stream_is_followed_from_any_point_and_over_a_kill() {
    let desk = Desk::new();
    let gateway = start(&desk, "");
    let publish = |gateway: &Gateway, number: u64| {
        let event = json!({"kind": "note", "body": {"number": number}}).to_string();
        let answer = gateway.send("POST", "/api/streams/run/events", &[], &event);
        assert_eq!(answer.status, 201, "{:?}", answer.events);
    };
    let mut reader = Reader::open(&gateway, "/api/events?streams=run", "");
    assert_eq!(reader.next().unwrap().0, "hello");
    (1..=5).for_each(|number| publish(&gateway, number));
    let other = json!({"kind": "note", "body": {}}).to_string();
    gateway.send("POST", "/api/streams/another/events", &[], &other);
    let mut seen: Vec<u64> = Vec::new();
    let mut last = 0;
    for _ in 0..5 {
        let (id, event) = reader.live().unwrap();
        seen.push(event["body"]["number"].as_u64().unwrap());
        last = id;
    }
    // Both ways to say where one was, and the header counts first.
    for (path, header) in [
        (format!("/api/events?after={}", last - 2), String::new()),
        ("/api/events".to_owned(), format!("Last-Event-ID: {}\r\n", last - 2)),
        ("/api/events?after=0".to_owned(), format!("Last-Event-ID: {}\r\n", last - 2)),
    ] {
        let mut again = Reader::open(&gateway, &path, &header);
        assert_eq!(again.live().unwrap().0, last - 1, "{path} {header}");
    }
    assert_eq!(gateway.send("GET", "/api/events?after=x", &[], "").status, 400);

    // Killed and started again on the same store: the reader comes back with what it saw last.
    drop(gateway);
    while reader.next().is_some() {}
    let gateway = start(&desk, "");
    (6..=8).for_each(|number| publish(&gateway, number));
    let header = format!("Last-Event-ID: {last}\r\n");
    let mut reader = Reader::open(&gateway, "/api/events?streams=run", &header);
    for _ in 0..3 {
        seen.push(reader.live().unwrap().1["body"]["number"].as_u64().unwrap());
    }
    assert_eq!(seen, (1..=8).collect::<Vec<u64>>());

    let end = gateway.send("POST", "/api/streams/run/end", &[], r#"{"outcome":"completed"}"#);
    assert_eq!(end.status, 201, "{:?}", end.events);
    let late = json!({"kind": "note"}).to_string();
    let late = gateway.send("POST", "/api/streams/run/events", &[], &late);
    assert_eq!((late.status, &late.last()["data"]["code"]), (409, &json!("STREAM_ENDED")));
    let shown = gateway.send("GET", "/api/streams/run", &[], "").last().clone();
    assert_eq!((&shown["ended"], &shown["outcome"]), (&json!(true), &json!("completed")));
    for body in [r#"{"kind":"end"}"#, r#"{"kind":"a b"}"#, "[]"] {
        let refused = gateway.send("POST", "/api/streams/x/events", &[], body);
        assert_eq!(refused.status, 400, "{body}");
    }
    let store = desk.path("state/answerback/ledger.db");
    let store = store.to_str().unwrap();
    let watched = desk.good(&["watch", "run", "--store", store, "--format", "json"]);
    assert_eq!(watched.lines().count(), 10, "{watched}");
    let listed = desk.good(&["watch", "--store", store]);
    assert!(listed.contains("ended         9 events  run"), "{listed}");
    let missing = desk.command().args(["watch", "none", "--no-follow", "--store", store]).output();
    assert_eq!(missing.unwrap().status.code(), Some(2));
    let own = gateway.send("POST", "/api/streams/answerback%2Fcase/events", &[], &other);
    assert_eq!(own.status, 400, "streams of ours are not theirs");
}

#[test]
fn a_reader_that_does_not_read_harms_nobody() {
    let desk = Desk::new();
    let gateway = start(&desk, "");
    let _slow: Vec<Reader> = (0..20).map(|_| Reader::open(&gateway, "/api/events", "")).collect();
    let mut quick = Reader::open(&gateway, "/api/events", "");
    let body = "x".repeat(100_000);
    let events = json!(vec![json!({"kind": "note", "body": {"text": body}}); 10]).to_string();
    for _ in 0..10 {
        let answer = gateway.send("POST", "/api/streams/big/events", &[], &events);
        assert_eq!(answer.status, 201, "{:?}", answer.events);
    }
    let read: Vec<u64> = (0..100).map(|_| quick.live().unwrap().0).collect();
    assert_eq!(read, (1..=100).collect::<Vec<u64>>());
}

#[test]
fn files_are_served_by_reply_and_never_by_path() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path("files")).unwrap();
    fs::write(desk.path("files/arrivals.csv"), "port,ships\nHamburg,40\n").unwrap();
    fs::write(desk.path("secret"), "s").unwrap();
    let gateway = start(&desk, "console:\n  files: files\n");
    let hand_in = |path: &str| {
        let document = example("file_reference")
            .replace("arrivals.csv\",\"file_type", &format!("{path}\",\"file_type"));
        let document = document
            .replace("\"file_path\": \"arrivals.csv\"", &format!("\"file_path\":\"{path}\""));
        let taken = gateway.send("POST", "/api/replies", &[], &document);
        assert_eq!(taken.status, 201, "{:?}", taken.events);
        format!("/api/replies/{}/artifacts/0/file", taken.last()["index"])
    };
    let file = hand_in("arrivals.csv");
    let state = gateway.send("GET", &format!("{file}/state"), &[], "").last().clone();
    assert_eq!(
        (&state["state"], &state["preview"]),
        (&json!("available"), &json!("csv")),
        "{state}"
    );
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let bearer = format!("Bearer {}", gateway.token);
    let mut answer = agent.get(gateway.url(&file)).header("Authorization", &bearer).call().unwrap();
    let header = |name: &str| answer.headers().get(name).unwrap().to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "application/octet-stream");
    assert!(header("content-disposition").starts_with("attachment;"));
    assert!(header("content-security-policy").starts_with("sandbox"));
    let mut text = String::new();
    answer.body_mut().as_reader().read_to_string(&mut text).unwrap();
    assert_eq!(text, "port,ships\nHamburg,40\n");
    for path in ["../secret", "/etc/passwd", "files/../../secret"] {
        let file = hand_in(path);
        let state = gateway.send("GET", &format!("{file}/state"), &[], "").last().clone();
        assert_eq!(state["state"], "missing", "{path}: {state}");
        assert_eq!(gateway.send("GET", &file, &[], "").status, 404, "{path}");
    }
    fs::write(desk.path("files/arrivals.csv"), "port,ships\nHamburg,41\n").unwrap();
    let changed = gateway.send("GET", &file, &[], "");
    assert_eq!((changed.status, &changed.last()["data"]["code"]), (409, &json!("FILE_CHANGED")));
}

#[test]
fn an_agent_needs_no_http_client_of_its_own() {
    let desk = Desk::new();
    let gateway = start(&desk, "");
    let person = Person::unlock(&desk, &gateway);
    let mut agent = Session::begin(&gateway, "/mcp/answerback");
    let listed = agent.ask("tools/list", json!({}));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["reply_submit", "stream_publish", "decision_request", "decision_get"]);
    let document: Value = serde_json::from_str(&example("table")).unwrap();
    let given = agent.call("reply_submit", json!({ "document": document }));
    assert_eq!(given["result"]["structuredContent"]["accepted"], true, "{given}");
    let events = json!([{"kind": "note", "body": {"text": "on it"}}]);
    let given = agent.call("stream_publish", json!({"stream": "s", "events": events, "end": true}));
    assert_eq!(given["result"]["structuredContent"]["ended"], true, "{given}");
    let asked = json!({"kind": "proposal", "title": "Move the ship", "arguments": {"berth": 4}});
    let given = agent.call("decision_request", asked);
    let case = given["result"]["structuredContent"]["case"].as_str().unwrap().to_owned();
    let open = agent.call("decision_get", json!({"case": case, "wait_seconds": 0}));
    assert_eq!(open["result"]["structuredContent"]["status"], "open", "{open}");
    let shown = person.send("GET", &format!("/api/cases/{case}"), "").last().clone();
    assert_eq!(person.decide(&shown, json!({"decision": "approve"})).status, 201);
    let decided = agent.call("decision_get", json!({"case": case, "wait_seconds": 20}));
    let decided = &decided["result"]["structuredContent"];
    assert_eq!(
        (&decided["status"], &decided["decision"]["decision"]),
        (&json!("decided"), &json!("approve"))
    );
    // They are checked like all calls, and have no part in /mcp.
    let wrong = agent.call("decision_get", json!({"case": 7}));
    assert_eq!(wrong["result"]["isError"], true, "{wrong}");
    let mut client = Session::begin(&gateway, "/mcp");
    let listed = client.ask("tools/list", json!({})).to_string();
    assert!(!listed.contains("reply_submit"), "{listed}");
}

#[test]
fn pages_are_for_everybody_and_say_nothing() {
    let desk = Desk::new();
    let gateway = start(&desk, "");
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let get = |path: &str| agent.get(gateway.url(path)).call().unwrap();
    let mut page = get("/inbox");
    let mut html = String::new();
    page.body_mut().as_reader().read_to_string(&mut html).unwrap();
    let header = |name: &str| page.headers().get(name).unwrap().to_str().unwrap().to_owned();
    assert!(header("content-security-policy").contains("require-trusted-types-for 'script'"));
    assert_eq!(header("cache-control"), "no-cache");
    assert!(
        !html.contains("<style") && !html.contains("style=") && !html.contains("onload"),
        "{html}"
    );
    let script = html.split("src=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let asset = get(&script);
    assert_eq!(asset.status().as_u16(), 200, "{script}");
    assert!(asset.headers()["cache-control"].to_str().unwrap().contains("immutable"));
    // What is not there is not the page: an old page that asks for a script that is gone is told so.
    assert_eq!(get("/assets/gone.js").status().as_u16(), 401);
    assert_eq!(gateway.send("GET", "/assets/gone.js", &[], "").status, 404);
    // A person who is lost sees the application, which says so; a program is told a problem, whoever asks.
    let lost = |path: &str, accept: &str| {
        let mut answer = agent.get(gateway.url(path)).header("Accept", accept).call().unwrap();
        let mut body = String::new();
        answer.body_mut().as_reader().read_to_string(&mut body).unwrap();
        (answer.status().as_u16(), body == html)
    };
    let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
    assert_eq!(lost("/nowhere", browser), (404, true));
    assert_eq!(lost("/r/1/2/3", browser), (404, true));
    assert_eq!(lost("/apis", browser), (404, true));
    for path in ["/api/nowhere", "/api", "/mcp/nowhere/else", "/assets/gone.js"] {
        assert_eq!(lost(path, browser), (401, false), "{path}");
    }
    assert_eq!(lost("/nowhere", "application/json"), (401, false));
    let told = gateway.send("GET", "/nowhere", &[("Accept", "application/json")], "");
    assert_eq!((told.status, &told.last()["data"]["code"]), (404, &json!("NOT_FOUND")));
    let evil =
        gateway.send("GET", "/nowhere", &[("Accept", browser), ("Host", "evil.example")], "");
    assert_eq!(evil.status, 421);
}

#[test]
fn a_governed_reply_is_verified_against_what_is_in_force() {
    let desk = Desk::new();
    let prompts = crate::folder::Folder::of_prompts("console-governed");
    let folder = prompts.path();
    let governance = format!(
        "governance:\n  manifest: {folder}/prompt-manifest.json\n  lock: {folder}/prompt-lock.json\n"
    );
    let gateway = start(&desk, &governance);
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/governance/response.json");
    let mut reply: Value = serde_json::from_str(&fs::read_to_string(example).unwrap()).unwrap();
    let taken = gateway.send("POST", "/api/replies", &[], &reply.to_string());
    assert_eq!((taken.status, &taken.last()["valid"]), (201, &json!(true)), "{:?}", taken.events);
    let again = gateway.send("POST", "/api/replies", &[], &reply.to_string());
    assert_eq!((again.status, &again.last()["index"]), (200, &taken.last()["index"]));
    // Other words under the same id answer nobody, and that they came is in the record.
    let mut other = reply.clone();
    other["timestamp"] = "2026-03-04T05:06:08Z".into();
    let taken_id = gateway.send("POST", "/api/replies", &[], &other.to_string());
    let told = taken_id.last();
    assert_eq!(
        (taken_id.status, &told["data"]["code"]),
        (409, &json!("RESPONSE_ID_TAKEN")),
        "{told}"
    );
    let path = format!("/api/replies/{}", reply["response_id"].as_str().unwrap());
    let first = gateway.send("GET", &path, &[], "");
    assert_eq!(first.last()["reply"]["index"], taken.last()["index"], "{:?}", first.events);
    let newest = desk.leaves().pop().unwrap();
    assert_eq!(
        (&newest["kind"], &newest["codes"]),
        (&json!("rejected"), &json!(["RESPONSE_ID_TAKEN"]))
    );
    assert!(newest.get("response_id").is_none(), "{newest}");
    assert_eq!(newest["reply_id"].as_str().unwrap().as_bytes()[14], b'7', "{newest}");
    // Somebody changes the prompt that it claims to speak under.
    reply["response_id"] = "2c9d7a1e-4f3b-4a65-9c1d-0e8f7a6b5c4d".into();
    reply["request_context"]["request_id"] = Value::Null;
    reply["agent"]["prompt_hash"] = "0".repeat(64).into();
    let caught = gateway.send("POST", "/api/replies?as=governed", &[], &reply.to_string());
    assert_eq!(
        (caught.status, &caught.last()["kind"]),
        (201, &json!("rejected")),
        "{:?}",
        caught.events
    );
    let agents = gateway.send("GET", "/api/agents", &[], "").last().clone();
    assert_eq!(
        (&agents["configured"], &agents["agents"][0]["state"]),
        (&json!(true), &json!("ok"))
    );
    let verified = gateway.send("POST", "/api/ledger/verify", &[], "");
    assert_eq!(verified.last()["ok"], true, "{:?}", verified.events);
}

#[test]
fn the_demo_fills_every_page_and_leaves_nothing_behind() {
    let desk = Desk::new();
    let mut command = desk.command();
    command.args(["serve", "--demo"]).env("TMPDIR", desk.path("."));
    command.stdin(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut said = |start: &str| -> String {
        let line = lines.find(|line| line.starts_with(start)).unwrap();
        line[start.len()..].trim().to_owned()
    };
    let (endpoint, token) = (said("endpoint"), fs::read_to_string(said("token")).unwrap());
    assert!(said("console").contains("/#t=ab_"));
    let ask = |path: &str| -> Value {
        let url = format!("{}{path}", endpoint.strip_suffix("/mcp").unwrap());
        let bearer = format!("Bearer {}", token.trim());
        let mut answer = ureq::get(url).header("Authorization", bearer).call().unwrap();
        serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap()
    };
    let began = Instant::now();
    while ask("/api/streams")["streams"].as_array().unwrap().is_empty() {
        assert!(began.elapsed() < PATIENCE, "the demo did not get as far as its stream");
        std::thread::sleep(Duration::from_millis(100));
    }
    let replies = ask("/api/replies?limit=200")["replies"].clone();
    let replies = replies.as_array().unwrap();
    for kind in [
        "table",
        "chart",
        "document",
        "code_block",
        "timeline",
        "file_reference",
        "json_data",
        "mission_draft",
        "signal_batch",
    ] {
        let has = |reply: &Value| reply["artifacts"].get(kind).is_some();
        assert!(replies.iter().any(has), "no {kind}");
    }
    for (kind, contract, outcome) in [
        ("response", "governed", "ok"),
        ("response", "governed", "refused"),
        ("rejected", "governed", "refused"),
    ] {
        let is = |reply: &Value| {
            reply["kind"] == kind && reply["contract"] == contract && reply["outcome"] == outcome
        };
        assert!(replies.iter().any(is), "no {kind} {contract} {outcome}");
    }
    let cases = ask("/api/cases")["cases"].clone();
    let kinds: Vec<&Value> =
        cases.as_array().unwrap().iter().map(|case| &case["case"]["kind"]).collect();
    assert_eq!(kinds, ["escalation", "question", "proposal"]);
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    let left = fs::read_dir(desk.path(".")).unwrap().map_while(Result::ok);
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    let is_demo = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("answerback-demo");
    assert!(!left.iter().any(is_demo), "{left:?}");
}
