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
use crate::reply::{SubmittedReply, ingest_with_files};
use crate::stream::{self, NewEvent, Publisher};

/// The longest wait for a decision in one call, in seconds.
const MAX_WAIT_SECONDS: u64 = 50;

const INSTRUCTIONS: &str = "Submit results with reply_submit, and show progress with stream_publish. Before an action that a \
    person must allow, call decision_request, then decision_get until the status is decided. Follow the decision: \
    approve means act as you proposed, modify means use the arguments in the decision, reject means do not act.";

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
        Err(error) => {
            tracing::debug!(%error, "a client of the console's tools disconnected during setup");
        }
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
                description: &'static str,
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
        Tool::new(name, description, Arc::new(schema))
            .with_title(title)
            .with_annotations(annotations)
    };
    let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    vec![
        tool(
            "reply_submit",
            "Submit a reply",
            "Records a reply in one of the four contracts (ATDF, governed, UI envelope, tool envelope) and shows it to people. \
             Returns its id, its index in the log, and the findings of its contract.",
            object(
                json!({
                    "document": {"type": "object", "description": "The reply"},
                    "contract": {"enum": ["atdf", "governed", "ui", "tool"], "description": "The reply's contract, if it cannot be recognized"},
                }),
                &["document"],
            ),
            false,
        ),
        tool(
            "stream_publish",
            "Publish to a live stream",
            "Shows people your progress while you work. The first event has the kind envelope and a complete UI envelope. \
             Events of the kinds rows, events, text, patch, signal and note add to it. Set end to end the stream.",
            object(
                json!({
                    "stream": {"type": "string", "minLength": 1, "maxLength": 200},
                    "events": {"type": "array", "maxItems": 1000, "items": {
                        "type": "object", "required": ["kind"], "additionalProperties": false,
                        "properties": {"kind": {"type": "string"}, "body": {}}}},
                    "end": {"type": "boolean", "description": "True if these are the last events"},
                    "outcome": {"type": "string", "description": "The outcome; requires end"},
                }),
                &["stream"],
            ),
            false,
        ),
        tool(
            "decision_request",
            "Ask a person to decide",
            "Submits a proposal or a question to a person and returns the id of its case. Call this before an action that cannot be undone.",
            object(
                json!({
                    "kind": {"enum": ["proposal", "question"]},
                    "title": {"type": "string", "description": "For a proposal: a one-line title"},
                    "description": {"type": "string"},
                    "objective_type": {"type": "string"},
                    "arguments": {"type": "object", "description": "For a proposal: the arguments of the action"},
                    "response_schema": {"type": "object", "description": "For a proposal: the schema that modified arguments must match"},
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
            "Waits for the decision on a case and returns it. If the status is still open, call it again.",
            object(
                json!({
                    "case": {"type": "string", "description": "The id that decision_request returned"},
                    "wait_seconds": {"type": "integer", "minimum": 0, "maximum": MAX_WAIT_SECONDS},
                }),
                &["case"],
            ),
            true,
        ),
    ]
}

#[derive(Deserialize)]
struct SubmitArguments {
    document: Value,
    contract: Option<String>,
}

#[derive(Deserialize)]
struct PublishArguments {
    stream: String,
    #[serde(default)]
    events: Vec<NewEvent>,
    #[serde(default)]
    end: bool,
    outcome: Option<String>,
}

#[derive(Deserialize)]
struct DecisionArguments {
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
        let SubmitArguments { document, contract } = read(arguments)?;
        let contract = contract.map(|word| word.parse()).transpose().map_err(error_text)?;
        let submitted =
            SubmittedReply::new(document.to_string(), &self.principal).with_contract(contract);
        let (console, governance) = (&self.console, self.console.host.active_governance());
        let recorded =
            ingest_with_files(&console.store, governance, &console.files, submitted).await;
        let recorded = recorded.map_err(error_text)?;
        console.live.nudge();
        Ok(json!({
            "id": recorded.id, "index": recorded.index, "contract": recorded.contract.as_str(),
            "accepted": !recorded.is_rejected, "findings": recorded.findings, "cases": recorded.cases, "artifacts": recorded.artifacts,
        }))
    }

    async fn publish(&self, arguments: Value) -> ToolOutput {
        let PublishArguments { stream, events, end, outcome } = read(arguments)?;
        let (store, by) = (&self.console.store, Publisher::named(&self.principal));
        let mut last = None;
        if !events.is_empty() {
            last = Some(stream::publish(store, &by, &stream, events).await.map_err(error_text)?.1);
        }
        if end {
            let ended = stream::end(store, &by, &stream, outcome.as_deref()).await;
            last = ended.map_err(error_text)?.or(last);
        }
        self.console.live.nudge();
        Ok(json!({"stream": stream, "last": last, "ended": end}))
    }

    async fn request(&self, mut arguments: Value) -> ToolOutput {
        let kind = arguments.as_object_mut().and_then(|members| members.remove("kind"));
        let reply = match kind.as_ref().and_then(Value::as_str) {
            Some("proposal") => read::<Proposal>(arguments)?.reply(now()),
            Some("question") => read::<Question>(arguments)?.reply(now()),
            _ => return Err("unknown kind; use proposal or question".to_owned()),
        };
        let reply = reply.map_err(error_text)?;
        let case =
            self.console.request_decision(&reply, &self.principal).await.map_err(error_text)?;
        Ok(json!({"case": case, "status": "open", "next": "Call decision_get with this case."}))
    }

    async fn get(&self, arguments: Value) -> ToolOutput {
        let DecisionArguments { case, wait_seconds } = read(arguments)?;
        let id = UuidV7::try_from(case.as_str()).map_err(|_| {
            "there is no such case; use the id that decision_request returned".to_owned()
        })?;
        let wait = wait_seconds.unwrap_or_default().min(MAX_WAIT_SECONDS);
        let until = Instant::now() + Duration::from_secs(wait);
        let _slot = match wait {
            0 => None,
            _ => Some(self.console.decision_waits.acquire(&self.principal).ok_or_else(|| {
                let most = self.console.decision_waits.limit();
                format!("{most} calls are already waiting for decisions; call again when one of them has returned")
            })?),
        };
        if !self.owns_case(&id).await? {
            return Err(
                "there is no such case; use the id that decision_request returned".to_owned()
            );
        }
        let found = self.console.wait_for_decision(&id, &self.principal, until).await;
        let found = found.map_err(|error| store_error_text(&error))?;
        let found =
            found.ok_or("there is no such case; use the id that decision_request returned")?;
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
    async fn owns_case(&self, id: &UuidV7) -> Result<bool, String> {
        let (console, id, principal) =
            (Arc::clone(&self.console), id.clone(), self.principal.clone());
        let owns = move || match console.store.case(&id)? {
            Some(record) => console.is_requester(&record, &principal),
            None => Ok(false),
        };
        let owned = tokio::task::spawn_blocking(owns).await.map_err(error_text)?;
        owned.map_err(|error| store_error_text(&error))
    }
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(error_text)
}

/// Returns the error text for an agent. The cause goes to the log only, because a store failure may contain the
/// database's address.
fn error_text(error: impl std::error::Error) -> String {
    if let Some(cause) = error.source() {
        tracing::warn!(%cause, "a tool of the console failed");
    }
    error.to_string()
}

/// Returns the public text of a store failure for an agent.
fn store_error_text(error: &StoreError) -> String {
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
        let output = self.call(&request.name, arguments).await;
        let output =
            output.ok_or_else(|| ErrorData::invalid_params("there is no such tool", None))?;
        let result = match output {
            Ok(value) => CallToolResult::structured(value),
            Err(reason) => CallToolResult::structured_error(json!({ "error": reason })),
        };
        Ok(result.into())
    }
}
