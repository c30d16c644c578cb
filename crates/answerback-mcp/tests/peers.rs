//! Tests the bridge with an independent client and server, in all four combinations of eras.
#![expect(clippy::unwrap_used, reason = "a failed test should panic where it fails")]

use std::borrow::Cow;

use answerback_mcp::era::{Era, EraCache, bridge_link};
use answerback_mcp::link::{Incoming, Link, ServerEnd, UnreadableLine, read_lines, write_lines};
use answerback_mcp::wire::Message;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig,
    ClientResult, ContentBlock, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, Implementation, InputRequest, InputRequests, InputRequiredResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
    ServerRequest, Tool,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, RequestContext, RoleClient, RoleServer, RunningService,
};
use rmcp::{ClientHandler, ErrorData, ServerHandler, ServiceExt};
use serde_json::json;
use tokio::io::DuplexStream;

const MAX: usize = 1 << 20;

/// Implements a server of one era whose only tool asks for a name and greets.
#[derive(Clone)]
struct Greeter(Era);

fn who() -> ElicitRequestParams {
    let schema =
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "Who are you?".to_owned(),
        requested_schema: serde_json::from_value(schema).unwrap(),
    }
}

impl ServerHandler for Greeter {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.protocol_version = self.supported_protocol_versions()[0].clone();
        info.server_info = Implementation::new("greeter", "1.2.3");
        info
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        match self.0 {
            Era::Legacy => {
                vec![ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2025_06_18].into()
            }
            Era::Modern => vec![ProtocolVersion::V_2026_07_28].into(),
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({"type": "object"}).as_object().unwrap().clone();
        Ok(ListToolsResult::with_all_items(vec![Tool::new("greet", "Greets", schema)]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = match (self.0, request.input_responses) {
            (Era::Legacy, _) => {
                let question = ServerRequest::ElicitRequest(ElicitRequest::new(who()));
                match context.peer.send_request(question).await {
                    Ok(ClientResult::ElicitResult(answer)) => {
                        answer.content.unwrap_or_default()["name"].clone()
                    }
                    other => return Err(ErrorData::internal_error(format!("{other:?}"), None)),
                }
            }
            (Era::Modern, None) => {
                let question = InputRequest::Elicitation(ElicitRequest::new(who()));
                let questions = InputRequests::from([("who".to_owned(), question)]);
                let state = Some("a \"state\"".into());
                return Ok(InputRequiredResult::new(Some(questions), state).into());
            }
            (Era::Modern, Some(answers)) => {
                assert_eq!(request.request_state.as_deref(), Some("a \"state\""));
                answers["who"]["content"]["name"].clone()
            }
        };
        let text = format!("Hello {}", answer.as_str().unwrap_or("whoever you are"));
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

/// Implements a client whose user can answer questions if `can_answer` is true.
struct Visitor {
    can_answer: bool,
}

impl ClientHandler for Visitor {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if self.can_answer {
            capabilities.elicitation = Some(rmcp::model::ElicitationCapability::default());
        }
        ClientConfig::new(capabilities, Implementation::new("visitor", "1.0.0"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        assert!(self.can_answer, "the client was asked what it did not declare");
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"name": "Ada"})))
    }
}

/// Starts a server of this era and returns a link to it.
fn server(era: Era) -> Link {
    let (theirs, ours) = tokio::io::duplex(MAX);
    tokio::spawn(async move {
        if let Ok(service) = Greeter(era).serve(theirs).await {
            let _ = service.waiting().await;
        }
    });
    let (reading, writing) = tokio::io::split(ours);
    let (link, ServerEnd { from_client: told, to_client: say }) = Link::pair();
    tokio::spawn(write_lines(told, writing));
    tokio::spawn(async move {
        let take = |read: Result<Message, UnreadableLine>| async {
            say.send(Incoming::from(read.unwrap())).await.is_ok()
        };
        read_lines(reading, MAX, take).await;
    });
    link
}

/// Returns the client's stream for this link.
fn stream(link: Link) -> DuplexStream {
    let (theirs, ours) = tokio::io::duplex(MAX);
    let (reading, writing) = tokio::io::split(ours);
    tokio::spawn(write_lines(link.from, writing));
    tokio::spawn(async move {
        let take = |read: Result<Message, UnreadableLine>| async {
            link.to.send(read.unwrap()).await.is_ok()
        };
        read_lines(reading, MAX, take).await;
    });
    theirs
}

async fn client(
    era: Era,
    can_answer: bool,
    link: Link,
) -> Result<RunningService<RoleClient, Visitor>, rmcp::service::ClientInitializeError> {
    let lifecycle = match era {
        Era::Legacy => ClientLifecycleMode::Initialize,
        Era::Modern => {
            let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
            ClientLifecycleMode::Discover { preferred_versions }
        }
    };
    Visitor { can_answer }.serve_with_lifecycle(stream(link), lifecycle).await
}

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

#[tokio::test]
async fn every_client_is_greeted_by_every_server() {
    for (client_era, server_era) in ERAS.into_iter().flat_map(|one| ERAS.map(|two| (one, two))) {
        let cache = EraCache::default();
        if (client_era, server_era) == (Era::Legacy, Era::Modern) {
            // This server ends after it rejects a request. The second link uses the cached era.
            assert!(
                client(client_era, true, bridge_link(server(server_era), cache.clone()))
                    .await
                    .is_err()
            );
            assert_eq!(cache.speaks(Era::Legacy), Some(false));
        }
        let unasked = match client_era {
            Era::Legacy => "which this client does not declare",
            Era::Modern => "Hello whoever you are",
        };
        // If the eras are equal, nothing is translated, not even a question that the client did not declare.
        let cases = [(true, "Hello Ada"), (false, unasked)];
        for (can_answer, expected) in &cases[..=usize::from(client_era != server_era)] {
            let link = bridge_link(server(server_era), cache.clone());
            let client = client(client_era, *can_answer, link).await.unwrap();
            let tools = client.list_all_tools().await.unwrap();
            assert_eq!(tools[0].name, "greet");
            let result = client.call_tool(CallToolRequestParams::new("greet")).await.unwrap();
            let text = serde_json::to_string(&result.content).unwrap();
            assert!(text.contains(expected), "{client_era:?} {server_era:?}: {text}");
            client.cancel().await.unwrap();
        }
        assert_eq!(cache.speaks(client_era), Some(client_era == server_era));
    }
}
