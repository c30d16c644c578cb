use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use answerback::contract::atdf::ErrorBuilder;
use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use tower_layer::Layer;
use tower_service::Service;

use crate::figures::RouteMetrics;
use crate::guard::{Access, Guard};
use crate::untrusted::Connection;
use crate::{Closing, Problem, ProblemKind, Standing, answer};

/// The guard of one route, with the route's access rule, body limit and metrics.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) guard: Arc<Guard>,
    pub(crate) closing: Closing,
    pub(crate) access: Access,
    pub(crate) body_limit: usize,
    pub(crate) figures: RouteMetrics,
}

/// The only layer around every route. Each further layer would cost an allocation and a copy of the inner service per
/// request. It is a service itself, because `from_fn` would cost two more allocations.
#[derive(Clone, Debug)]
pub(crate) struct Gated<S> {
    gate: Arc<Gate>,
    behind: S,
}

/// Wraps a route in its gate.
#[derive(Clone, Debug)]
pub(crate) struct GuardedService(pub(crate) Arc<Gate>);

impl<S> Layer<S> for GuardedService {
    type Service = Gated<S>;

    fn layer(&self, behind: S) -> Gated<S> {
        Gated { gate: Arc::clone(&self.0), behind }
    }
}

impl<S> Service<Request> for Gated<S>
where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.behind.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let Self { gate, behind } = self.clone();
        // A body that declares a larger size is rejected before it is read.
        let fits = request.body().size_hint().lower() <= gate.body_limit as u64;
        Box::pin(async move {
            let answer = |request| gate.answer(request, fits, behind);
            Ok(answer::finish(&gate.figures, request, gate.body_limit, answer).await)
        })
    }
}

impl Gate {
    async fn answer<S>(&self, request: Request, fits: bool, mut behind: S) -> Response
    where
        S: Service<Request, Response = Response, Error = Infallible>,
    {
        let (mut parts, body) = request.into_parts();
        let admitted = self.guard.admit(&parts, self.access).await.and_then(|principal| {
            if fits { Ok(principal) } else { Err(Problem::new(ProblemKind::TooLarge)) }
        });
        let principal = match admitted {
            Ok(principal) => principal,
            Err(problem) => {
                metrics::counter!("answerback_http_refused_total", "code" => problem.code().to_owned())
                    .increment(1);
                return problem.into_response();
            }
        };
        if let Some(principal) = &principal
            && let Some(connection) = parts.extensions.get::<Connection>()
            && !connection.claim(principal.name())
        {
            return too_many_of_token(connection.most_of_token()).into_response();
        }
        // Handlers must not see credentials, so that they cannot leak them.
        parts.headers.remove(header::AUTHORIZATION);
        parts.headers.remove(header::COOKIE);
        parts.extensions.insert(self.closing.clone());
        if let Some(principal) = &principal {
            parts.extensions.insert(Standing::new(principal.clone(), &self.guard));
            parts.extensions.insert(principal.clone());
        }
        let Ok(mut response) = behind.call(Request::from_parts(parts, body)).await;
        if let Some(principal) = principal {
            // The log line names the principal.
            response.extensions_mut().insert(principal);
        }
        response
    }
}

/// Builds the response for a token that has reached its limit of connections.
fn too_many_of_token(most: usize) -> Problem {
    metrics::counter!("answerback_http_refused_total", "code" => "TOO_MANY_CONNECTIONS")
        .increment(1);
    let text = format!("The token has {most} connections already");
    let error = ErrorBuilder::new("TOO_MANY_CONNECTIONS", text, "connection")
        .condition("A token has no more connections than the server allows")
        .solution("Close a connection or use one again, or have gateway.most_connections_per_token raised");
    Problem::told(ProblemKind::TooManyRequests, error)
        .with_retry_after(1)
        .with_header(header::CONNECTION, HeaderValue::from_static("close"))
}
