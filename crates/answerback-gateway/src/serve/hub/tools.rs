//! Merges the tools of all servers and routes calls of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use answerback_mcp::wire::{Id, Message, code};
use tokio::time::Instant;

use super::super::merge::{self, text, with_text};
use super::super::names::ToolNames;
use super::{Hub, Route, lock, meta_of, renamed};
use crate::{Admission, ToolCallRequest, Toolbox, Upstream};

/// The delay before a server that did not list its tools is asked again.
const AGAIN: Duration = Duration::from_secs(30);
/// The upstream name in the ledger for calls of tools that no server has.
const GATEWAY: &str = "gateway";

/// Holds all tools as clients see them.
pub(super) struct Tools {
    pub(super) names: Arc<ToolNames>,
    pub(super) items: Vec<String>,
    /// Answers calls of tools that no server has.
    upstream: Upstream,
}

/// Holds the tools that were listed last.
#[derive(Default)]
pub(super) struct KnownTools {
    tools: Option<Arc<Tools>>,
    /// The time from which the servers are asked again, if that is necessary.
    until: Option<Instant>,
    /// Counts how often a server reported changed tools.
    changes: u64,
}

impl KnownTools {
    /// Marks the tools as changed, so that the servers are asked again.
    pub(super) fn change(&mut self) {
        self.changes += 1;
        self.until = Some(Instant::now());
    }

    fn fresh(&self) -> Option<Arc<Tools>> {
        let is_fresh = self.until.is_none_or(|until| Instant::now() < until);
        self.tools.clone().filter(|_| is_fresh)
    }

    fn keep(&mut self, tools: &Arc<Tools>, is_complete: bool, changes: u64) {
        self.tools = Some(Arc::clone(tools));
        self.until = if self.changes == changes {
            // A server that did not answer is asked again, but not for every call to other servers.
            (!is_complete).then(|| Instant::now() + AGAIN)
        } else {
            Some(Instant::now())
        };
    }
}

impl Hub {
    /// Returns the tools of all servers. They are requested again after a change.
    pub(super) async fn fresh_tools(self: &Arc<Self>, params: &str) -> Arc<Tools> {
        let _one_at_a_time = self.refreshing.lock().await;
        if let Some(tools) = lock(&self.tools).fresh() {
            return tools;
        }
        let changes = lock(&self.tools).changes;
        let lists = self.of_all(|hub, server| {
            let params = params.to_owned();
            async move { hub.list_tools(server, params).await }
        });
        let mut lists = lists.await;
        let is_complete = lists.len() == self.servers.len();
        let listed: Vec<Arc<Vec<String>>> = self
            .servers
            .iter()
            .enumerate()
            .map(|(index, server)| {
                let place = lists.iter().position(|(listing, _)| *listing == index);
                let now = place.map(|place| lists.swap_remove(place).1);
                now.or_else(|| server.backend.served.recent_tools()).unwrap_or_default()
            })
            .collect();
        let tools = Arc::new(self.put_together(&listed));
        lock(&self.tools).keep(&tools, is_complete, changes);
        tools
    }

    /// Requests the tools in the background, unless that is already happening.
    fn refresh_soon(self: &Arc<Self>, params: String) {
        if self.is_refreshing.swap(true, Ordering::AcqRel) {
            return;
        }
        let hub = Arc::clone(self);
        lock(&self.tasks).spawn(async move {
            hub.fresh_tools(&params).await;
            hub.is_refreshing.store(false, Ordering::Release);
        });
    }

    /// Requests the tools of one server. Returns `None` if another request is pending or the server is not
    /// initialized.
    async fn list_tools(
        self: Arc<Self>,
        server: usize,
        params: String,
    ) -> Option<Arc<Vec<String>>> {
        let asked = &self.servers[server];
        if !asked.is_greeted() || asked.is_listing.swap(true, Ordering::AcqRel) {
            return None;
        }
        let listing = Arc::clone(&self).items(server, "tools/list".to_owned(), "tools", params);
        let items = listing.await;
        asked.is_listing.store(false, Ordering::Release);
        let items = items?;
        asked.backend.served.store_tools(items.clone());
        Some(Arc::new(items))
    }

    fn put_together(&self, listed: &[Arc<Vec<String>>]) -> Tools {
        let servers: Vec<&str> = self.servers.iter().map(|server| server.backend.name()).collect();
        let pinned: Vec<Vec<String>> =
            self.servers.iter().map(|server| server.backend.pinned()).collect();
        let read_names =
            |items: &Arc<Vec<String>>| items.iter().filter_map(|item| text(item, "name")).collect();
        let claimed: Vec<Vec<String>> = listed.iter().map(read_names).collect();
        // Pinned tools keep their names while their server is down, even if another server lists the same names.
        let names = self.names.give(&servers, |kept| {
            let of = |names: &[Vec<String>]| -> Vec<(&str, Vec<String>)> {
                servers.iter().copied().zip(names.iter().cloned()).collect()
            };
            kept.and(of(&pinned)).and(of(&claimed))
        });
        let mut items = Vec::new();
        for (server, listed) in listed.iter().enumerate() {
            for item in listed.iter() {
                let name = text(item, "name");
                let shown = name.as_deref().and_then(|name| names.shown(server, name));
                items.push(match shown.filter(|shown| Some(*shown) != name.as_deref()) {
                    Some(shown) => with_text(item, "name", shown).unwrap_or_else(|| item.clone()),
                    None => item.clone(),
                });
            }
        }
        let page = merge::page("tools", &items, false);
        let toolbox = Toolbox::read([page.as_str()], |_| true).unwrap_or_default();
        let upstream = Upstream::new(GATEWAY, Some(env!("CARGO_PKG_VERSION")), toolbox);
        Tools { names, items, upstream }
    }

    /// Forwards a call to the server of its tool. A known name is enough for that. Changed tools are then
    /// requested in the background.
    pub(super) async fn call(self: &Arc<Self>, id: &Id, message: Message, params: &str) {
        let called = text(params, "name").unwrap_or_default();
        // A stateless server expects the client's description in every request.
        let asking = meta_of(params);
        let (known, is_fresh) = {
            let known = lock(&self.tools);
            (known.tools.clone(), known.fresh().is_some())
        };
        let names = known.map_or_else(|| self.names.now(), |known| Arc::clone(&known.names));
        if let Some((server, name)) = names.behind(&called) {
            if !is_fresh {
                self.refresh_soon(asking);
            }
            return self.forward_call(server, name, &called, id, message).await;
        }
        let tools = self.fresh_tools(&asking).await;
        if let Some((server, name)) = tools.names.behind(&called) {
            return self.forward_call(server, name, &called, id, message).await;
        }
        // Listing took some time. A call that was cancelled meanwhile must not count as an attempt.
        if !self.goes(id, Route::Undecided) {
            return;
        }
        let call = match ToolCallRequest::read(message) {
            Ok(call) => call,
            Err(error) => return self.fail(id, code::INVALID_PARAMS, &error.to_string()).await,
        };
        let answer = match self.gateway.admit(&self.client, &tools.upstream, call).await {
            Admission::Answer(answer) => answer,
            Admission::Ask(asked) => asked.answer,
            // No server has this tool, so the call cannot run.
            Admission::Forward(forwarded) => {
                self.gateway.fail_unsent(forwarded.context, "no server has this tool").await
            }
        };
        self.client.count_failed_call();
        self.close(id, answer).await;
    }

    async fn forward_call(
        &self,
        server: usize,
        name: &str,
        called: &str,
        id: &Id,
        message: Message,
    ) {
        let renamed = if name == called { None } else { renamed(&message, name) };
        self.forward(server, id, renamed.unwrap_or(message)).await;
    }
}
