//! Finishes every response: adds its headers, turns errors into problems, and writes its log line.

use std::time::Instant;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};

use crate::route_metrics::RouteMetrics;
use crate::timed_body::TimedBody;
use crate::{Principal, Problem, ProblemKind};

/// Wraps a handler: limits the body's size and time, then finishes, logs and counts the response. `max_bytes` is the
/// size of the largest body.
pub(crate) async fn finish_response<F: Future<Output = Response>>(
    route_metrics: &RouteMetrics,
    request: Request,
    max_bytes: usize,
    handle: impl FnOnce(Request) -> F,
) -> Response {
    let started = Instant::now();
    let method = method_name(request.method());
    let (parts, body) = request.into_parts();
    let timer = parts.extensions.get().cloned().unwrap_or_default();
    let (body, timeout) = TimedBody::limit(body, max_bytes, &timer);
    let response = handle(Request::from_parts(parts, body)).await;
    let mut response =
        if timeout.is_set() { body_timeout() } else { replace_plain_error(response) };
    add_headers(response.headers_mut());

    // For a stream this measures the time until the stream starts.
    let (status, elapsed) = (response.status().as_u16(), started.elapsed());
    let principal = response.extensions().get::<Principal>().map(Principal::name);
    let (route, seconds) = (route_metrics.route(), elapsed.as_secs_f64());
    tracing::info!(method, route, status, seconds, principal, "request");
    route_metrics.record_response(method, status, elapsed);
    response
}

/// Builds the 408 response for a body that did not arrive in time. It closes the connection, so the rest of the body is
/// not read.
fn body_timeout() -> Response {
    let close = HeaderValue::from_static("close");
    Problem::new(ProblemKind::TooSlow).with_header(header::CONNECTION, close).into_response()
}

/// Replaces an error response that has no body, or a framework's plain text, with a problem of the same status.
fn replace_plain_error(response: Response) -> Response {
    let has_body = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|content_type| !content_type.as_bytes().starts_with(b"text/plain"));
    match ProblemKind::from_status(response.status()) {
        Some(kind) if !has_body => {
            let (mut parts, _) = response.into_parts();
            let (problem, body) = Problem::new(kind).into_response().into_parts();
            parts.headers.remove(header::CONTENT_LENGTH);
            parts.headers.extend(problem.headers);
            Response::from_parts(parts, body)
        }
        _ => response,
    }
}

fn add_headers(headers: &mut HeaderMap) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let defaults: [(HeaderName, &'static str); 2] =
        [(header::REFERRER_POLICY, "no-referrer"), (header::CACHE_CONTROL, "no-store")];
    for (name, value) in defaults {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// Names the method for logs and metrics. Unknown methods share the name `other`, because HTTP allows any text
/// as a method.
fn method_name(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"];
    known.into_iter().find(|name| method.as_str() == *name).unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use axum::Router;
    use axum::body::{Body, Bytes};
    use axum::http::StatusCode;
    use axum::middleware::{Next, from_fn};
    use axum::routing::post;
    use http_body_util::BodyExt as _;
    use http_body_util::channel::Channel;
    use hyper::service::Service as _;
    use hyper_util::service::TowerToHyperService;

    use super::*;

    async fn respond(every: Duration, times: u32) -> (StatusCode, String) {
        let (mut sender, body) = Channel::<Bytes, Infallible>::new(1);
        tokio::spawn(async move {
            for _ in 0..times {
                tokio::time::sleep(every).await;
                let _ = sender.send_data(Bytes::from_static(b" ")).await;
            }
        });
        let route = post(|body: Bytes| async move { body.len().to_string() });
        let layer = from_fn(async |request, next: Next| {
            finish_response(&RouteMetrics::new("/"), request, 9, |request| next.run(request)).await
        });
        let router = Router::new().route("/", route).layer(layer);
        let request = Request::post("/").body(Body::new(body)).unwrap();
        let response = TowerToHyperService::new(router).call(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_trickles_times_out() {
        assert_eq!(respond(Duration::from_secs(1), 9).await, (StatusCode::OK, "9".to_owned()));
        let (status, _) = respond(Duration::from_secs(1), 10).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
        let (status, text) = respond(Duration::from_secs(4), 3600).await;
        assert_eq!(status, StatusCode::REQUEST_TIMEOUT);
        assert!(text.contains("BODY_TOO_SLOW"), "{text}");
    }
}
