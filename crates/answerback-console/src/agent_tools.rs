//! MCP tools of the console for agents: submit a reply, publish to a stream, request a decision and get it. With them
//! an agent needs no HTTP client.

use std::sync::Arc;
use std::time::Duration;

use answerback::UuidV7;
use answerback::case::CaseState;
use answerback_store::StoreError;
use answerback_store::system::now;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use crate::Console;
use crate::case::{Proposal, Question};
use crate::reply::{SubmittedReply, take_in_with};
use crate::stream::{self, NewEvent, Publisher};

/// The longest wait for a decision in one call, in seconds.
const LONGEST_WAIT: u64 = 50;

const INSTRUCTIONS: &str = "Hand results in with reply_submit, show progress with stream_publish, and ask before you do \
    what a person has to allow: decision_request, then decision_get until its status is decided. Do what the decision \
    says: approve means as you proposed it, modify means with the arguments that it gives, reject means not at all.";

/// Serves the tools on a stream to a client of this principal until the stream ends. The gateway creates one such
/// server per client.
pub async fn serve(
    console: Arc<Console>,
    principal: String,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) {
    let (input, output) = tokio::io::split(stream);
    match serve_server(AgentToolServer { console, principal }, (input, output)).await {
        Ok(running) => {
            // The result is irrelevant, because the client is in this process.
            let _ = running.waiting().await;
        }
        Err(error) => tracing::debug!(%error, "a client of our own tools left before it began"),
    }
}

struct AgentToolServer {
    console: Arc<Console>,
    /// The principal in whose name the agent submits, publishes and asks.
    principal: String,
}

fn tools() -> Vec<Tool> {
    let tool = |name: &'static str,
                title: &'static str,
                about: &'static str,
                schema: Value,
                reads: bool| {
        let schema = match schema {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        let annotations = ToolAnnotations::with_title(title)
            .read_only(reads)
            .destructive(false)
            .open_world(false);
        Tool::new(name, about, Arc::new(schema)).with_title(title).with_annotations(annotations)
    };
    let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    vec![
        tool(
            "reply_submit",
            "Hand in a reply",
            "Records a reply in one of the four contracts (ATDF, governed, UI envelope, tool envelope) and shows it to people. \
             Gives its id, its receipt and what its contract says of it.",
            object(
                json!({
                    "document": {"type": "object", "description": "The reply"},
                    "contract": {"enum": ["atdf", "governed", "ui", "tool"], "description": "Its contract, when it is not plain"},
                }),
                &["document"],
            ),
            false,
        ),
        tool(
            "stream_publish",
            "Publish to a live stream",
            "Shows people what you are doing while you do it. The first event is of kind envelope with a whole UI envelope; \
             then rows, events, text, patch, signal and note add to it. With end the stream is over.",
            object(
                json!({
                    "stream": {"type": "string", "minLength": 1, "maxLength": 200},
                    "events": {"type": "array", "maxItems": 1000, "items": {
                        "type": "object", "required": ["kind"], "additionalProperties": false,
                        "properties": {"kind": {"type": "string"}, "body": {}}}},
                    "end": {"type": "boolean", "description": "Whether these are the last"},
                    "outcome": {"type": "string", "description": "How it went, with end"},
                }),
                &["stream"],
            ),
            false,
        ),
        tool(
            "decision_request",
            "Ask a person to decide",
            "Lays a proposal or a question before a person and gives the id of its case. Ask before you do what cannot be undone.",
            object(
                json!({
                    "kind": {"enum": ["proposal", "question"]},
                    "title": {"type": "string", "description": "Of a proposal: what it is about, in a line"},
                    "description": {"type": "string"},
                    "objective_type": {"type": "string"},
                    "arguments": {"type": "object", "description": "Of a proposal: with what"},
                    "response_schema": {"type": "object", "description": "Of a proposal: what changed arguments have to fit"},
                    "risk": {"enum": ["low", "high"]},
                    "effects": {"type": "array", "items": {"type": "string"}},
                    "question": {"type": "string"},
                    "options": {"type": "array", "items": {"type": "string"}},
                    "allow_free_text": {"type": "boolean"},
                    "context": {"type": "object"},
                    "expires_in_seconds": {"type": "integer", "minimum": 1},
                }),
                &["kind"],
            ),
            false,
        ),
        tool(
            "decision_get",
            "Get a decision",
            "Waits for the decision about a case and gives it. When its status is still open, call it again.",
            object(
                json!({
                    "case": {"type": "string", "description": "The id that decision_request gave"},
                    "wait_seconds": {"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT},
                }),
                &["case"],
            ),
            true,
        ),
    ]
}

#[derive(Deserialize)]
struct Submitted {
    document: Value,
    contract: Option<String>,
}

#[derive(Deserialize)]
struct Publish {
    stream: String,
    #[serde(default)]
    events: Vec<NewEvent>,
    #[serde(default)]
    end: bool,
    outcome: Option<String>,
}

#[derive(Deserialize)]
struct Get {
    case: String,
    wait_seconds: Option<u64>,
}

type ToolOutput = Result<Value, String>;

impl AgentToolServer {
    async fn call(&self, name: &str, arguments: Value) -> Option<ToolOutput> {
        Some(match name {
            "reply_submit" => self.submit(arguments).await,
            "stream_publish" => self.publish(arguments).await,
            "decision_request" => self.request(arguments).await,
            "decision_get" => self.get(arguments).await,
            _ => return None,
        })
    }

    async fn submit(&self, arguments: Value) -> ToolOutput {
        let Submitted { document, contract } = read(arguments)?;
        let contract = contract.map(|word| word.parse()).transpose().map_err(told)?;
        let handed_in =
            SubmittedReply::new(document.to_string(), &self.principal).with_contract(contract);
        let (console, in_force) = (&self.console, self.console.behind.in_force());
        let taken = take_in_with(&console.store, in_force, &console.files, handed_in).await;
        let taken = taken.map_err(told)?;
        console.live.nudge();
        Ok(json!({
            "id": taken.id, "index": taken.index, "contract": taken.contract.as_str(),
            "accepted": !taken.is_rejected, "findings": taken.findings, "cases": taken.cases, "artifacts": taken.artifacts,
        }))
    }

    async fn publish(&self, arguments: Value) -> ToolOutput {
        let Publish { stream, events, end, outcome } = read(arguments)?;
        let (store, by) = (&self.console.store, Publisher::named(&self.principal));
        let mut last = None;
        if !events.is_empty() {
            last = Some(stream::publish(store, &by, &stream, events).await.map_err(told)?.1);
        }
        if end {
            let ended = stream::end(store, &by, &stream, outcome.as_deref()).await;
            last = ended.map_err(told)?.or(last);
        }
        self.console.live.nudge();
        Ok(json!({"stream": stream, "last": last, "ended": end}))
    }

    async fn request(&self, mut arguments: Value) -> ToolOutput {
        let kind = arguments.as_object_mut().and_then(|members| members.remove("kind"));
        let reply = match kind.as_ref().and_then(Value::as_str) {
            Some("proposal") => read::<Proposal>(arguments)?.reply(now()),
            Some("question") => read::<Question>(arguments)?.reply(now()),
            _ => return Err("kind is proposal or question".to_owned()),
        };
        let reply = reply.map_err(told)?;
        let case = self.console.ask(&reply, &self.principal).await.map_err(told)?;
        Ok(json!({"case": case, "status": "open", "next": "Call decision_get with this case."}))
    }

    async fn get(&self, arguments: Value) -> ToolOutput {
        let Get { case, wait_seconds } = read(arguments)?;
        let id = UuidV7::try_from(case.as_str()).map_err(|_| "there is no such case".to_owned())?;
        let wait = wait_seconds.unwrap_or_default().min(LONGEST_WAIT);
        let until = Instant::now() + Duration::from_secs(wait);
        let _held = match wait {
            0 => None,
            _ => Some(self.console.waiting.take(&self.principal).ok_or_else(|| {
                let most = self.console.waiting.most();
                format!("{most} calls wait for decisions already; call again when one has ended")
            })?),
        };
        if !self.asked(&id).await? {
            return Err("there is no such case".to_owned());
        }
        let found = self.console.decided(&id, &self.principal, until).await;
        let found = found.map_err(|error| store_failed(&error))?;
        let found = found.ok_or("there is no such case")?;
        Ok(match &found.case.state {
            CaseState::Decided { submission, at } => {
                json!({"case": id, "status": "decided", "decision": submission, "at": at})
            }
            _ if found.is_expired => json!({"case": id, "status": "lapsed"}),
            _ => json!({"case": id, "status": "open", "next": "Call decision_get again."}),
        })
    }
}

impl AgentToolServer {
    /// True if the case belongs to this principal. For a case of another principal the agent gets "no such case", so it
    /// cannot find out that the case exists.
    async fn asked(&self, id: &UuidV7) -> Result<bool, String> {
        let (console, id, principal) =
            (Arc::clone(&self.console), id.clone(), self.principal.clone());
        let asked = move || match console.store.case(&id)? {
            Some(record) => console.was_asked_by(&record, &principal),
            None => Ok(false),
        };
        let asked = tokio::task::spawn_blocking(asked).await.map_err(told)?;
        asked.map_err(|error| store_failed(&error))
    }
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(told)
}

/// Returns the error text for an agent. The cause goes to the log only, because a store failure may contain the
/// database's address.
fn told(error: impl std::error::Error) -> String {
    if let Some(cause) = error.source() {
        tracing::warn!(%cause, "a tool of the console failed");
    }
    error.to_string()
}

/// Returns the public text of a store failure for an agent.
fn store_failed(error: &StoreError) -> String {
    tracing::warn!(cause = %error, "a tool of the console failed");
    error.public_message().into_owned()
}

impl ServerHandler for AgentToolServer {
    fn get_info(&self) -> ServerConfig {
        let this = Implementation::new("answerback-console", env!("CARGO_PKG_VERSION"))
            .with_title("Answerback console");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(this)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let given = self.call(&request.name, arguments).await;
        let given =
            given.ok_or_else(|| ErrorData::invalid_params("there is no such tool", None))?;
        let result = match given {
            Ok(value) => CallToolResult::structured(value),
            Err(reason) => CallToolResult::structured_error(json!({ "error": reason })),
        };
        Ok(result.into())
    }
}
