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

use crate::finish_response::finish_response;
use crate::guard::{Access, Guard};
use crate::route_metrics::RouteMetrics;
use crate::untrusted_connections::TrackedConnection;
use crate::{AuthorizationWatch, Problem, ProblemKind, ShutdownSignal};

/// The guard of one route, with the route's access rule, body limit and metrics.
#[derive(Debug)]
pub(crate) struct RouteGuard {
    pub(crate) guard: Arc<Guard>,
    pub(crate) shutdown: ShutdownSignal,
    pub(crate) access: Access,
    pub(crate) body_limit: usize,
    pub(crate) metrics: RouteMetrics,
}

/// The only layer around every route. Each further layer would cost an allocation and a copy of the inner service per
/// request. It is a service itself, because `from_fn` would cost two more allocations.
#[derive(Clone, Debug)]
pub(crate) struct GuardedRoute<S> {
    guard: Arc<RouteGuard>,
    inner: S,
}

/// The layer that wraps a route in its guard.
#[derive(Clone, Debug)]
pub(crate) struct RouteGuardLayer(pub(crate) Arc<RouteGuard>);

impl<S> Layer<S> for RouteGuardLayer {
    type Service = GuardedRoute<S>;

    fn layer(&self, inner: S) -> GuardedRoute<S> {
        GuardedRoute { guard: Arc::clone(&self.0), inner }
    }
}

impl<S> Service<Request> for GuardedRoute<S>
where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let Self { guard, inner } = self.clone();
        // A body that declares a larger size is rejected before it is read.
        let fits = request.body().size_hint().lower() <= guard.body_limit as u64;
        Box::pin(async move {
            let handle = |request| guard.handle(request, fits, inner);
            Ok(finish_response(&guard.metrics, request, guard.body_limit, handle).await)
        })
    }
}

impl RouteGuard {
    async fn handle<S>(&self, request: Request, fits: bool, mut inner: S) -> Response
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
            && let Some(connection) = parts.extensions.get::<TrackedConnection>()
            && !connection.claim(principal.name())
        {
            return too_many_of_token(connection.token_limit()).into_response();
        }
        // Handlers must not see credentials, so that they cannot leak them.
        parts.headers.remove(header::AUTHORIZATION);
        parts.headers.remove(header::COOKIE);
        parts.extensions.insert(self.shutdown.clone());
        if let Some(principal) = &principal {
            parts.extensions.insert(AuthorizationWatch::new(principal.clone(), &self.guard));
            parts.extensions.insert(principal.clone());
        }
        let Ok(mut response) = inner.call(Request::from_parts(parts, body)).await;
        if let Some(principal) = principal {
            // The log line names the principal.
            response.extensions_mut().insert(principal);
        }
        response
    }
}

/// Builds the response for a token that has reached its limit of connections.
fn too_many_of_token(limit: usize) -> Problem {
    metrics::counter!("answerback_http_refused_total", "code" => "TOO_MANY_CONNECTIONS")
        .increment(1);
    let text = format!("The token has {limit} connections already");
    let error = ErrorBuilder::new("TOO_MANY_CONNECTIONS", text, "connection")
        .condition("A token has no more connections than the server allows")
        .solution("Close a connection or use one again, or have gateway.most_connections_per_token raised");
    Problem::from_error(ProblemKind::TooManyRequests, error)
        .with_retry_after(1)
        .with_header(header::CONNECTION, HeaderValue::from_static("close"))
}
