//! What programs ask without MCP: a call judged.

use std::sync::Arc;

use answerback::contract::atdf::ErrorBuilder;
use answerback::judge::{CallLine, Catalogue};
use answerback_http::{Principal, Problem, ProblemKind, Routes, Scope};
use axum::Extension;
use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::Value;

use super::check::Checking;
use super::{Backend, Current, Service};
use crate::Upstream;

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

/// A body that is not what it has to be.
fn bad(detail: impl std::fmt::Display) -> Problem {
    let error = ErrorBuilder::new("INVALID_PARAMETER", detail.to_string(), "body");
    let error = error.condition("The body is what the route takes").solution("Mend the body");
    Problem::told(ProblemKind::BadRequest, error)
}

/// The server that a name means where all servers are one, and what it calls the tool itself.
fn meant(current: &Current, called: &str) -> Option<(Arc<Upstream>, String)> {
    let backends = &current.backends;
    let servers: Vec<&str> = backends.iter().map(Backend::name).collect();
    let mut names = current.names.now();
    if names.is_empty() && servers.len() > 1 {
        // Nobody asked for all of them yet: what names meant before they mean now.
        names = current.names.give(&servers, |kept| kept);
    }
    if let Some((server, own)) = names.behind(called) {
        return Some((backends.get(server)?.known()?, own.to_owned()));
    }
    // A tool that has no name yet would get its own; one that has another is called by that.
    backends.iter().enumerate().find_map(|(server, backend)| {
        let known = backend.known()?;
        let is_meant = known.tools.contains(called) && names.shown(server, called).is_none();
        is_meant.then(|| (known, called.to_owned()))
    })
}

/// Judges one call. The body is a line of `answerback replay` with the tool's `inputSchema` as `schema`; where that is
/// missing, the tool of a server behind the gateway is meant, by the name that it has at `/mcp`. Attempts are counted by
/// conversation, where one is named, and after the last one a person is asked.
async fn check(service: &Service, principal: &Principal, body: &[u8]) -> Result<Response, Problem> {
    let current = service.current();
    let gateway = &current.gateway;
    let mut line = CallLine::read(body, gateway.limits).map_err(bad)?;
    let schema = serde_json::from_slice::<Value>(body).ok().and_then(|mut line| {
        let schema = line.get_mut("schema").map(Value::take);
        schema.filter(|schema| !schema.is_null())
    });
    let inline = schema
        .map(|schema| Catalogue::new([(line.tool.clone(), schema)]))
        .transpose()
        .map_err(bad)?;
    let called = line.tool.clone();
    let known = match inline {
        Some(_) => None,
        None => match meant(&current, &called) {
            Some((known, own)) => {
                line.tool = own;
                Some(known)
            }
            // What nobody has is answered with what the first server has instead.
            None => current.backends.iter().find_map(Backend::known),
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
    // Who counts attempts changes what the next call is told; who only asks changes nothing.
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
    checked.line.tool = called;
    json_response(&checked)
}

fn unavailable(error: impl std::fmt::Display) -> Problem {
    Problem::new(ProblemKind::Unavailable).because(error)
}
