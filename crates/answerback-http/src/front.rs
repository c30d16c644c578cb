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

use crate::gate::Gated;
use crate::serve::too_many;
use crate::untrusted::Connection;
use crate::{Alarm, Principal};

type HandlerAnswer = Pin<Box<dyn Future<Output = Response> + Send>>;
type GatedAnswer = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

/// A function that answers POST requests at one path.
#[derive(Clone)]
pub(crate) struct Handler(pub(crate) Arc<dyn Fn(Request) -> HandlerAnswer + Send + Sync>);

/// The future of a handler's response. It never fails.
pub(crate) struct Handled(HandlerAnswer);

impl Future for Handled {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(context).map(Ok)
    }
}

impl std::fmt::Debug for Handler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Handler")
    }
}

impl Service<Request> for Handler {
    type Response = Response;
    type Error = Infallible;
    type Future = Handled;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Handled {
        Handled((self.0)(request))
    }
}

/// A path whose POST requests skip the router but pass the same gate.
#[derive(Debug)]
pub(crate) struct PostRoute {
    pub(crate) path: String,
    pub(crate) gated: Gated<Handler>,
}

/// Dispatches the requests of one connection: the listed POST routes directly, everything else through the router.
/// The router looks up a path and copies a route for every request. That cost would be noticeable for a forwarded call.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) posts: Arc<[PostRoute]>,
    pub(crate) router: Router,
    /// The timers of this connection.
    pub(crate) alarm: Alarm,
    /// The connection's entry in the limits on untrusted connections. `None` if the connection is only rejected with
    /// 503.
    pub(crate) connection: Option<Connection>,
}

impl hyper::service::Service<Request<Incoming>> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = PendingResponse;

    fn call(&self, request: Request<Incoming>) -> PendingResponse {
        if let Some(connection) = &self.connection
            && !connection.begin_request()
        {
            return PendingResponse { connection: None, answer: ResponseFuture::Refused };
        }
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(self.alarm.clone());
        if let Some(connection) = &self.connection {
            request.extensions_mut().insert(connection.clone());
        }
        let path = request.uri().path();
        let is_post = *request.method() == Method::POST;
        let answer = match self.posts.iter().find(|post| is_post && post.path == path) {
            Some(post) => ResponseFuture::Past(post.gated.clone().call(request)),
            None => ResponseFuture::Routed(Box::new(self.router.clone().call(request))),
        };
        PendingResponse { connection: self.connection.clone(), answer }
    }
}

/// The future of a response. It reports the end of the request to the connection's limits.
pub(crate) struct PendingResponse {
    connection: Option<Connection>,
    answer: ResponseFuture,
}

enum ResponseFuture {
    Past(GatedAnswer),
    Routed(Box<RouteFuture<Infallible>>),
    /// The connection is being closed to make room for others, so the request is rejected.
    Refused,
}

impl Future for PendingResponse {
    type Output = Result<Response, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let polled = match &mut this.answer {
            ResponseFuture::Past(answer) => answer.as_mut().poll(context),
            ResponseFuture::Routed(answer) => Pin::new(answer).poll(context),
            ResponseFuture::Refused => Poll::Ready(Ok(too_many().into_response())),
        };
        if let Poll::Ready(Ok(response)) = &polled
            && let Some(connection) = this.connection.take()
        {
            connection.end_request(response.extensions().get::<Principal>().is_some());
        }
        polled
    }
}
