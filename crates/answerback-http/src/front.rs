use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Method;
use axum::response::Response;
use axum::routing::future::RouteFuture;
use hyper::body::Incoming;
use tower_service::Service;

use crate::Alarm;
use crate::gate::Gated;

type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;
type GatedAnswer = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

/// Answers posts at one path.
#[derive(Clone)]
pub(crate) struct Handler(pub(crate) Arc<dyn Fn(Request) -> Answer + Send + Sync>);

/// What a handler answers, which never fails.
pub(crate) struct Handled(Answer);

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

/// A path at which posts are answered without the router, behind the same gate.
#[derive(Debug)]
pub(crate) struct Post {
    pub(crate) path: String,
    pub(crate) gated: Gated<Handler>,
}

/// What a connection asks: the posts that are named here, and the router with everything else. A router looks a path up
/// and copies a route for every request, which a call that only passes would notice.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) posts: Arc<[Post]>,
    pub(crate) router: Router,
    /// The connection's own.
    pub(crate) alarm: Alarm,
}

impl hyper::service::Service<Request<Incoming>> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<Incoming>) -> Answering {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(self.alarm.clone());
        let path = request.uri().path();
        let is_post = *request.method() == Method::POST;
        match self.posts.iter().find(|post| is_post && post.path == path) {
            Some(post) => Answering::Past(post.gated.clone().call(request)),
            None => Answering::Routed(Box::new(self.router.clone().call(request))),
        }
    }
}

/// An answer on its way.
pub(crate) enum Answering {
    Past(GatedAnswer),
    Routed(Box<RouteFuture<Infallible>>),
}

impl Future for Answering {
    type Output = Result<Response, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Past(answer) => answer.as_mut().poll(context),
            Self::Routed(answer) => Pin::new(answer).poll(context),
        }
    }
}
