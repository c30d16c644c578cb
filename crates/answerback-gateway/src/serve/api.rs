//! Serves the HTTP API for programs without MCP, which checks single calls.

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

use super::check::Checking;
use super::names::ToolNames;
use super::{Backend, Current, Service};
use crate::Upstream;
use crate::blocking;
use crate::envelope::found;
use crate::gateway_reply::CallClass;

/// The seconds after which a client should retry if a server is missing. The server is restarted in about that
/// time.
const RETRY_AFTER: u16 = 5;

pub(super) fn routes(service: &Arc<Service>) -> Routes {
    let checking = Arc::clone(service);
    Routes::new().route(
        "/api/calls/check",
        Scope::Read,
        post(move |Extension(principal): Extension<Principal>, body: Bytes| async move {
            check(&checking, &principal, &body).await
        }),
    )
}

fn json_response(value: &impl serde::Serialize) -> Result<Response, Problem> {
    let text = serde_json::to_string(value)
        .map_err(|error| Problem::new(ProblemKind::Internal).because(error))?;
    let kind = [(axum::http::header::CONTENT_TYPE, "application/json")];
    Ok((kind, text).into_response())
}

/// Builds the problem for an invalid body.
fn bad(detail: impl std::fmt::Display) -> Problem {
    // The text may contain names from the body.
    let detail = secrets::redact(&detail.to_string()).into_owned();
    let error = ErrorBuilder::new("INVALID_PARAMETER", detail, "body");
    let error = error.condition("The body is what the route takes").solution("Mend the body");
    Problem::told(ProblemKind::BadRequest, error)
}

/// Identifies the tool that a name refers to, if servers are combined.
enum CheckTarget {
    /// A tool of this server, with the server's own name for it.
    Tool(Arc<Upstream>, String),
    /// A tool of the server with this name, which has not listed its tools since the gateway started.
    Unlisted(String),
    /// No known tool has this name.
    Nothing,
}

impl CheckTarget {
    fn by(current: &Current, called: &str) -> Self {
        let backends = &current.backends;
        let names = names(current);
        let owner =
            names.behind(called).and_then(|(server, own)| Some((backends.get(server)?, own)));
        if let Some((backend, own)) = owner {
            // Tools that were listed through the hub are compiled by the first direct call.
            let listed = || {
                let settings = current.gateway.settings();
                backend.served.as_listed(|name| settings.allows(name)).map(Arc::new)
            };
            return match backend.known().or_else(listed) {
                Some(known) => Self::Tool(known, own.to_owned()),
                None => Self::Unlisted(backend.name().to_owned()),
            };
        }
        // A tool without an assigned name would get its own. A tool with another assigned name must be called by
        // that.
        let known = backends.iter().enumerate().find_map(|(server, backend)| {
            let known = backend.known()?;
            let is_meant = known.tools.contains(called) && names.shown(server, called).is_none();
            is_meant.then_some(known)
        });
        known.map_or(Self::Nothing, |known| Self::Tool(known, called.to_owned()))
    }
}

/// Returns the names of tools. Until the tools are listed, the stored names and the pinned tools apply.
fn names(current: &Current) -> Arc<ToolNames> {
    let names = current.names.now();
    if !names.is_empty() {
        return names;
    }
    let pinned = |backend: &'_ Backend| (backend.name().to_owned(), backend.pinned());
    let pinned: Vec<(String, Vec<String>)> = current.backends.iter().map(pinned).collect();
    let servers: Vec<&str> = pinned.iter().map(|(server, _)| server.as_str()).collect();
    current.names.give(&servers, |kept| match pinned.as_slice() {
        [(_, tools)] => kept.alone(tools),
        pinned => kept.and(pinned.iter().map(|(server, tools)| (server.as_str(), tools.clone()))),
    })
}

/// Builds the problem for a tool whose server has not listed its tools.
fn unlisted(server: &str) -> Problem {
    let text = format!(
        "The call cannot be judged: its tool is one of the server {server}, which has not listed its tools since the \
         gateway began. Nothing is known to be wrong with the call"
    );
    let error = ErrorBuilder::new(found::TOOLS_UNKNOWN, text, "tool")
        .condition("The server whose tool is meant has listed its tools")
        .detail("server", server)
        .detail("class", CallClass::Wait.as_str())
        .solution("Try again later; or give the tool's inputSchema as \"schema\"");
    Problem::told(ProblemKind::Unavailable, error).with_retry_after(RETRY_AFTER)
}

/// Checks one call. The body is a line of `answerback replay`, with the tool's `inputSchema` as `schema`. Without
/// a schema, the call refers to a tool by its name at `/mcp`. If the call names a conversation, its attempts are
/// counted, and a person is asked after the last one.
async fn check(service: &Service, principal: &Principal, body: &[u8]) -> Result<Response, Problem> {
    let current = service.current();
    let gateway = &current.gateway;
    let mut line = CallRequest::read(body, gateway.limits).map_err(bad)?;
    let schema = serde_json::from_slice::<Value>(body).ok().and_then(|mut line| {
        let schema = line.get_mut("schema").map(Value::take);
        schema.filter(|schema| !schema.is_null())
    });
    let inline = schema
        .map(|schema| {
            blocking::work(body.len(), || ToolCatalog::new([(line.tool.clone(), schema)]))
        })
        .transpose()
        .map_err(bad)?;
    let called = line.tool.clone();
    let known = match inline {
        Some(_) => None,
        None => match CheckTarget::by(&current, &called) {
            CheckTarget::Tool(known, own) => {
                line.tool = own;
                Some(known)
            }
            CheckTarget::Unlisted(server) => return Err(unlisted(&server)),
            // An unknown tool is answered with the tools of the first server.
            CheckTarget::Nothing => current.backends.iter().find_map(Backend::known),
        },
    };
    let catalogue = match (&inline, &known) {
        (Some(inline), _) => inline,
        (None, Some(known)) => known.tools.inputs(),
        (None, None) => {
            let text = "no schema is given, and no server behind has listed its tools yet: give the tool's inputSchema as \"schema\"";
            return Err(bad(text));
        }
    };
    let named = line.conversation.clone();
    // Counting an attempt changes the response to the next call, so it needs the scope for calls. A check without
    // counting changes nothing.
    if named.is_some() && !principal.has(Scope::Call) {
        return Err(Problem::new(ProblemKind::Forbidden));
    }
    let server = known.as_ref().map(|known| known.name.as_str());
    let checking = Checking { gateway, catalogue, server, principal: principal.name(), line };
    let checked = match named {
        Some(conversation) => checking.counted(&conversation).await.map_err(unavailable),
        None => checking.alone().map_err(unavailable),
    };
    let mut checked = checked?;
    checked.line.tool = secrets::redact(&called).into_owned();
    json_response(&checked)
}

fn unavailable(error: impl std::fmt::Display) -> Problem {
    Problem::new(ProblemKind::Unavailable).because(error)
}
