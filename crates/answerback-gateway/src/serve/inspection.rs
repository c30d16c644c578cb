//! Connects to a server as a client does, to find out if it can be used.

use std::time::Duration;

use answerback_mcp::link::{Link, link_error_reason};
use answerback_mcp::wire::{Id, Message, Object, Shape};
use serde_json::{Value, json};

use super::Backend;
use crate::GatewaySettings;
use crate::list_page::{list_items, string_member};

/// The time that a server has for each response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);
/// The principal of an inspection.
const PRINCIPAL: &str = "doctor";
/// The largest number of pages in a list of tools.
const MAX_PAGES: usize = 1000;

/// A server's description of itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InspectionReport {
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
    pub async fn inspect(&self) -> Result<InspectionReport, String> {
        let mut link = self.connect(PRINCIPAL, &GatewaySettings::default());
        let report = inspect_link(&mut link).await;
        let Link { to, mut from, .. } = link;
        drop(to);
        // The server has limited time to end.
        let _ =
            tokio::time::timeout(RESPONSE_TIMEOUT, async { while from.recv().await.is_some() {} })
                .await;
        report
    }
}

async fn inspect_link(link: &mut Link) -> Result<InspectionReport, String> {
    let client = json!({"name": "answerback", "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let initialized = request(link, 0, "initialize", &params).await?;
    let server: Value = serde_json::from_str(&initialized).map_err(|error| error.to_string())?;
    let notification = Message::notification("notifications/initialized", &json!({}));
    link.to.send(notification).await.map_err(|_| "it ended after initialize")?;
    let mut tools = Vec::new();
    let mut params = json!({});
    for number in 1..=MAX_PAGES {
        let page = request(link, number, "tools/list", &params).await?;
        for item in list_items(&page, "tools") {
            tools.push(serde_json::from_str(&item).map_err(|error| error.to_string())?);
        }
        let Some(cursor) = string_member(&page, "nextCursor") else {
            let revision = server["protocolVersion"].as_str().unwrap_or("unknown").to_owned();
            return Ok(InspectionReport { info: server["serverInfo"].clone(), revision, tools });
        };
        params = json!({ "cursor": cursor });
    }
    Err("its list of tools has too many pages".to_owned())
}

/// Sends a request and waits for its result, as JSON text.
async fn request(
    link: &mut Link,
    number: usize,
    method: &str,
    params: &Value,
) -> Result<String, String> {
    let id = Id::of_text(&format!("inspect/{number}"));
    let message = Message::request(&id, method, params);
    link.to.send(message).await.map_err(|_| format!("it ended before {method}"))?;
    let answer = async {
        while let Some(incoming) = link.from.recv().await {
            if matches!(incoming.message.shape(), Shape::Response { id: answered } if *answered == id)
            {
                return Ok(incoming.message);
            }
        }
        Err(format!("it ended before it answered {method}"))
    };
    let answer = tokio::time::timeout(RESPONSE_TIMEOUT, answer).await;
    let answer =
        answer.map_err(|_| format!("{method} was not answered in {RESPONSE_TIMEOUT:?}"))??;
    if let Some(reason) = link_error_reason(&answer) {
        return Err(reason);
    }
    let object = Object::read(answer.text()).map_err(|error| error.to_string())?;
    match object.get("result") {
        Some(result) => Ok(result.to_owned()),
        None => Err(format!("{method} failed: {}", object.get("error").unwrap_or("no result"))),
    }
}
