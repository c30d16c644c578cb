//! Forwards HTTP messages and does nothing else. It is the lower bound for any HTTP gateway that reads whole messages.

use anyhow::Context;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::serve::ListenerExt;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;

#[derive(Clone)]
struct Upstream {
    client: Client<HttpConnector, Full<Bytes>>,
    uri: Uri,
}

/// Forwards requests to `/mcp`.
pub(crate) async fn serve(port: u16, uri: Uri) -> anyhow::Result<()> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let app = Router::new().route("/mcp", any(forward)).with_state(Upstream { client, uri });
    axum::serve(listener, app).await.context("the relay's listener failed")
}

async fn forward(State(upstream): State<Upstream>, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    head.uri = upstream.uri;
    head.headers.remove(header::HOST);
    let request = Request::from_parts(head, Full::new(body.to_bytes()));
    match upstream.client.request(request).await {
        Ok(response) => response.map(Body::new),
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}
