use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Method;
use axum::response::{IntoResponse, Response};
use axum::routing::future::RouteFuture;
use hyper::body::Incoming;
use tower_service::Service;

use crate::connection_rejection::too_many_connections;
use crate::route_guard::GuardedRoute;
use crate::untrusted_connections::TrackedConnection;
use crate::{ConnectionTimer, Principal};

type HandlerFuture = Pin<Box<dyn Future<Output = Response> + Send>>;
type GuardedFuture = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

/// A function that handles POST requests at one path.
#[derive(Clone)]
pub(crate) struct PostHandler(pub(crate) Arc<dyn Fn(Request) -> HandlerFuture + Send + Sync>);

/// The future of a handler's response, which never fails.
pub(crate) struct PostHandlerFuture(HandlerFuture);

impl Future for PostHandlerFuture {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(context).map(Ok)
    }
}

impl std::fmt::Debug for PostHandler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PostHandler")
    }
}

impl Service<Request> for PostHandler {
    type Response = Response;
    type Error = Infallible;
    type Future = PostHandlerFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> PostHandlerFuture {
        PostHandlerFuture((self.0)(request))
    }
}

/// A path whose POST requests skip the router but pass the same guard.
#[derive(Debug)]
pub(crate) struct PostRoute {
    pub(crate) path: String,
    pub(crate) handler: GuardedRoute<PostHandler>,
}

/// Dispatches the requests of one connection: the listed POST routes directly, everything else through the router.
/// The router looks up a path and copies a route for every request. That cost would be noticeable for a forwarded call.
#[derive(Debug)]
pub(crate) struct ConnectionService {
    pub(crate) post_routes: Arc<[PostRoute]>,
    pub(crate) router: Router,
    /// The timers of this connection.
    pub(crate) timer: ConnectionTimer,
    /// The connection's entry in the limits on untrusted connections. It is `None` if every request gets 503.
    pub(crate) connection: Option<TrackedConnection>,
}

impl hyper::service::Service<Request<Incoming>> for ConnectionService {
    type Response = Response;
    type Error = Infallible;
    type Future = PendingResponse;

    fn call(&self, request: Request<Incoming>) -> PendingResponse {
        if let Some(connection) = &self.connection
            && !connection.begin_request()
        {
            return PendingResponse { connection: None, response: ResponseFuture::Rejected };
        }
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(self.timer.clone());
        if let Some(connection) = &self.connection {
            request.extensions_mut().insert(connection.clone());
        }
        let path = request.uri().path();
        let is_post = *request.method() == Method::POST;
        let response = match self.post_routes.iter().find(|post| is_post && post.path == path) {
            Some(post) => ResponseFuture::Direct(post.handler.clone().call(request)),
            None => ResponseFuture::Routed(Box::new(self.router.clone().call(request))),
        };
        PendingResponse { connection: self.connection.clone(), response }
    }
}

/// The future of a response. It reports the end of the request to the connection's limits.
pub(crate) struct PendingResponse {
    connection: Option<TrackedConnection>,
    response: ResponseFuture,
}

enum ResponseFuture {
    Direct(GuardedFuture),
    Routed(Box<RouteFuture<Infallible>>),
    /// The connection is being closed to make room for others, so the request is rejected.
    Rejected,
}

impl Future for PendingResponse {
    type Output = Result<Response, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let polled = match &mut this.response {
            ResponseFuture::Direct(future) => future.as_mut().poll(context),
            ResponseFuture::Routed(future) => Pin::new(future).poll(context),
            ResponseFuture::Rejected => Poll::Ready(Ok(too_many_connections().into_response())),
        };
        if let Poll::Ready(Ok(response)) = &polled
            && let Some(connection) = this.connection.take()
        {
            connection.end_request(response.extensions().get::<Principal>().is_some());
        }
        polled
    }
}
