//! Serves the HTTP route that checks single calls, for programs without MCP.

use std::sync::Arc;

use answerback::checker::{CallRequest, ToolCatalog};
use answerback::contract::atdf::ErrorBuilder;
use answerback::finding::secrets;
use answerback_http::{Principal, Problem, ProblemKind, Routes, Scope};
use axum::Extension;
use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::Value;

use super::call_check::CallCheck;
use super::service_config::ServiceConfig;
use super::{Backend, GatewayService};
use crate::Upstream;
use crate::blocking;
use crate::envelope::finding_code;
use crate::gateway_message::CallClass;
use crate::tool_naming::ToolNames;

/// The seconds after which a client should retry if a server is missing. The server is restarted in about that
/// time.
const RETRY_AFTER: u16 = 5;

pub(super) fn routes(service: &Arc<GatewayService>) -> Routes {
    let service = Arc::clone(service);
    Routes::new().route(
        "/api/calls/check",
        Scope::Read,
        post(move |Extension(principal): Extension<Principal>, body: Bytes| async move {
            check(&service, &principal, &body).await
        }),
    )
}

fn json_response(value: &impl serde::Serialize) -> Result<Response, Problem> {
    let text = serde_json::to_string(value)
        .map_err(|error| Problem::new(ProblemKind::Internal).log_cause(error))?;
    let content_type = [(axum::http::header::CONTENT_TYPE, "application/json")];
    Ok((content_type, text).into_response())
}

/// Builds the problem for an invalid body.
fn invalid_body(detail: impl std::fmt::Display) -> Problem {
    // The text may contain names from the body.
    let detail = secrets::redact(&detail.to_string()).into_owned();
    let error = ErrorBuilder::new("INVALID_PARAMETER", detail, "body");
    let error =
        error.condition("The body has the form that the route describes").solution("Fix the body");
    Problem::from_error(ProblemKind::BadRequest, error)
}

/// The tool that a name refers to, if servers are combined.
enum CheckTarget {
    /// A tool of this server, with the server's own name for it.
    Tool(Arc<Upstream>, String),
    /// A tool of the server with this name, which has not listed its tools since the gateway started.
    Unlisted(String),
    /// No known tool has this name.
    Unknown,
}

impl CheckTarget {
    fn find(config: &ServiceConfig, name: &str) -> Self {
        let backends = &config.backends;
        let names = current_names(config);
        let owner =
            names.server_tool(name).and_then(|(server, tool)| Some((backends.get(server)?, tool)));
        if let Some((backend, tool)) = owner {
            // Tools that were listed through the upstream set are compiled by the first direct call.
            let listed = || {
                let settings = config.gateway.settings();
                backend.served.last_upstream(|name| settings.allows(name)).map(Arc::new)
            };
            return match backend.upstream().or_else(listed) {
                Some(upstream) => Self::Tool(upstream, tool.to_owned()),
                None => Self::Unlisted(backend.name().to_owned()),
            };
        }
        // A tool without an assigned name would get its own. A tool with another assigned name must be called by
        // that.
        let upstream = backends.iter().enumerate().find_map(|(server, backend)| {
            let upstream = backend.upstream()?;
            let is_match =
                upstream.tools.contains(name) && names.client_name(server, name).is_none();
            is_match.then_some(upstream)
        });
        upstream.map_or(Self::Unknown, |upstream| Self::Tool(upstream, name.to_owned()))
    }
}

/// The names of tools. Until the tools are listed, the stored names and the pinned tools apply.
fn current_names(config: &ServiceConfig) -> Arc<ToolNames> {
    let names = config.names.current();
    if !names.is_empty() {
        return names;
    }
    let pinned = |backend: &'_ Backend| (backend.name().to_owned(), backend.pinned_tools());
    let pinned: Vec<(String, Vec<String>)> = config.backends.iter().map(pinned).collect();
    let servers: Vec<&str> = pinned.iter().map(|(server, _)| server.as_str()).collect();
    config.names.assign(&servers, |stored| match pinned.as_slice() {
        [(_, tools)] => stored.and_unprefixed(tools),
        pinned => stored.and(pinned.iter().map(|(server, tools)| (server.as_str(), tools.clone()))),
    })
}

/// Builds the problem for a tool whose server has not listed its tools.
fn unlisted(server: &str) -> Problem {
    let text = format!(
        "The call cannot be checked: its tool belongs to the server {server}, which has not listed its tools since the \
         gateway started. No error in the call is known"
    );
    let error = ErrorBuilder::new(finding_code::TOOLS_UNKNOWN, text, "tool")
        .condition("The server of the tool has listed its tools")
        .detail("server", server)
        .detail("class", CallClass::Wait.as_str())
        .solution("Try again later; or give the tool's inputSchema as \"schema\"");
    Problem::from_error(ProblemKind::Unavailable, error).with_retry_after(RETRY_AFTER)
}

/// Checks one call. The body is a line of `answerback replay`, with the tool's `inputSchema` as `schema`. Without
/// a schema, the call refers to a tool by its name at `/mcp`. If the call names a conversation, its attempts are
/// counted, and a person is asked after the last one.
async fn check(
    service: &GatewayService,
    principal: &Principal,
    body: &[u8],
) -> Result<Response, Problem> {
    let config = service.config();
    let gateway = &config.gateway;
    let mut line = CallRequest::read(body, gateway.limits).map_err(invalid_body)?;
    let schema = serde_json::from_slice::<Value>(body).ok().and_then(|mut line| {
        let schema = line.get_mut("schema").map(Value::take);
        schema.filter(|schema| !schema.is_null())
    });
    let inline = schema
        .map(|schema| blocking::run(body.len(), || ToolCatalog::new([(line.tool.clone(), schema)])))
        .transpose()
        .map_err(invalid_body)?;
    let called = line.tool.clone();
    let upstream = match inline {
        Some(_) => None,
        None => match CheckTarget::find(&config, &called) {
            CheckTarget::Tool(upstream, tool) => {
                line.tool = tool;
                Some(upstream)
            }
            CheckTarget::Unlisted(server) => return Err(unlisted(&server)),
            // An unknown tool is answered with the tools of the first server.
            CheckTarget::Unknown => config.backends.iter().find_map(Backend::upstream),
        },
    };
    let catalogue = match (&inline, &upstream) {
        (Some(inline), _) => inline,
        (None, Some(upstream)) => upstream.tools.inputs(),
        (None, None) => {
            let text = "no schema is given, and no server has listed its tools yet: give the tool's inputSchema as \"schema\"";
            return Err(invalid_body(text));
        }
    };
    let conversation = line.conversation.clone();
    // Counting an attempt changes the response to the next call, so it needs the scope for calls. A check without
    // counting changes nothing.
    if conversation.is_some() && !principal.has(Scope::Call) {
        return Err(Problem::new(ProblemKind::Forbidden));
    }
    let server = upstream.as_ref().map(|upstream| upstream.name.as_str());
    let check = CallCheck { gateway, catalogue, server, principal: principal.name(), line };
    let response = match conversation {
        Some(conversation) => check.run_and_count(&conversation).await.map_err(unavailable),
        None => check.run().map_err(unavailable),
    };
    let mut response = response?;
    response.line.tool = secrets::redact(&called).into_owned();
    json_response(&response)
}

fn unavailable(error: impl std::fmt::Display) -> Problem {
    Problem::new(ProblemKind::Unavailable).log_cause(error)
}
