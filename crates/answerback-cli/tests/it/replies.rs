//! Tests replies that agents submit, from outside: recording, showing, verifying, and their files.

use std::fs;
use std::io::Read as _;

use serde_json::{Value, json};

use crate::console::start;
use crate::wrap::Desk;

fn examples() -> Vec<Value> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../answerback-web/examples.json");
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

pub(crate) fn example(name: &str) -> String {
    let found = examples().into_iter().find(|example| example["name"] == name).unwrap();
    found["document"].to_string()
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

    // A reply that breaks its contract is recorded as rejected. A document that is not a reply is not recorded.
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
    // A reply that cannot be converted, or has too many questions, is rejected before it is recorded.
    let size = || gateway.send("GET", "/api/overview", &[], "").last()["size"].clone();
    let before = size();
    let refused = gateway.send("POST", "/api/replies?to=governed", &[], &example("table"));
    assert_eq!((refused.status, &refused.last()["data"]["code"]), (422, &json!("NOT_CONVERTIBLE")));
    // A duplicate member makes the document ambiguous, so it is not converted, as with `convert`.
    let summary = r#""summary":"another","response_type""#;
    let twice = example("table").replacen("\"response_type\"", summary, 1);
    assert_eq!(twice.matches("\"summary\"").count(), 2, "{twice}");
    let refused = gateway.send("POST", "/api/replies?to=atdf", &[], &twice);
    assert_eq!((refused.status, &refused.last()["data"]["code"]), (422, &json!("NOT_CONVERTIBLE")));
    let mut many: Value = serde_json::from_str(&example("mission_draft")).unwrap();
    many["artifacts"] = vec![many["artifacts"][0].clone(); 21].into();
    let refused = gateway.send("POST", "/api/replies", &[], &many.to_string());
    assert_eq!(refused.status, 400, "{:?}", refused.events);
    assert_eq!(size(), before);
    assert_eq!(gateway.send("GET", "/api/replies?text=a%00b", &[], "").status, 400);
    // Secrets are not recorded.
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
    // A hard link is a way out of the folder, like a symbolic link.
    fs::hard_link(desk.path("secret"), desk.path("files/linked.csv")).unwrap();
    let linked = hand_in("linked.csv");
    let state = gateway.send("GET", &format!("{linked}/state"), &[], "").last().clone();
    assert_eq!(state["state"], "not served", "{state}");
    assert!(state["solution"].as_str().unwrap().contains("hard link"), "{state}");
    let refused = gateway.send("GET", &linked, &[], "");
    let told = (refused.status, &refused.last()["data"]["code"]);
    assert_eq!(told, (403, &json!("FILE_NOT_SERVED")));
    fs::write(desk.path("files/arrivals.csv"), "port,ships\nHamburg,41\n").unwrap();
    let changed = gateway.send("GET", &file, &[], "");
    assert_eq!((changed.status, &changed.last()["data"]["code"]), (409, &json!("FILE_CHANGED")));
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
    // A different reply with the same id is recorded as rejected.
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
    // The prompt hash was tampered with.
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
