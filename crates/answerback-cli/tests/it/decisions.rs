//! Tests how decisions reach followers, on whichever surface they were made.

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::console::start;
use crate::event_reader::{Reader, Sent};
use crate::gateway::{Gateway, PATIENCE};
use crate::person::Person;
use crate::wrap::Desk;

const CONFIG: &str = "gateway:\n  tokens:\n    decider: {scopes: [decide, read], file: decider.token}\n    writer: {scopes: [ingest], file: writer.token}\n";

fn bearer(desk: &Desk, name: &str) -> String {
    let token = fs::read_to_string(desk.path(&format!("{name}.token"))).unwrap();
    format!("Bearer {}", token.trim())
}

fn ask(gateway: &Gateway, question: &str) -> Value {
    let question = json!({"kind": "question", "question": question}).to_string();
    let asked = gateway.send("POST", "/api/cases", &[], &question);
    assert_eq!(asked.status, 201, "{:?}", asked.events);
    asked.last()["case"].clone()
}

fn decide(desk: &Desk, gateway: &Gateway, case: &Value, decision: Value) {
    let mut decision = decision;
    decision["digest"] = case["digest"].clone();
    decision["revision"] = case["revision"].clone();
    let path = format!("/api/cases/{}/decision", case["id"].as_str().unwrap());
    let bearer = bearer(desk, "decider");
    let decided = gateway.send("POST", &path, &[("Authorization", &bearer)], &decision.to_string());
    assert_eq!(decided.status, 201, "{:?}", decided.events);
}

fn next_decision(reader: &mut Reader) -> Sent {
    loop {
        let sent = reader.next().unwrap();
        if sent.0 == "decision" {
            return sent;
        }
    }
}

#[test]
fn whoever_follows_hears_of_decisions_and_acknowledgements() {
    let desk = Desk::new();
    let gateway = start(&desk, CONFIG);
    let mut reader = Reader::open(&gateway, "/api/events", "");
    assert_eq!(reader.next().unwrap().0, "hello");
    let case = ask(&gateway, "Which?");
    let later = json!({"decision": "defer", "until": case["expires"]});
    decide(&desk, &gateway, &case, later);
    let (_, put_off, told) = next_decision(&mut reader);
    assert_eq!(told["state"], "deferred", "{told}");
    assert_eq!(told["seq"], put_off.unwrap());
    // Another process with the same store decides.
    let path = format!("/api/cases/{}", case["id"].as_str().unwrap());
    let current = gateway.send("GET", &path, &[], "").last()["case"].clone();
    let elsewhere = start(&desk, CONFIG);
    let answer = json!({"decision": "respond", "message": "the hidden words"});
    decide(&desk, &elsewhere, &current, answer);
    let (_, decided, told) = next_decision(&mut reader);
    assert_eq!(
        (&told["case"], &told["kind"], &told["decision"], &told["state"]),
        (&case["id"], &json!("question"), &json!("respond"), &json!("decided"))
    );
    assert!(!told.to_string().contains("hidden words"), "{told}");
    let seen = format!("{path}/acknowledgement");
    let seen = gateway.send("POST", &seen, &[], r#"{"outcome":"done","note":"n"}"#);
    assert_eq!((seen.status, &seen.last()["acknowledged"]["note"]), (201, &json!("n")));
    let (_, acknowledged, told) = next_decision(&mut reader);
    assert_eq!(
        (&told["case"], &told["decision"], &told["state"]),
        (&case["id"], &json!("respond"), &json!("acknowledged"))
    );
    // A client that reconnects continues from its position, without duplicates.
    let after = format!("Last-Event-ID: {}\r\n", put_off.unwrap());
    let mut again = Reader::open(&gateway, "/api/events", &after);
    assert_eq!(next_decision(&mut again).1, decided);
    assert_eq!(next_decision(&mut again).1, acknowledged);
    // A token with only the scope `ingest` can wait for its own cases, but cannot follow events.
    let writer = bearer(&desk, "writer");
    let refused = gateway.send("GET", "/api/events", &[("Authorization", &writer)], "");
    assert_eq!((refused.status, &refused.last()["data"]["code"]), (403, &json!("SCOPE_MISSING")));
}

/// A webhook receiver that responds with a configurable status.
struct Hook {
    address: SocketAddr,
    status: Arc<AtomicU16>,
    told: Receiver<(u16, Value)>,
}

impl Hook {
    fn listen() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, status) = (listener.local_addr().unwrap(), Arc::new(AtomicU16::new(204)));
        let (sender, told) = channel();
        let answer = Arc::clone(&status);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut lines = BufReader::new(stream);
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    lines.read_line(&mut line).unwrap();
                    if let Some(number) = line.to_lowercase().strip_prefix("content-length: ") {
                        length = number.trim().parse().unwrap();
                    }
                    if line.trim().is_empty() {
                        break;
                    }
                }
                let mut body = vec![0; length];
                lines.read_exact(&mut body).unwrap();
                let status = answer.load(Ordering::SeqCst);
                let head = format!(
                    "HTTP/1.1 {status} So\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
                // The sender may have been killed in the meantime.
                let _ = lines.get_mut().write_all(head.as_bytes());
                let _ = sender.send((status, serde_json::from_slice(&body).unwrap()));
            }
        });
        Self { address, status, told }
    }

    fn heard(&self) -> (u16, Value) {
        self.told.recv_timeout(PATIENCE).unwrap()
    }
}

#[test]
fn the_webhook_hears_of_every_decision_over_refusals_and_a_restart() {
    let desk = Desk::new();
    let hook = Hook::listen();
    let config = format!("{CONFIG}console:\n  webhook: http://{}/told\n", hook.address);
    let gateway = start(&desk, &config);
    let respond = json!({"decision": "respond", "message": "a"});
    // The first delivery is rejected, so it is retried.
    hook.status.store(500, Ordering::SeqCst);
    let first = ask(&gateway, "First?");
    decide(&desk, &gateway, &first, respond.clone());
    assert_eq!(hook.heard().0, 500);
    hook.status.store(204, Ordering::SeqCst);
    let told = loop {
        if let (204, told) = hook.heard() {
            break told;
        }
    };
    assert_eq!(
        (&told["case"], &told["decision"]["message"], &told["by"]),
        (&first["id"], &json!("a"), &json!("decider"))
    );
    // The server is killed before the second delivery succeeds.
    hook.status.store(503, Ordering::SeqCst);
    let second = ask(&gateway, "Second?");
    decide(&desk, &gateway, &second, respond.clone());
    assert_eq!(hook.heard().1["case"], second["id"]);
    let third = ask(&gateway, "Third?");
    decide(&desk, &gateway, &third, respond);
    drop(gateway);
    while hook.told.try_recv().is_ok() {}
    hook.status.store(204, Ordering::SeqCst);
    let _gateway = start(&desk, &config);
    let told: Vec<Value> = (0..2).map(|_| hook.heard().1["case"].clone()).collect();
    assert_eq!(told, [second["id"].clone(), third["id"].clone()], "in their order, and no others");
}

#[test]
fn the_webhook_hears_who_decided_and_where() {
    let desk = Desk::new();
    let hook = Hook::listen();
    let config = format!("{CONFIG}console:\n  webhook: http://{}/told\n", hook.address);
    let gateway = start(&desk, &config);
    let answer = json!({"decision": "respond", "message": "a"});
    let heard = || {
        let told = hook.heard().1;
        (told["by"].clone(), told["surface"].clone(), told.get("os_user").cloned())
    };
    decide(&desk, &gateway, &ask(&gateway, "By token?"), answer.clone());
    assert_eq!(heard(), (json!("decider"), json!("api"), None));
    let case = json!({ "case": ask(&gateway, "At the pages?") });
    assert_eq!(Person::unlock(&desk, &gateway).decide(&case, answer).status, 201);
    assert_eq!(heard(), (json!("console"), json!("console"), None));
    let case = ask(&gateway, "On the command line?");
    let (config, token) = (desk.path("config.yml"), desk.path("decider.token"));
    let mut command = desk.command();
    command.args(["inbox", "respond", case["id"].as_str().unwrap(), "a", "--config"]).arg(config);
    command.arg("--store").arg(desk.path("state/answerback/ledger.db"));
    let output = command.arg("--token-file").arg(token).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", crate::program::told(&output));
    let (by, surface, user) = heard();
    assert_eq!((by, surface), (json!("decider"), json!("token")));
    let id = format!("uid {}", rustix::process::getuid().as_raw());
    assert!(user.as_ref().and_then(Value::as_str).unwrap().contains(&id), "{user:?}");
}

#[test]
fn secrets_of_an_answer_are_for_whoever_asked() {
    let secret = "sk-live-4242424242424242424242424242";
    let desk = Desk::new();
    let gateway = start(&desk, CONFIG);
    let writer = bearer(&desk, "writer");
    let writer = [("Authorization", writer.as_str())];
    let question = json!({"kind": "question", "question": "Which key?"}).to_string();
    let case = gateway.send("POST", "/api/cases", &writer, &question).last()["case"].clone();
    let answer = json!({"decision": "respond", "message": format!("take {secret}")});
    decide(&desk, &gateway, &case, answer);
    let path = format!("/api/cases/{}", case["id"].as_str().unwrap());
    let waited = format!("{path}/decision?wait=5");
    let heard = |gateway: &Gateway, headers: &[(&str, &str)]| {
        let told = gateway.send("GET", &waited, headers, "").last().clone();
        told["case"]["state"]["submission"]["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(heard(&gateway, &writer), format!("take {secret}"));
    // This also holds after a restart, and other tokens still see only the redacted text.
    drop(gateway);
    let gateway = start(&desk, CONFIG);
    assert_eq!(heard(&gateway, &writer), format!("take {secret}"));
    let hidden = heard(&gateway, &[]);
    assert!(hidden.starts_with("take [redacted"), "{hidden}");
    let shown = gateway.send("GET", &path, &[], "").last().to_string();
    assert!(!shown.contains(secret), "{shown}");
    for entry in fs::read_dir(desk.path("state/answerback")).unwrap().map_while(Result::ok) {
        let bytes = fs::read(entry.path()).unwrap_or_default();
        let is_there = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!is_there, "{}", entry.path().display());
    }
    let seen = gateway.send("POST", &format!("{path}/acknowledgement"), &writer, "{}");
    assert_eq!(seen.status, 201, "{:?}", seen.events);
    assert_eq!(heard(&gateway, &writer), hidden, "who has heard needs it no more");
}
