use std::sync::Arc;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Map, Value, json};

use crate::Routes;

type ReadinessCheck = dyn Fn() -> Result<(), String> + Send + Sync;

/// Serves the health checks: liveness at `/healthz` and readiness of each part at `/readyz`.
///
/// ```
/// use answerback_http::HealthChecks;
///
/// let routes = HealthChecks::new()
///     .with_part("store", || Ok(()))
///     .with_part("upstream files", || Err("starting".into()))
///     .routes();
/// ```
#[derive(Default)]
#[must_use]
pub struct HealthChecks {
    parts: Vec<(String, Box<ReadinessCheck>)>,
}

impl HealthChecks {
    /// Creates health checks without parts. The server is ready as soon as it runs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a part with a function that returns the reason if the part is not ready. The function runs at every
    /// request, so it must not block. The reason is public: every client that can reach the server can read it.
    pub fn with_part(
        mut self,
        name: &str,
        ready: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.parts.push((name.to_owned(), Box::new(ready)));
        self
    }

    /// Builds both routes. They need no token, because monitoring systems have none.
    pub fn routes(self) -> Routes {
        let health = Arc::new(self);
        Routes::new()
            .public(
                "/healthz",
                get(|| async { json_response(StatusCode::OK, &json!({"alive": true})) }),
            )
            .public("/readyz", get(move || async move { health.readiness() }))
    }

    fn readiness(&self) -> Response {
        let parts: Map<String, Value> = self
            .parts
            .iter()
            .map(|(name, ready)| {
                let state = match ready() {
                    Ok(()) => json!({"ready": true}),
                    Err(reason) => json!({"ready": false, "reason": reason}),
                };
                (name.clone(), state)
            })
            .collect();
        let is_ready = parts.values().all(|part| part["ready"] == true);
        let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        json_response(status, &json!({"ready": is_ready, "parts": parts}))
    }
}

fn json_response(status: StatusCode, document: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], document.to_string()).into_response()
}
