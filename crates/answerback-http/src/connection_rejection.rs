//! Builds and writes the responses to connections that the server closes because there are too many.

use std::io;

use answerback::contract::atdf::ErrorBuilder;
use axum::http::{HeaderValue, header};
use axum::response::IntoResponse;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::{Problem, ProblemKind};

/// The most bytes of unread requests to discard before a connection is closed.
const MAX_UNREAD: usize = 64 << 10;
/// The largest body of a rejection. The texts are our own and short.
const MAX_BODY: usize = 64 << 10;

/// Builds the 429 response for a connection whose address has too many connections without a token.
pub(crate) fn too_many_connections() -> Problem {
    let text = "Too many connections of this address have sent no request with a token";
    let error = ErrorBuilder::new("TOO_MANY_CONNECTIONS", text, "connection")
        .condition("A connection sends its request as soon as it is open")
        .solution("Close connections that are not used, or have gateway.most_half_open raised");
    closing_connection(Problem::from_error(ProblemKind::TooManyRequests, error))
}

/// Builds the 503 response for a connection beyond the limit of the server.
pub(crate) fn server_overloaded() -> Problem {
    closing_connection(Problem::new(ProblemKind::Unavailable))
}

fn closing_connection(problem: Problem) -> Problem {
    let close = HeaderValue::from_static("close");
    problem.with_retry_after(1).with_header(header::CONNECTION, close)
}

/// Writes a response to a client that has sent no complete request, and closes the connection.
pub(crate) async fn write_rejection(mut stream: TcpStream, problem: Problem) -> io::Result<()> {
    metrics::counter!("answerback_http_refused_total", "code" => problem.code().to_owned())
        .increment(1);
    let (mut parts, body) = problem.into_response().into_parts();
    let body = axum::body::to_bytes(body, MAX_BODY).await.map_err(io::Error::other)?;
    parts.headers.insert(header::CONTENT_LENGTH, body.len().into());
    let reason = parts.status.canonical_reason().unwrap_or_default();
    let mut text = format!("HTTP/1.1 {} {reason}\r\n", parts.status.as_u16()).into_bytes();
    for (name, value) in &parts.headers {
        for piece in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            text.extend_from_slice(piece);
        }
    }
    text.extend_from_slice(b"\r\n");
    text.extend_from_slice(&body);
    stream.write_all(&text).await?;
    // Closing a connection with unread data resets it, and the client may then not see the response.
    let mut unread = [0; 4096];
    for _ in 0..MAX_UNREAD / unread.len() {
        if !matches!(stream.try_read(&mut unread), Ok(count) if count > 0) {
            break;
        }
    }
    stream.shutdown().await
}
