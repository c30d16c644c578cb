//! The server behind every column: one tool, which answers with as many bytes as it is asked for.

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

/// No larger result is made.
const LARGEST: u64 = 4 << 20;

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
        // Without it the second packet of an answer may wait 40 ms.
        let _ = stream.set_nodelay(true);
    });
    let app = Router::new().route("/mcp", post(posted));
    axum::serve(listener, app).await.context("the stub's listener failed")
}

/// The number of the next session.
static SESSION: AtomicU64 = AtomicU64::new(1);

async fn posted(body: Bytes) -> Response {
    let Some(answer) = answer(&body) else {
        return StatusCode::ACCEPTED.into_response();
    };
    let mut response = Response::new(answer.into());
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    if memchr::memmem::find(&body, b"\"initialize\"").is_some() {
        let session = HeaderValue::from(SESSION.fetch_add(1, Ordering::Relaxed));
        response.headers_mut().insert("mcp-session-id", session);
    }
    response
}

/// What is said to a message; nothing to one that asks nothing.
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
        "tools/call" => called(params?)?,
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
        "description": "Says the text again, and fills up to the size.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "text": {"type": "string", "minLength": 1, "maxLength": 200},
                "size": {"type": "integer", "minimum": 0, "maximum": LARGEST},
                "style": {"enum": ["plain", "loud"]},
            },
            "required": ["text", "size"],
            "additionalProperties": false,
        },
    })
}

fn called(params: &Value) -> Option<Value> {
    let text = params.pointer("/arguments/text")?.as_str()?;
    let size = params.pointer("/arguments/size")?.as_u64()?.min(LARGEST);
    let fill = usize::try_from(size).ok()?.saturating_sub(text.len() + 1);
    let said = format!("{text} {}", "x".repeat(fill));
    Some(json!({"content": [{"type": "text", "text": said}]}))
}
