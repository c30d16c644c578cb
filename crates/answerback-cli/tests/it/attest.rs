//! Tests results as governed responses, from the client's call to the proof in the ledger.

use std::fs;

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::program::told;
use crate::wrap::{Client, Desk, meta, stub, text};

/// A test environment in which an agent of the example manifest attests the results.
struct Governed {
    desk: Desk,
    prompts: Folder,
    config: String,
}

impl Governed {
    fn new(name: &str, agent: &str) -> Self {
        let (desk, prompts) = (Desk::new(), Folder::of_prompts(name));
        let folder = prompts.path();
        let config = desk.config(&format!(
            "governance:\n  manifest: {folder}/prompt-manifest.json\n  lock: {folder}/prompt-lock.json\n  agent: {agent}\n"
        ));
        Self { desk, prompts, config }
    }

    /// Starts a client of a server that answers with tasks.
    fn client_of_tasks(&self) -> Client {
        let mut command = self.desk.command();
        command.env("STUB_MORE", "1").args(["wrap", "--name", "stub", "--config", &self.config]);
        command.args(["--", "python3"]).arg(stub());
        Client::start(command)
    }

    fn ledger(&self, words: &[&str]) -> String {
        self.desk.good(&[&["ledger", "--config", &self.config], words].concat())
    }

    fn leaf(&self, receipt: &Value) -> Value {
        let index = receipt["index"].to_string();
        let entry = self.ledger(&["show", &index, "--format", "json"]);
        let entry: Value = serde_json::from_str(&entry).unwrap();
        assert_eq!(entry["hash"], receipt["leafHash"], "{entry}");
        entry["leaf"].clone()
    }

    /// Writes a part of an entry to a file.
    fn part(&self, receipt: &Value, name: &str) -> String {
        let index = receipt["index"].to_string();
        let bytes = self.ledger(&["show", &index, "--part", name, "--raw"]);
        self.prompts.put(&format!("{name}.json"), &bytes)
    }

    fn against(&self) -> [String; 4] {
        let folder = self.prompts.path();
        [
            "--manifest".to_owned(),
            format!("{folder}/prompt-manifest.json"),
            "--lock".to_owned(),
            format!("{folder}/prompt-lock.json"),
        ]
    }
}

#[test]
fn a_call_goes_through_all_five_contracts() {
    let governed = Governed::new("attest-all", "domain-01-analysis");
    let desk = &governed.desk;
    let mut client = desk.client(&["--config", &governed.config]);
    // The model gets the correction message, and the server does not see the call.
    let wrong = client.call("count", json!({"n": "three"}));
    assert_eq!(meta(&wrong, "retry")["class"], "arguments", "{wrong}");
    assert!(text(&wrong).contains("/n (VAL-002)"), "{wrong}");
    // A call that did not run has no attested response.
    let refused = governed.leaf(meta(&wrong, "receipt"));
    assert_eq!((&refused["kind"], refused.get("agent_id")), (&json!("validation"), None));
    // A valid call returns the tool envelope, and the receipt of the governed response.
    let answer = client.call("count", json!({"n": 3}));
    assert_eq!(text(&answer), "3 kg");
    let envelope = governed.prompts.write("envelope.json", meta(&answer, "envelope"));
    desk.good(&["check", "--as", "tool", &envelope]);
    let receipt = meta(&answer, "receipt").clone();
    client.leave();

    // The governed response is recorded and accepted.
    let leaf = governed.leaf(&receipt);
    assert_eq!((&leaf["kind"], &leaf["contract"]), (&json!("response"), &json!("governed")));
    assert_eq!(leaf["response_id"], receipt["responseId"]);
    assert_eq!(leaf["agent_id"], "domain-01-analysis");
    assert_eq!(leaf["verdict"], json!({"failed": [], "result": "accepted"}));
    let response = governed.part(&receipt, "response");
    let document: Value = serde_json::from_str(&fs::read_to_string(&response).unwrap()).unwrap();
    assert_eq!(document["response_id"], receipt["responseId"]);
    let correlation_id = &meta(&answer, "envelope")["audit"]["correlation_id"];
    assert_eq!(&document["request_context"]["request_id"], correlation_id);
    assert_eq!(document["response"]["content"]["data"]["tool"], "count");
    let data = &document["response"]["content"]["data"]["data"];
    assert_eq!(data["content"][0]["text"], "3 kg", "{document}");
    for flag in
        ["within_scope", "boundaries_respected", "quality_standards_met", "constraints_followed"]
    {
        assert_eq!(document["governance"][flag], true, "{document}");
    }
    let against = governed.against();
    let against: Vec<&str> = against.iter().map(String::as_str).collect();
    let checked = desk.good(&[&["check", "--as", "governed"], &*against, &[&response]].concat());
    assert!(checked.contains("accepted: domain domain-01-analysis"), "{checked}");

    // The recorded document converts to the other two contracts.
    for contract in ["ui", "atdf"] {
        let converted = desk.good(&["convert", "--to", contract, &response]);
        let converted = governed.prompts.put(&format!("{contract}.json"), &converted);
        desk.good(&["check", "--as", contract, &converted]);
    }

    // The ledger verifies at all levels, and so does the receipt.
    let report = governed.ledger(&["verify", "--format", "json"]);
    let report: Value = serde_json::from_str(report.trim()).unwrap();
    let levels = report["levels"].as_array().unwrap();
    assert_eq!(levels.iter().filter(|level| level["held"] == true).count(), 5, "{report}");
    let proof = governed.ledger(&["prove", &receipt["index"].to_string()]);
    let proof = governed.prompts.put("receipt.txt", &proof);
    governed.ledger(&["verify", "--receipt", &proof]);
    let leaves = governed.ledger(&["tail", "-n", "100", "--format", "json"]);
    let subjects: Vec<String> = leaves
        .lines()
        .filter_map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            Some(line["leaf"]["subject"].as_str()?.to_owned())
        })
        .collect();
    assert_eq!(subjects, ["start", "manifest", "lock", "start", "policy", "catalogue", "stop"]);
}

#[test]
fn what_cannot_be_attested_is_not_claimed() {
    let governed = Governed::new("attest-doubts", "archetype-01-product-thinker");
    let mut client = governed.desk.client(&["--config", &governed.config]);
    for (tool, arguments, status, flag, why) in [
        ("say_nothing", json!({}), "success", "quality_standards_met", "said nothing"),
        (
            "broken_schema",
            json!({}),
            "success",
            "constraints_followed",
            "input schema cannot be used",
        ),
        ("fail", json!({}), "error", "quality_standards_met", "ran and failed"),
        ("echo", json!({"text": "api_key=sk_live_4eC39HqLyjWDarjtT1zdp7dc"}), "success", "", ""),
    ] {
        let answer = client.call(tool, arguments);
        let receipt = meta(&answer, "receipt");
        let response = fs::read_to_string(governed.part(receipt, "response")).unwrap();
        assert!(!response.contains("sk_live_4eC39HqLyjWDarjtT1zdp7dc"), "{response}");
        let response: Value = serde_json::from_str(&response).unwrap();
        assert_eq!(response["response"]["status"], status, "{response}");
        if flag.is_empty() {
            assert_eq!(response["governance"]["explanation"], Value::Null, "{response}");
            continue;
        }
        assert_eq!(response["governance"][flag], false, "{response}");
        let explanation = response["governance"]["explanation"].as_str().unwrap();
        assert!(explanation.contains(flag) && explanation.contains(why), "{explanation}");
    }
    client.leave();
    governed.ledger(&["verify"]);
}

#[test]
fn a_result_that_nobody_vouches_for_is_withheld() {
    let governed = Governed::new("attest-refused", "domain-01-analysis");
    let mut client = governed.desk.client(&["--config", &governed.config]);
    assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    // The lock changes while the gateway still attests under the old one.
    governed.prompts.edit("prompt-lock.json", "81c7615", "91c7615");
    let answer = client.call("echo", json!({"text": "swordfish"}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let retry = meta(&answer, "retry");
    assert_eq!(
        (&retry["class"], &retry["code"], &retry["retryable"]),
        (&json!("stop"), &json!("HASH_VERIFICATION_FAILURE"), &json!(false))
    );
    assert!(text(&answer).contains("Do not repeat the call"), "{answer}");
    assert!(!answer.to_string().contains("swordfish"), "{answer}");
    let receipt = meta(&answer, "receipt").clone();
    let leaf = governed.leaf(&receipt);
    assert_eq!((&leaf["kind"], &leaf["outcome"]), (&json!("rejected"), &json!("refused")));
    assert_eq!((&leaf["verdict"]["result"], leaf.get("agent_id")), (&json!("refused"), None));
    let refusal = fs::read_to_string(governed.part(&receipt, "refusal")).unwrap();
    assert!(refusal.contains("HASH_VERIFICATION_FAILURE"), "{refusal}");
    let delivered = fs::read_to_string(governed.part(&receipt, "delivered")).unwrap();
    assert!(delivered.contains("Do not repeat the call"), "{delivered}");
    assert!(!delivered.contains("swordfish"), "{delivered}");
    // An invalid lock has the same effect.
    governed.prompts.put("prompt-lock.json", "{");
    let answer = client.call("echo", json!({"text": "b"}));
    assert_eq!(meta(&answer, "retry")["class"], "stop", "{answer}");
    // When the lock is restored, results are attested again.
    let example =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/governance/prompt-lock.json");
    governed.prompts.put("prompt-lock.json", &fs::read_to_string(example).unwrap());
    assert_eq!(text(&client.call("echo", json!({"text": "c"}))), "c");
    client.leave();
    governed.ledger(&["verify"]);
}

#[test]
fn a_result_that_cannot_be_read_is_withheld_and_one_that_repeats_a_name_is_doubted() {
    let governed = Governed::new("attest-unread", "domain-01-analysis");
    let mut client = governed.desk.client(&["--config", &governed.config]);
    let unread = client.call("odd", json!({"how": "beyond"}));
    let retry = meta(&unread, "retry");
    assert_eq!(
        (&retry["class"], &retry["code"]),
        (&json!("stop"), &json!("RESULT_UNREADABLE")),
        "{unread}"
    );
    let receipt = meta(&unread, "receipt");
    let delivered = fs::read_to_string(governed.part(receipt, "delivered")).unwrap();
    assert!(delivered.contains("nobody can vouch for it"), "{delivered}");
    assert!(fs::read_to_string(governed.part(receipt, "received")).unwrap().contains("1e400"));
    let twice = client.call("odd", json!({"how": "twice"}));
    let response = governed.part(meta(&twice, "receipt"), "response");
    let response: Value = serde_json::from_str(&fs::read_to_string(response).unwrap()).unwrap();
    assert_eq!(response["governance"]["quality_standards_met"], false, "{response}");
    client.leave();
    governed.ledger(&["verify"]);
}

#[test]
fn who_cannot_speak_does_not_start() {
    for (agent, expected) in
        [("domain-09-magic", "domain-09-magic"), ("domain-01-analysi", "domain-01-analysis")]
    {
        let governed = Governed::new("attest-nobody", agent);
        let command = &mut governed.desk.command();
        let output = command.args(["wrap", "--config", &governed.config, "--", "true"]).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(told(&output).contains(expected), "{}", told(&output));
        assert!(!governed.desk.path("ledger.db").exists());
    }
    let desk = Desk::new();
    let config = desk.config("governance: {agent: domain-01-analysis}\n");
    let output = desk.command().args(["wrap", "--config", &config, "--", "true"]).output().unwrap();
    assert!(
        told(&output).contains("set governance.manifest and governance.lock"),
        "{}",
        told(&output)
    );
}

/// Concurrent requests for a task's result each get the server's response, under a response id of their own.
#[test]
fn results_of_a_task_that_come_at_the_same_moment_are_each_answered_for() {
    let governed = Governed::new("attest-race", "domain-01-analysis");
    let mut client = governed.client_of_tasks();
    client.call("later", json!({"task": "other"}));
    let ask = |number: usize| {
        json!({"jsonrpc": "2.0", "id": format!("ask {number}"), "method": "tasks/result", "params": {"taskId": "other"}}).to_string()
    };
    let asked: Vec<String> = (1..=12).map(ask).collect();
    client.say(&asked.join("\n"));
    let mut seen = std::collections::BTreeSet::new();
    for _ in &asked {
        let result = client.hear();
        assert!(text(&result).starts_with("done "), "{result}");
        assert!(seen.insert(meta(&result, "receipt")["responseId"].to_string()), "{result}");
    }
    client.leave();
    governed.ledger(&["verify"]);
}

#[test]
fn the_result_of_a_task_is_answered_for_once() {
    let governed = Governed::new("attest-task", "domain-01-analysis");
    let begin = || governed.client_of_tasks();
    let mut client = begin();
    let made = client.call("later", json!({}));
    let task = governed.leaf(meta(&made, "receipt"));
    assert_eq!((&task["outcome"], task.get("agent_id")), (&json!("task"), None));
    let ask = |mut client: Client| {
        let result = client.ask("tasks/result", json!({"taskId": "t-1"}));
        client.leave();
        meta(&result, "receipt").clone()
    };
    let receipt = ask(client);
    assert_eq!(ask(begin()), receipt);
    let leaf = governed.leaf(&receipt);
    assert_eq!(
        (&leaf["contract"], &leaf["agent_id"]),
        (&json!("governed"), &json!("domain-01-analysis"))
    );
    assert_eq!(leaf["response_id"], receipt["responseId"]);
    assert_eq!(leaf["correlation_id"], task["correlation_id"]);
    // Different results of one task are each attested, however many there are.
    let mut client = begin();
    client.call("later", json!({"task": "other"}));
    let mut seen = std::collections::BTreeSet::new();
    for number in 1..=18 {
        let result = client.ask("tasks/result", json!({"taskId": "other"}));
        assert_eq!(text(&result), format!("done {number}"), "{result}");
        assert_eq!(governed.leaf(meta(&result, "receipt"))["agent_id"], "domain-01-analysis");
        assert!(seen.insert(meta(&result, "receipt")["responseId"].to_string()), "{result}");
    }
    // The gateway did not see this task's call, so it was not checked. The record says so.
    let unknown = client.ask("tasks/result", json!({"taskId": "t-9"}));
    let leaf = governed.leaf(meta(&unknown, "receipt"));
    assert_eq!((&leaf["contract"], leaf.get("tool")), (&json!("governed"), None), "{leaf}");
    client.leave();
    governed.ledger(&["verify"]);
}
