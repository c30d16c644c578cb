//! Serves the tools over MCP. [`Toolset`] answers the calls.

use std::io;
use std::sync::Arc;

use answerback::UuidV4;
use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::{QuitReason, RequestContext, RoleServer, ServerInitializeError, serve_server};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::tools::call::{BuiltinCall, BuiltinCallError};
use crate::tools::definition::{BuiltinToolDefinition, ToolEffect};
use crate::tools::toolset::Toolset;

/// The member of a request's `_meta` whose version 4 UUID is repeated in the envelope's audit.
const CORRELATION_ID: &str = "dev.answerback/correlation_id";
/// The lifetime of a tool list in caches. The tools change only with the program.
const FRESH_FOR_MS: u64 = 3_600_000;
const INSTRUCTIONS: &str = "Tools for a solution with a .bot folder, and three validators. Start with solution_info. \
    Answers of solution_* tools are envelopes: read status and summary first, then data; errors carry codes, and \
    intent says what to call next (dots in its names are underscores here). Answers of validate_* tools say in \
    data.details what was expected and how to mend it.";

/// Serves the tools on a pair of streams, with one JSON message per line, until the input ends.
///
/// Supports both eras of the protocol: `initialize`, and `server/discover` with the version in every request. Requires
/// a tokio runtime with time enabled.
///
/// # Errors
///
/// If the streams fail, or if the client breaks the protocol during setup.
pub(crate) async fn serve<R, W>(tools: Arc<Toolset>, input: R, output: W) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let running = match serve_server(ToolServer::new(tools), (input, output)).await {
        Ok(running) => running,
        // A client that disconnects before its first message is not an error.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ServeError::Setup(Box::new(error))),
    };
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(ServeError::Stopped(error.into())),
        Ok(_) => Ok(()),
    }
}

/// Serves the tools on standard input and output, on its own runtime, until the input ends.
///
/// # Errors
///
/// The errors of [`serve`], or if the runtime cannot be created.
pub(crate) fn serve_stdio(tools: Toolset) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(ServeError::Runtime)?;
    runtime.block_on(serve(Arc::new(tools), tokio::io::stdin(), tokio::io::stdout()))
}

/// The reason why serving ended before the end of the input.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// The runtime could not be created.
    #[error("cannot start a runtime")]
    Runtime(#[source] io::Error),
    /// The client did not set up a session.
    #[error("the client did not set up a session")]
    Setup(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The server's task failed.
    #[error("the server stopped")]
    Stopped(#[source] Box<dyn std::error::Error + Send + Sync>),
}

struct ToolServer {
    tools: Arc<Toolset>,
    listed: Vec<Tool>,
}

impl ToolServer {
    fn new(tools: Arc<Toolset>) -> Self {
        let listed = tools.definitions().map(listed).collect();
        Self { tools, listed }
    }
}

fn listed(definition: &BuiltinToolDefinition) -> Tool {
    let reads = definition.effect == ToolEffect::Reads;
    let annotations = ToolAnnotations::with_title(definition.title)
        .read_only(reads)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    Tool::new(definition.name, definition.description, Arc::new(definition.input_schema.clone()))
        .with_title(definition.title)
        .with_raw_output_schema(Arc::new(definition.output_schema.clone()))
        .with_annotations(annotations)
}

/// The server's description of itself, which clients show to people.
const DESCRIPTION: &str = "Answerback's own MCP tools: three validators that answer in ATDF, five tools for a .bot \
                           folder that answer in tool envelopes.";

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        let this = Implementation::new("answerback-tools", env!("CARGO_PKG_VERSION"))
            .with_title("Answerback tools")
            .with_description(DESCRIPTION);
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(this)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let listed = ListToolsResult::with_all_items(self.listed.clone());
        Ok(listed.with_ttl_ms(FRESH_FOR_MS).with_cache_scope(CacheScope::Public))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.listed.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let id = context.meta.get(CORRELATION_ID).and_then(Value::as_str);
        let id = id.and_then(|id| UuidV4::try_from(id.to_owned()).ok());
        let call = BuiltinCall::new(request.name, arguments).with_correlation_id(id);
        let tools = Arc::clone(&self.tools);
        // Tools read files and block, so they run on a separate thread.
        let answer = tokio::task::spawn_blocking(move || tools.call(&call)).await;
        let answer = answer.map_err(|_| ErrorData::internal_error("the tool stopped", None))?;
        let answer = answer.map_err(|error| protocol_error(&error))?;
        let document = answer.to_document();
        let result = if answer.is_error() {
            CallToolResult::structured_error(document)
        } else {
            CallToolResult::structured(document)
        };
        Ok(result.into())
    }
}

/// Builds a protocol error, which models do not see. Use it only where no tool can answer.
fn protocol_error(error: &BuiltinCallError) -> ErrorData {
    match error {
        BuiltinCallError::UnknownTool(finding) => {
            let data = json!({"expected": finding.expected_value});
            ErrorData::invalid_params(finding.message.clone(), Some(data))
        }
        other => ErrorData::internal_error(other.to_string(), None),
    }
}
