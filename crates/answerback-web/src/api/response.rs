//! Builds JSON responses, and runs blocking reads for them.

use answerback_http::Problem;
use answerback_store::StoreError;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::problem::{internal, store_problem};

/// The result of a handler.
pub(super) type ApiResult = Result<Response, Problem>;

/// Returns a response with a JSON body.
pub(super) fn json_response(status: StatusCode, value: &impl Serialize) -> ApiResult {
    let text = serde_json::to_string(value).map_err(internal)?;
    Ok((status, [(header::CONTENT_TYPE, "application/json")], text).into_response())
}

/// Returns a JSON response with status 200.
pub(super) fn ok(value: &impl Serialize) -> ApiResult {
    json_response(StatusCode::OK, value)
}

/// Reads from the store on a blocking thread, so that other requests are not delayed.
pub(super) async fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(read).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(store_problem(&error)),
        Err(error) => Err(internal(error)),
    }
}
