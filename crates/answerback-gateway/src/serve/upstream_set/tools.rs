//! Merges the tools of all servers and routes calls of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use answerback_mcp::wire::{Id, Message, code};
use tokio::time::Instant;

use super::message_parts::{meta_params, with_tool_name};
use super::request_route::RequestRoute;
use super::set::{UpstreamSet, lock};
use crate::list_page::{list_page, string_member, with_string_member};
use crate::tool_naming::ToolNames;
use crate::{Admission, ToolCallRequest, Toolbox, Upstream};

/// The delay before a server that did not list its tools is asked again.
const RETRY_DELAY: Duration = Duration::from_secs(30);
/// The upstream name in the ledger for calls of tools that no server has.
const UNKNOWN_TOOL_UPSTREAM: &str = "gateway";

/// The tools of all servers as clients see them.
pub(super) struct MergedTools {
    pub(super) names: Arc<ToolNames>,
    pub(super) items: Vec<String>,
    /// Answers calls of tools that no server has.
    upstream: Upstream,
}

/// The tools that were listed last.
#[derive(Default)]
pub(super) struct ToolListCache {
    tools: Option<Arc<MergedTools>>,
    /// The time from which the servers are asked again. It is `None` while the list is complete and unchanged.
    expires: Option<Instant>,
    /// Counts how often a server reported changed tools.
    changes: u64,
}

impl ToolListCache {
    /// Marks the tools as changed, so that the servers are asked again.
    pub(super) fn mark_changed(&mut self) {
        self.changes += 1;
        self.expires = Some(Instant::now());
    }

    /// The cached tools, unless they have expired.
    fn fresh(&self) -> Option<Arc<MergedTools>> {
        let is_fresh = self.expires.is_none_or(|expires| Instant::now() < expires);
        self.tools.clone().filter(|_| is_fresh)
    }

    fn store(&mut self, tools: &Arc<MergedTools>, is_complete: bool, changes: u64) {
        self.tools = Some(Arc::clone(tools));
        self.expires = if self.changes == changes {
            // A server that did not answer is asked again, but not for every call to other servers.
            (!is_complete).then(|| Instant::now() + RETRY_DELAY)
        } else {
            Some(Instant::now())
        };
    }
}

impl UpstreamSet {
    /// The tools of all servers. They are requested again after a change.
    pub(super) async fn current_tools(self: &Arc<Self>, params: &str) -> Arc<MergedTools> {
        let _one_at_a_time = self.refreshing.lock().await;
        if let Some(tools) = lock(&self.tool_cache).fresh() {
            return tools;
        }
        let changes = lock(&self.tool_cache).changes;
        let lists = self.run_on_all(|set, server| {
            let params = params.to_owned();
            async move { set.list_tools(server, params).await }
        });
        let mut lists = lists.await;
        let is_complete = lists.len() == self.servers.len();
        let by_server: Vec<Arc<Vec<String>>> = self
            .servers
            .iter()
            .enumerate()
            .map(|(index, server)| {
                let place = lists.iter().position(|(other, _)| *other == index);
                let list = place.map(|place| lists.swap_remove(place).1);
                list.or_else(|| server.backend.served.recent_tools()).unwrap_or_default()
            })
            .collect();
        let tools = Arc::new(self.merge_tools(&by_server));
        lock(&self.tool_cache).store(&tools, is_complete, changes);
        tools
    }

    /// Requests the tools in the background, unless that is already happening.
    fn refresh_in_background(self: &Arc<Self>, params: String) {
        if self.is_refreshing.swap(true, Ordering::AcqRel) {
            return;
        }
        let set = Arc::clone(self);
        lock(&self.tasks).spawn(async move {
            set.current_tools(&params).await;
            set.is_refreshing.store(false, Ordering::Release);
        });
    }

    /// Requests the tools of one server. Returns `None` if another request is pending or the server is not
    /// initialized.
    async fn list_tools(
        self: Arc<Self>,
        server: usize,
        params: String,
    ) -> Option<Arc<Vec<String>>> {
        let member = &self.servers[server];
        if !member.is_initialized() || member.is_listing.swap(true, Ordering::AcqRel) {
            return None;
        }
        let request =
            Arc::clone(&self).list_all_pages(server, "tools/list".to_owned(), "tools", params);
        let items = request.await;
        member.is_listing.store(false, Ordering::Release);
        let items = items?;
        member.backend.served.store_tools(items.clone());
        Some(Arc::new(items))
    }

    /// Assigns the names that clients see, and builds the combined list.
    fn merge_tools(&self, lists: &[Arc<Vec<String>>]) -> MergedTools {
        let servers: Vec<&str> = self.servers.iter().map(|server| server.backend.name()).collect();
        let pinned: Vec<Vec<String>> =
            self.servers.iter().map(|server| server.backend.pinned_tools()).collect();
        let read_names = |items: &Arc<Vec<String>>| {
            items.iter().filter_map(|item| string_member(item, "name")).collect()
        };
        let listed_names: Vec<Vec<String>> = lists.iter().map(read_names).collect();
        // Pinned tools keep their names while their server is down, even if another server lists the same names.
        let names = self.names.assign(&servers, |stored| {
            let by_server = |names: &[Vec<String>]| -> Vec<(&str, Vec<String>)> {
                servers.iter().copied().zip(names.iter().cloned()).collect()
            };
            stored.and(by_server(&pinned)).and(by_server(&listed_names))
        });
        let mut items = Vec::new();
        for (server, list) in lists.iter().enumerate() {
            for item in list.iter() {
                let name = string_member(item, "name");
                let client_name = name.as_deref().and_then(|name| names.client_name(server, name));
                let client_name =
                    client_name.filter(|client_name| Some(*client_name) != name.as_deref());
                items.push(match client_name {
                    Some(client_name) => with_string_member(item, "name", client_name)
                        .unwrap_or_else(|| item.clone()),
                    None => item.clone(),
                });
            }
        }
        let page = list_page("tools", &items, false);
        let toolbox = Toolbox::read([page.as_str()], |_| true).unwrap_or_default();
        let upstream =
            Upstream::new(UNKNOWN_TOOL_UPSTREAM, Some(env!("CARGO_PKG_VERSION")), toolbox);
        MergedTools { names, items, upstream }
    }

    /// Forwards a call to the server of its tool. A known name is enough for that. Changed tools are then
    /// requested in the background.
    pub(super) async fn route_call(self: &Arc<Self>, id: &Id, message: Message, params: &str) {
        let client_name = string_member(params, "name").unwrap_or_default();
        // A stateless server expects the client's description in every request.
        let list_params = meta_params(params);
        let (cached, is_fresh) = {
            let cache = lock(&self.tool_cache);
            (cache.tools.clone(), cache.fresh().is_some())
        };
        let names = cached.map_or_else(|| self.names.current(), |tools| Arc::clone(&tools.names));
        if let Some((server, name)) = names.server_tool(&client_name) {
            if !is_fresh {
                self.refresh_in_background(list_params);
            }
            return self.forward_call(server, name, &client_name, id, message).await;
        }
        let tools = self.current_tools(&list_params).await;
        if let Some((server, name)) = tools.names.server_tool(&client_name) {
            return self.forward_call(server, name, &client_name, id, message).await;
        }
        // Listing took some time. A call that was cancelled meanwhile must not count as an attempt.
        if !self.set_route(id, RequestRoute::Undecided) {
            return;
        }
        let call = match ToolCallRequest::read(message) {
            Ok(call) => call,
            Err(error) => {
                return self.respond_error(id, code::INVALID_PARAMS, &error.to_string()).await;
            }
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
        self.respond(id, answer).await;
    }

    /// Forwards a call to its server, under the server's own name for the tool.
    async fn forward_call(
        &self,
        server: usize,
        name: &str,
        client_name: &str,
        id: &Id,
        message: Message,
    ) {
        let renamed = if name == client_name { None } else { with_tool_name(&message, name) };
        self.forward(server, id, renamed.unwrap_or(message)).await;
    }
}
