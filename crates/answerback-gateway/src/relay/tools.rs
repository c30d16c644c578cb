//! Reads the server's tools, checks their pins, and filters the list for the client.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use answerback_ledger::leaf::Subject;
use answerback_mcp::link::link_error_reason;
use answerback_mcp::wire::{Message, Object, Shape};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::RelaySession;
use super::request_timeout::too_long;
use crate::list_page::{list_items, list_page};
use crate::{Pins, ToolCallRequest, Toolbox, Upstream};

/// The time that a server has to list its tools.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest number of pages in a list of tools.
const MAX_PAGES: usize = 1000;

impl RelaySession {
    /// Returns the server with its tools, which are requested if necessary. Returns the reason if they do not
    /// arrive in time.
    pub(super) async fn upstream_in_time(
        &self,
        call: &ToolCallRequest,
    ) -> Result<Arc<Upstream>, String> {
        // Several calls may wait for the list, one after the other.
        let limit = self.gateway.settings().call_time;
        let upstream = tokio::time::timeout(limit, self.upstream(call)).await;
        upstream.unwrap_or_else(|_| Err(too_long(limit)))
    }

    async fn upstream(&self, call: &ToolCallRequest) -> Result<Arc<Upstream>, String> {
        let _one_at_a_time = self.tools.lock_refresh().await;
        if let Some(upstream) = self.tools.upstream() {
            return Ok(upstream);
        }
        let changes = self.tools.changes();
        let pages = self.request_tools(call).await?;
        self.adopt_tools(&pages, changes)
            .await
            .ok_or_else(|| "the server's list of tools cannot be read".to_owned())
    }

    /// Requests all pages of the server's tools.
    async fn request_tools(&self, call: &ToolCallRequest) -> Result<Vec<String>, String> {
        let mut pages: Vec<String> = Vec::new();
        let mut cursor: Option<String> = None;
        // A stateless server expects the client's description in every request.
        let meta: Option<Value> = call
            .meta
            .as_deref()
            .filter(|_| call.is_modern)
            .and_then(|meta| serde_json::from_str(meta).ok());
        while pages.len() < MAX_PAGES {
            let mut params = json!({});
            if let Some(Value::Object(mut meta)) = meta.clone() {
                meta.retain(|name, _| name.starts_with("io.modelcontextprotocol/"));
                params["_meta"] = meta.into();
            }
            if let Some(cursor) = &cursor {
                params["cursor"] = cursor.as_str().into();
            }
            let answer = self.request("tools/list", &params, LIST_TIMEOUT).await?;
            let object = Object::read(answer.text()).map_err(|error| error.to_string())?;
            let page = object.get("result").ok_or("the server cannot list its tools")?;
            let next = Object::read(page).map_err(|error| error.to_string())?.get("nextCursor");
            cursor = next.and_then(|next| serde_json::from_str(next).ok());
            pages.push(page.to_owned());
            if cursor.is_none() {
                return Ok(pages);
            }
        }
        Err("the server's list of tools has no end".to_owned())
    }

    /// Stores a list of tools, pins new ones and records the list. If the list has changed since it was
    /// requested, it is not used for later calls.
    pub(super) async fn adopt_tools(
        &self,
        pages: &[String],
        changes: u64,
    ) -> Option<Arc<Upstream>> {
        let settings = self.gateway.settings();
        let tools = match Toolbox::read(pages.iter().map(String::as_str), |name| {
            settings.allows(name)
        }) {
            Ok(tools) => tools,
            Err(error) => {
                tracing::warn!(upstream = %self.server.name, %error, "the server's list of tools cannot be used");
                return None;
            }
        };
        let items = pages.iter().flat_map(|page| list_items(page, "tools")).collect();
        self.server.store_tools(items);
        let version = self.tools.version();
        // A relay that does not know the version accepts any.
        let is_same = |known: &Arc<Upstream>| {
            version.as_deref().is_none_or(|version| known.has_version(version))
                && known.tools.digest() == tools.digest()
        };
        if let Some(known) = self.server.known().filter(is_same) {
            self.tools.store_unless_changed(&known, changes);
            return Some(known);
        }
        let digests: Map<String, Value> = tools
            .definitions()
            .map(|(name, digest)| (name.to_owned(), digest.to_string().into()))
            .collect();
        let (name, document) =
            (&self.server.name, json!({"upstream": self.server.name, "tools": digests}));
        let recorded = self.gateway.record_config(Subject::Catalogue, Some(name), &document).await;
        if let Err(error) = recorded {
            tracing::warn!(upstream = %name, %error, "the list of tools could not be recorded");
            return None;
        }
        let pins = self.pins(&tools);
        if let Some(names) = &self.server.names {
            let tools = tools.definitions().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
            names.assign_unprefixed(name, &tools);
        }
        let upstream = Upstream::new(&self.server.name, version.as_deref(), tools);
        let upstream = Arc::new(upstream.with_pins(pins));
        *self.server.known.write().unwrap_or_else(PoisonError::into_inner) =
            Some(Arc::clone(&upstream));
        self.tools.store_unless_changed(&upstream, changes);
        Some(upstream)
    }

    fn pins(&self, tools: &Toolbox) -> Option<Pins> {
        let file = self.server.pins.as_ref()?;
        let pinned = Pins::read(file).and_then(|mut pins| pins.add(tools).map(|()| pins));
        match pinned {
            Ok(pins) => {
                for (tool, digest) in tools.definitions() {
                    if pins.has_changed(tool, digest) {
                        tracing::warn!(
                            upstream = %self.server.name, tool_name = %answerback::finding::display_name(tool),
                            pins = %pins.file().display(), "a tool's definition is not the one that was first seen"
                        );
                    }
                }
                Some(pins)
            }
            Err(error) => {
                tracing::warn!(upstream = %self.server.name, %error, "definitions are not compared");
                None
            }
        }
    }

    /// Replaces a link's error with the tools that were listed last. So tools do not disappear while the server
    /// restarts.
    pub(super) fn replace_with_recent_tools(&self, answer: Message, is_modern: bool) -> Message {
        let Shape::Response { id } = answer.shape() else { return answer };
        if self.server.is_one_of_many || link_error_reason(&answer).is_none() {
            return answer;
        }
        let Some(items) = self.server.recent_tools() else { return answer };
        let page = list_page("tools", &items, is_modern);
        Message::result(id, &self.allowed_tools(&page).unwrap_or(page))
    }

    /// Removes the tools that are not allowed from a page. Returns `None` if all tools are allowed.
    pub(super) fn allowed_tools(&self, page: &str) -> Option<String> {
        let settings = self.gateway.settings();
        if settings.allows_all() {
            return None;
        }
        let page = Object::read(page).ok()?;
        let tools: Vec<&RawValue> = serde_json::from_str(page.get("tools")?).ok()?;
        let is_allowed = |tool: &&&RawValue| {
            let name = Object::read(tool.get()).ok().and_then(|tool| tool.get("name"));
            let name = name.and_then(|name| serde_json::from_str::<String>(name).ok());
            name.is_some_and(|name| settings.allows(&name))
        };
        let allowed: Vec<&str> = tools.iter().filter(is_allowed).map(|tool| tool.get()).collect();
        Some(page.with("tools", &format!("[{}]", allowed.join(","))))
    }
}
