//! Tests the registry of artifacts from outside: ids, versions, status changes, and survival of a restart.

use std::fs;

use serde_json::{Value, json};

use crate::console::start;
use crate::gateway::Gateway;
use crate::person::Person;
use crate::replies::example;
use crate::wrap::Desk;

/// Submits a table, as a version of `named` if it is given. Returns its registration.
fn hand_in(gateway: &Gateway, headers: &[(&str, &str)], named: Option<&Value>) -> Value {
    let mut document: Value = serde_json::from_str(&example("table")).unwrap();
    if let Some(id) = named {
        document["artifacts"][0]["metadata"] = json!({"artifact_id": id});
    }
    let taken = gateway.send("POST", "/api/replies", headers, &document.to_string());
    assert_eq!((taken.status, &taken.last()["valid"]), (201, &json!(true)), "{:?}", taken.events);
    taken.last()["artifacts"][0].clone()
}

fn get(gateway: &Gateway, path: &str) -> Value {
    let answer = gateway.send("GET", path, &[], "");
    assert_eq!(answer.status, 200, "{path}: {:?}", answer.events);
    answer.last().clone()
}

#[test]
fn artifacts_have_ids_versions_and_a_status_that_survive_a_restart() {
    let desk = Desk::new();
    let config = "gateway:\n  tokens:\n    writer: {scopes: [ingest], file: writer.token}\n";
    let gateway = start(&desk, config);
    let first = hand_in(&gateway, &[], None);
    assert_eq!(
        (&first["version"], &first["status"], &first["kind"], &first["position"]),
        (&json!(1), &json!("draft"), &json!("table"), &json!(0)),
        "{first}"
    );
    let id = first["id"].clone();
    let path = format!("/api/artifacts/{}", id.as_str().unwrap());
    let shown = get(&gateway, &path);
    let table: Value = serde_json::from_str(&example("table")).unwrap();
    assert_eq!((&shown["artifact"], &shown["document"]), (&first, &table["artifacts"][0]));
    let person = Person::unlock(&desk, &gateway);
    let settle = |status: &str, version: u64| {
        let body = json!({"status": status, "version": version}).to_string();
        person.send("POST", &format!("{path}/status"), &body)
    };
    // A token without the scope `decide` cannot change the status.
    let body = json!({"status": "final", "version": 1}).to_string();
    assert_eq!(gateway.send("POST", &format!("{path}/status"), &[], &body).status, 403);
    let done = settle("final", 1);
    assert_eq!((done.status, &done.last()["artifact"]["status"]), (201, &json!("final")));
    assert_eq!(done.last()["artifact"]["settled"]["by"], "console");
    assert_eq!(settle("final", 1).status, 200, "the same again is answered alike");
    let second = hand_in(&gateway, &[], Some(&id));
    assert_eq!(
        (&second["id"], &second["version"], &second["status"]),
        (&id, &json!(2), &json!("final"))
    );
    let stale = settle("deprecated", 1);
    assert_eq!((stale.status, &stale.last()["data"]["code"]), (409, &json!("ARTIFACT_CHANGED")));
    // The artifact belongs to another principal, so the submission becomes a new artifact.
    let writer = fs::read_to_string(desk.path("writer.token")).unwrap();
    let writer = format!("Bearer {}", writer.trim());
    let other = hand_in(&gateway, &[("Authorization", &writer)], Some(&id));
    assert_ne!(other["id"], id);
    assert_eq!(other["by"], "writer");
    // The artifact refers to no file, so none is served.
    assert_eq!(gateway.send("GET", &format!("{path}/file"), &[], "").status, 404);

    drop(gateway);
    let gateway = start(&desk, config);
    let versions = get(&gateway, &format!("{path}/versions"))["versions"].clone();
    let stand: Vec<&Value> =
        versions.as_array().unwrap().iter().map(|version| &version["status"]).collect();
    assert_eq!(stand, ["superseded", "final"], "{versions}");
    assert_eq!(get(&gateway, &format!("{path}?version=1"))["artifact"]["version"], 1);
    assert_eq!(gateway.send("GET", &format!("{path}?version=3"), &[], "").status, 404);
    let person = Person::unlock(&desk, &gateway);
    let body = json!({"status": "deprecated", "version": 2}).to_string();
    assert_eq!(person.send("POST", &format!("{path}/status"), &body).status, 201);
    let body = json!({"status": "final", "version": 2}).to_string();
    let closed = person.send("POST", &format!("{path}/status"), &body);
    assert_eq!((closed.status, &closed.last()["data"]["code"]), (409, &json!("ARTIFACT_CLOSED")));
    let third = hand_in(&gateway, &[], Some(&id));
    assert_ne!(third["id"], id, "nothing takes the place of what is deprecated");

    // These requests list artifacts, and those of one reply.
    let ids = |query: &str| -> Vec<Value> {
        let listed = get(&gateway, &format!("/api/artifacts?{query}"));
        listed["artifacts"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect()
    };
    assert_eq!(ids(""), [third["id"].clone(), other["id"].clone(), id.clone()]);
    let own = std::slice::from_ref(&id);
    assert_eq!(ids("status=deprecated&kind=table"), own);
    assert!(ids("kind=chart").is_empty());
    let page = get(&gateway, "/api/artifacts?limit=2");
    assert_eq!(ids(&format!("before={}", page["next"].as_str().unwrap())), own);
    assert_eq!(ids(&format!("reply={}", first["reply"].as_str().unwrap())), own);
    assert_eq!(ids(&format!("reply={}", second["index"])), own);
    let reply = get(&gateway, &format!("/api/replies/{}", second["index"]));
    assert_eq!(reply["artifacts"][0]["version"], 2, "{}", reply["artifacts"]);
    assert_eq!(gateway.send("GET", "/api/artifacts?status=good", &[], "").status, 400);
    assert_eq!(gateway.send("GET", "/api/artifacts/../../etc/passwd", &[], "").status, 404);
    // Status changes are in the ledger, as decisions about the content that the person saw.
    let decisions: Vec<Value> =
        desk.leaves().into_iter().filter(|leaf| leaf["kind"] == "decision").collect();
    let words: Vec<&Value> = decisions.iter().map(|leaf| &leaf["decision"]).collect();
    assert_eq!(words, ["final", "deprecated"]);
    let verified = gateway.send("POST", "/api/ledger/verify", &[], "");
    assert_eq!(verified.last()["ok"], true, "{:?}", verified.events);
}

#[test]
fn the_file_of_an_artifact_is_served_by_its_id() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path("files")).unwrap();
    fs::write(desk.path("files/arrivals.csv"), "port,ships\nHamburg,40\n").unwrap();
    let gateway = start(&desk, "console:\n  files: files\n");
    let taken = gateway.send("POST", "/api/replies", &[], &example("file_reference"));
    let id = taken.last()["artifacts"][0]["id"].as_str().unwrap().to_owned();
    let state = get(&gateway, &format!("/api/artifacts/{id}/file/state"));
    assert_eq!(state["state"], "available", "{state}");
    let bearer = format!("Bearer {}", gateway.token);
    let url = gateway.url(&format!("/api/artifacts/{id}/file"));
    let mut file = ureq::get(url).header("Authorization", bearer).call().unwrap();
    assert_eq!(file.body_mut().read_to_string().unwrap(), "port,ships\nHamburg,40\n");
}
