//! Connects to a server as a client does, to find out if it can be used.

use std::time::Duration;

use answerback_mcp::link::{Link, link_error_reason};
use answerback_mcp::wire::{Id, Message, Object, Shape};
use serde_json::{Value, json};

use super::{Backend, merge};
use crate::GatewaySettings;

/// The time that a server has for each response.
const PATIENCE: Duration = Duration::from_secs(20);
/// The principal of an inspection.
const INSPECTOR: &str = "doctor";
/// The largest number of pages in a list of tools.
const PAGES: usize = 1000;

/// Holds a server's description of itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inspected {
    /// The name and version that the server reports.
    pub info: Value,
    /// The revision that the server negotiated.
    pub revision: String,
    /// The tools as the server lists them.
    pub tools: Vec<Value>,
}

impl Backend {
    /// Connects to the server, initializes it, lists its tools and disconnects.
    ///
    /// # Errors
    ///
    /// Returns the reason if a step fails.
    pub async fn inspect(&self) -> Result<Inspected, String> {
        let mut link = self.link(INSPECTOR, &GatewaySettings::default());
        let inspected = look(&mut link).await;
        let Link { to, mut from, .. } = link;
        drop(to);
        // The server has limited time to end.
        let _ =
            tokio::time::timeout(PATIENCE, async { while from.recv().await.is_some() {} }).await;
        inspected
    }
}

async fn look(link: &mut Link) -> Result<Inspected, String> {
    let me = json!({"name": "answerback", "version": env!("CARGO_PKG_VERSION")});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": me});
    let greeting = ask(link, 0, "initialize", &hello).await?;
    let greeting: Value = serde_json::from_str(&greeting).map_err(|error| error.to_string())?;
    let initialized = Message::notification("notifications/initialized", &json!({}));
    link.to.send(initialized).await.map_err(|_| "it ended after it was greeted")?;
    let mut tools = Vec::new();
    let mut params = json!({});
    for number in 1..=PAGES {
        let page = ask(link, number, "tools/list", &params).await?;
        for item in merge::items(&page, "tools") {
            tools.push(serde_json::from_str(&item).map_err(|error| error.to_string())?);
        }
        let Some(cursor) = merge::text(&page, "nextCursor") else {
            let revision = greeting["protocolVersion"].as_str().unwrap_or("unknown").to_owned();
            return Ok(Inspected { info: greeting["serverInfo"].clone(), revision, tools });
        };
        params = json!({ "cursor": cursor });
    }
    Err("its list of tools has no end".to_owned())
}

/// Sends a request and returns the result as JSON text.
async fn ask(
    link: &mut Link,
    number: usize,
    method: &str,
    params: &Value,
) -> Result<String, String> {
    let id = Id::of_text(&format!("inspect/{number}"));
    let request = Message::request(&id, method, params);
    link.to.send(request).await.map_err(|_| format!("it ended before {method}"))?;
    let answer = async {
        while let Some(incoming) = link.from.recv().await {
            if matches!(incoming.message.shape(), Shape::Response { id: answered } if *answered == id)
            {
                return Ok(incoming.message);
            }
        }
        Err(format!("it ended before it answered {method}"))
    };
    let answer = tokio::time::timeout(PATIENCE, answer).await;
    let answer = answer.map_err(|_| format!("{method} was not answered in {PATIENCE:?}"))??;
    if let Some(reason) = link_error_reason(&answer) {
        return Err(reason);
    }
    let object = Object::read(answer.text()).map_err(|error| error.to_string())?;
    match object.get("result") {
        Some(result) => Ok(result.to_owned()),
        None => Err(format!("{method} failed: {}", object.get("error").unwrap_or("no result"))),
    }
}
