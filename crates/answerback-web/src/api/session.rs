//! The sessions of people in a browser.

use std::sync::Arc;
use std::time::SystemTime;

use answerback::Timestamp;
use answerback::contract::atdf::ErrorBuilder;
use answerback_http::{Principal, Problem, ProblemKind, RedeemError, Routes, Scope, cookie_name};
use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use serde::Deserialize;
use serde_json::{Value, json};

use super::problem::{internal, not_found};
use super::request::parse_body;
use super::response::{ApiResult, json_response, ok};
use crate::Console;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let state = || Arc::clone(console);
    Routes::with_body_limit(4096)
        .public("/api/session", post(unlock).with_state(state()))
        .route("/api/session", Scope::Read, get(current).delete(leave).with_state(state()))
        .route("/api/sessions", Scope::Read, get(list).with_state(state()))
        .route("/api/sessions/{id}", Scope::Decide, delete(revoke).with_state(state()))
        .route("/api/launch", Scope::Admin, post(launch).with_state(state()))
}

#[derive(Deserialize)]
struct UnlockRequest {
    token: String,
}

/// Opens a session with the token of a launch link.
async fn unlock(State(console): State<Arc<Console>>, body: Bytes) -> ApiResult {
    let UnlockRequest { token } = parse_body(&body, &[])?;
    let cookie = match console.sessions.redeem_guarded(&token).await {
        Ok(cookie) => cookie,
        Err(RedeemError::NoRandomness(error)) => return Err(internal(error)),
        Err(RedeemError::TooMany) => {
            return Err(Problem::new(ProblemKind::TooManyRequests).with_retry_after(1));
        }
        Err(error) => {
            let code = match error {
                RedeemError::Used => "LAUNCH_TOKEN_USED",
                RedeemError::Expired => "LAUNCH_TOKEN_LATE",
                _ => "UNAUTHENTICATED",
            };
            let command = console.host.commands().link;
            let error = ErrorBuilder::new(code, error.to_string(), "token")
                .condition("The token belongs to a launch link that was not opened yet")
                .solution(format!("Create a new link: {command}"));
            return Err(Problem::from_error(ProblemKind::Unauthenticated, error));
        }
    };
    let principal =
        console.sessions.authenticate(cookie.text()).ok_or_else(|| internal("no session"))?;
    let name = cookie_name(console.settings.port);
    let set = format!("{name}={}; HttpOnly; SameSite=Strict; Path=/", cookie.text());
    let set = HeaderValue::try_from(set).map_err(internal)?;
    let mut response = json_response(StatusCode::CREATED, &session_json(&console, &principal))?;
    response.headers_mut().insert(header::SET_COOKIE, set);
    Ok(response)
}

async fn current(
    State(console): State<Arc<Console>>,
    Extension(principal): Extension<Principal>,
) -> ApiResult {
    ok(&session_json(&console, &principal))
}

fn session_json(console: &Console, principal: &Principal) -> Value {
    let scopes: Vec<&str> = [Scope::Call, Scope::Ingest, Scope::Read, Scope::Decide, Scope::Admin]
        .into_iter()
        .filter(|scope| principal.has(*scope))
        .map(Scope::as_str)
        .collect();
    json!({
        "principal": principal.name(),
        "scopes": scopes,
        "server": console.run,
        "version": env!("CARGO_PKG_VERSION"),
        "log": console.store.origin().ok(),
        "demo": console.settings.is_demo,
        "commands": console.host.commands(),
    })
}

async fn leave(
    State(console): State<Arc<Console>>,
    Extension(principal): Extension<Principal>,
) -> Response {
    console.sessions.log_out(&principal);
    StatusCode::NO_CONTENT.into_response()
}

async fn list(
    State(console): State<Arc<Console>>,
    Extension(principal): Extension<Principal>,
) -> ApiResult {
    let sessions: Vec<Value> = console
        .sessions
        .list(&principal)
        .into_iter()
        .map(|session| {
            json!({
                "id": session.id,
                "created": format_time(session.created),
                "last_used": format_time(session.last_used),
                "is_current": session.is_current,
            })
        })
        .collect();
    ok(&json!({ "sessions": sessions }))
}

async fn revoke(State(console): State<Arc<Console>>, Path(id): Path<String>) -> ApiResult {
    if console.sessions.revoke(&id) {
        Ok(StatusCode::NO_CONTENT.into_response())
    } else {
        Err(not_found("session"))
    }
}

/// Creates a link that opens one session. Only the launcher's token may do this, because its file is readable only for
/// the operator.
async fn launch(
    State(console): State<Arc<Console>>,
    Extension(principal): Extension<Principal>,
) -> ApiResult {
    if console.settings.launcher.as_deref() != Some(principal.name()) {
        return Err(Problem::new(ProblemKind::Forbidden));
    }
    let token = console.sessions.launch().map_err(internal)?;
    json_response(StatusCode::CREATED, &json!({ "fragment": format!("t={}", token.text()) }))
}

fn format_time(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_unix_millis(millis).to_offset_micros()
}
