//! Runs the session of one client: the handshake, the list of tools, and calls.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, ensure};
use memchr::memmem;
use serde_json::{Value, json};

use crate::link::{Endpoint, Link, REVISION, response};

pub(crate) struct Session {
    link: Link,
    tool: String,
}

/// Generates request ids. They are unique over all sessions, because sessions on pipes share a connection.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Session {
    pub(crate) async fn open(endpoint: &Endpoint) -> anyhow::Result<Self> {
        let link = Link::open(endpoint)?;
        let params = json!({
            "protocolVersion": REVISION,
            "capabilities": {},
            "clientInfo": {"name": "bench-gateway", "version": "1.0.0"},
        });
        ask(&link, "initialize", params).await?;
        link.notify(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned()).await?;
        let listed = ask(&link, "tools/list", json!({})).await?;
        let tools = listed["tools"].as_array().map_or([].as_slice(), Vec::as_slice);
        // Some gateways prefix the name with the name of the server.
        let tool = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .find(|name| name.ends_with("echo"))
            .with_context(|| format!("no echo tool in {listed}"))?
            .to_owned();
        Ok(Self { link, tool })
    }

    /// Calls the tool, and checks that the response belongs to this call and is complete.
    pub(crate) async fn call(&self, size: usize) -> anyhow::Result<()> {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let mark = format!("call-{id:012}");
        let arguments = json!({"text": mark, "size": size});
        let params = json!({"name": self.tool, "arguments": arguments});
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let body = self.link.ask(id, message.to_string()).await?;
        let is_whole = body.len() > size
            && memmem::find(&body, mark.as_bytes()).is_some()
            && memmem::find(&body, b"xxxx").is_some();
        ensure!(
            is_whole,
            "not the expected response: {}",
            String::from_utf8_lossy(&body[..body.len().min(300)])
        );
        Ok(())
    }
}

async fn ask(link: &Link, method: &str, params: Value) -> anyhow::Result<Value> {
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let body = link.ask(id, message.to_string()).await?;
    let mut answer = response(&body, id)?;
    ensure!(answer.get("error").is_none(), "{method}: {answer}");
    Ok(answer["result"].take())
}
