//! The demo's conversation: an agent that calls tools, replies, asks and waits, over HTTP like any other client.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use answerback::UuidV4;
use answerback::contract::governed::{Refusal, RefusalReason, RequestContext, RequestType};
use answerback::governance::Authority;
use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::demo_folder::AGENT;
use crate::output::say;
use answerback_store::system::{now, random};

/// The number of steps of the live stream.
const STEPS: u32 = 24;
/// The pause between two steps.
const STEP: Duration = Duration::from_millis(1500);
/// The number of requests for a decision before the agent gives up.
const TIMEOUT: u32 = 120;

/// Plays the demo until its end or until the server stops. An error is reported and ends only the demo.
pub(crate) fn play(address: SocketAddr, token: &str, folder: &Path) {
    let (token, folder) = (token.to_owned(), folder.to_owned());
    let agent = DemoAgent { address, token, folder, session: None, number: 0 };
    if let Err(error) = agent.run() {
        say(&format!("warning: the demo ended early: {error:#}"));
    }
}

struct DemoAgent {
    address: SocketAddr,
    token: String,
    /// The folder of manifest and lock.
    folder: PathBuf,
    session: Option<String>,
    number: u32,
}

impl DemoAgent {
    fn run(mut self) -> anyhow::Result<()> {
        self.greet()?;
        self.call_tools()?;
        self.answer()?;
        self.refuse()?;
        self.be_caught()?;
        let follower = self.ask_person()?;
        self.work_live()?;
        self.wait_for(&follower)
    }

    fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let asked = ureq::post(format!("http://{}{path}", self.address))
            .header("Authorization", format!("Bearer {}", self.token))
            .header("Content-Type", "application/json")
            .send(body.to_string());
        let text = asked.with_context(|| path.to_owned())?.body_mut().read_to_string()?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    fn get(&self, path: &str) -> anyhow::Result<Value> {
        let asked = ureq::get(format!("http://{}{path}", self.address))
            .header("Authorization", format!("Bearer {}", self.token))
            .call();
        let text = asked.with_context(|| path.to_owned())?.body_mut().read_to_string()?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Sends a message to the gateway and returns the response.
    fn mcp(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        if !method.starts_with("notifications/") {
            self.number += 1;
            message["id"] = self.number.into();
        }
        let mut request = ureq::post(format!("http://{}/mcp", self.address))
            .header("Authorization", format!("Bearer {}", self.token))
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream");
        if let Some(session) = &self.session {
            request = request.header("Mcp-Session-Id", session);
        }
        let mut answer = request.send(message.to_string()).with_context(|| method.to_owned())?;
        if let Some(session) = answer.headers().get("mcp-session-id") {
            self.session = session.to_str().ok().map(ToOwned::to_owned);
        }
        let text = answer.body_mut().read_to_string()?;
        // The response is JSON, or the last event of a stream.
        let data = text.lines().rev().find_map(|line| line.strip_prefix("data: "));
        Ok(serde_json::from_str(data.unwrap_or(&text)).unwrap_or_default())
    }

    fn greet(&mut self) -> anyhow::Result<()> {
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "harbour-agent", "version": "1.0.0"},
        });
        self.mcp("initialize", hello)?;
        self.mcp("notifications/initialized", json!({}))?;
        self.mcp("tools/list", json!({}))?;
        Ok(())
    }

    fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        let answer = self.mcp("tools/call", json!({"name": tool, "arguments": arguments}))?;
        std::thread::sleep(Duration::from_millis(120));
        Ok(answer)
    }

    /// Makes valid calls, a call that fails and is corrected, and one that fails until it is escalated.
    fn call_tools(&mut self) -> anyhow::Result<()> {
        // The date ranges must be in the future.
        let day = |days| now().plus_days(days).to_utc_seconds();
        self.call("validate_email", json!({"email": "harbour.master@example.org"}))?;
        self.call("solution_info", json!({}))?;
        self.call("validate_date_range", json!({"start_date": "4 March", "end_date": 7}))?;
        self.call("validate_date_range", json!({"start_date": day(1), "end_date": day(4)}))?;
        self.call("validate_email", json!({"email": "not an address"}))?;
        for wrong in [json!({"password": 7}), json!({"pass": "x"}), json!({})] {
            self.call("validate_password_strength", wrong)?;
        }
        Ok(())
    }

    /// Submits replies with artifacts of every kind.
    fn answer(&self) -> anyhow::Result<()> {
        let examples: Vec<Value> = serde_json::from_str(answerback_web::EXAMPLES)?;
        for example in &examples {
            // The examples that open cases are submitted later.
            let asks = matches!(example["name"].as_str(), Some("mission_draft" | "clarification"));
            if !asks {
                self.post("/api/replies", &example["document"])?;
            }
        }
        Ok(())
    }

    /// Submits a governed refusal of a question outside the agent's scope.
    fn refuse(&self) -> anyhow::Result<()> {
        let read = |name: &str| -> anyhow::Result<Value> {
            Ok(serde_json::from_str(&fs::read_to_string(self.folder.join(name))?)?)
        };
        let authority = Authority::new(&read("prompt-manifest.json")?, &read("prompt-lock.json")?);
        let asked = RequestContext::new(RequestType::Query, "What will bulk freight cost in May?");
        let words = "Prices are not the harbour's: it knows ships, berths and arrivals.";
        let refusal = Refusal::new(RefusalReason::OutOfScope, words);
        let id = UuidV4::from_random(random()?);
        let reply = authority.speaker(AGENT)?.refusal(id, asked, &refusal).build(now())?;
        self.post("/api/replies", &reply.to_document())?;
        Ok(())
    }

    /// Submits a tampered document, which must be rejected.
    fn be_caught(&self) -> anyhow::Result<()> {
        let replies = self.get("/api/replies?kind=response&limit=200")?;
        let mut governed = replies["replies"].as_array().into_iter().flatten();
        let governed = governed.rfind(|reply| reply["contract"] == "governed");
        let Some(index) = governed.and_then(|reply| reply["index"].as_u64()) else {
            bail!("no result was attested");
        };
        let mut document = self.get(&format!("/api/replies/{index}"))?["document"].take();
        let fresh = || random().map(|bytes| UuidV4::from_random(bytes).to_string());
        document["response_id"] = fresh()?.into();
        document["request_context"]["request_id"] = fresh()?.into();
        document["timestamp"] = now().to_offset_micros().into();
        // The claimed prompt hash differs from the locked one.
        document["agent"]["prompt_hash"] = "0".repeat(64).into();
        self.post("/api/replies?as=governed", &document)?;
        Ok(())
    }

    /// Submits a question and a proposal. Returns the case of the proposal.
    fn ask_person(&self) -> anyhow::Result<String> {
        let examples: Vec<Value> = serde_json::from_str(answerback_web::EXAMPLES)?;
        let mut case = String::new();
        for name in ["clarification", "mission_draft"] {
            let example = examples.iter().find(|example| example["name"] == name);
            let document = example.map(|example| &example["document"]).context("the example")?;
            let taken = self.post("/api/replies", document)?;
            taken["cases"][0].as_str().unwrap_or_default().clone_into(&mut case);
        }
        Ok(case)
    }

    /// Publishes a live stream.
    fn work_live(&self) -> anyhow::Result<()> {
        let stream = "/api/streams/berth-watch";
        let start = now().to_offset_micros();
        let envelope = json!({
            "response_type": "live_execution",
            "summary": "Watching nine berths.",
            "artifacts": [
                {"artifact_type": "timeline", "title": "What happened", "content": {"events": [], "event_count": 0, "start_time": null, "end_time": null}, "metadata": {}},
                {"artifact_type": "table", "title": "Berths", "content": {"columns": ["Time", "Berth", "Ship", "Draught m"], "rows": [], "row_count": 0, "column_count": 4}, "metadata": {}},
            ],
            "missions_spawned": [], "signals_emitted": [], "live_stream_id": "berth-watch",
            "ui_hints": null, "metadata": {}, "timestamp": start,
        });
        self.post(&format!("{stream}/events"), &json!({"kind": "envelope", "body": envelope}))?;
        let ships = ["Aurora", "Borealis", "Cygnus", "Draco", "Eridanus"];
        for step in 0..STEPS {
            let (time, ship) = (now().to_offset_micros(), ships[step as usize % ships.len()]);
            let berth = step % 9 + 1;
            let draught = f64::from(80 + step * 7 % 45) / 10.0;
            let events = json!([
                {"kind": "rows", "body": {"artifact": 1, "rows": [[time, berth, ship, draught]]}},
                {"kind": "events", "body": {"artifact": 0, "events": [{"timestamp": time, "event": format!("{ship} at berth {berth}"), "status": if step % 7 == 6 { "failed" } else { "completed" }}]}},
                {"kind": "signal", "body": {"signal_type": "berth_taken", "signal_layer": if step % 5 == 4 { "mission" } else { "selector" }, "signal_source": "harbour", "timestamp": time}},
            ]);
            self.post(&format!("{stream}/events"), &events)?;
            std::thread::sleep(STEP);
        }
        self.post(&format!("{stream}/end"), &json!({"outcome": "completed"}))?;
        Ok(())
    }

    /// Waits for the decision and acknowledges it.
    fn wait_for(&self, case: &str) -> anyhow::Result<()> {
        for _ in 0..TIMEOUT {
            let decided = self.get(&format!("/api/cases/{case}/decision?wait=30"))?;
            if decided["case"]["state"]["status"] == "decided" {
                let note =
                    json!({"outcome": "done", "note": "The harbour agent has taken the decision."});
                self.post(&format!("/api/cases/{case}/acknowledgement"), &note)?;
                return Ok(());
            }
        }
        Ok(())
    }
}
