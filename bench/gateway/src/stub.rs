//! Implements the server behind every measured program. Its only tool returns as many bytes as requested.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

/// The limit for a result, in bytes.
const MAX_RESULT: u64 = 4 << 20;

/// Serves one client on standard input and output.
pub(crate) async fn stdio() -> anyhow::Result<()> {
    let mut input = BufReader::new(tokio::io::stdin());
    let mut output = tokio::io::stdout();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).await? > 0 {
        if let Some(mut answer) = answer(&line) {
            answer.push(b'\n');
            output.write_all(&answer).await?;
            output.flush().await?;
        }
        line.clear();
    }
    Ok(())
}

/// Serves over HTTP, at `/mcp`.
pub(crate) async fn http(port: u16) -> anyhow::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?.tap_io(|stream| {
        // Otherwise the second packet of a response may be delayed by 40 ms.
        let _ = stream.set_nodelay(true);
    });
    let app = Router::new().route("/mcp", post(posted));
    axum::serve(listener, app).await.context("the stub's listener failed")
}

/// The number of the next session.
static NEXT_SESSION: AtomicU64 = AtomicU64::new(1);

async fn posted(body: Bytes) -> Response {
    let Some(answer) = answer(&body) else {
        return StatusCode::ACCEPTED.into_response();
    };
    let mut response = Response::new(answer.into());
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    if memchr::memmem::find(&body, b"\"initialize\"").is_some() {
        let session = HeaderValue::from(NEXT_SESSION.fetch_add(1, Ordering::Relaxed));
        response.headers_mut().insert("mcp-session-id", session);
    }
    response
}

/// Returns the response to a message, or `None` if it is not a request.
fn answer(message: &[u8]) -> Option<Vec<u8>> {
    let message: Value = serde_json::from_slice(message).ok()?;
    let id = message.get("id")?;
    let params = message.get("params");
    let result = match message.get("method")?.as_str()? {
        "initialize" => json!({
            "protocolVersion": params.and_then(|it| it.get("protocolVersion")),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "stub", "version": "1.0.0"},
        }),
        "ping" => json!({}),
        "tools/list" => json!({"tools": [tool()]}),
        "tools/call" => call_result(params?)?,
        _ => {
            let error = json!({"code": -32601, "message": "Method not found"});
            return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string().into());
        }
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string().into())
}

fn tool() -> Value {
    json!({
        "name": "echo",
        "description": "Repeats the text and pads it to the size.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "text": {"type": "string", "minLength": 1, "maxLength": 200},
                "size": {"type": "integer", "minimum": 0, "maximum": MAX_RESULT},
                "style": {"enum": ["plain", "loud"]},
            },
            "required": ["text", "size"],
            "additionalProperties": false,
        },
    })
}

fn call_result(params: &Value) -> Option<Value> {
    let text = params.pointer("/arguments/text")?.as_str()?;
    let size = params.pointer("/arguments/size")?.as_u64()?.min(MAX_RESULT);
    let fill = usize::try_from(size).ok()?.saturating_sub(text.len() + 1);
    let text = format!("{text} {}", "x".repeat(fill));
    Some(json!({"content": [{"type": "text", "text": text}]}))
}
