//! Tests `answerback serve --demo` from outside.

use std::fs;
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::gateway::PATIENCE;
use crate::wrap::Desk;

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
