//! Merges the servers' prompts, resources and tasks into one list of each kind, and routes requests about them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};

use answerback_mcp::wire::{Id, Message, Object, splice};
use serde_json::Value;

use super::message_parts::{is_method_not_found, meta_params, result_of, with_value};
use super::requests::RESPONSE_TIMEOUT;
use super::set::UpstreamSet;
use crate::list_page::{list_items, list_page, string_member, with_string_member};
use crate::tool_naming::ToolNames;

/// The largest number of pages in a list.
const MAX_PAGES: usize = 1000;

impl UpstreamSet {
    /// Reads all pages of a server's list. Returns `None` if a request fails.
    pub(super) async fn list_all_pages(
        self: Arc<Self>,
        server: usize,
        method: String,
        member: &'static str,
        params: String,
    ) -> Option<Vec<String>> {
        let mut params = Object::read(&params).ok()?.without("cursor");
        let mut items = Vec::new();
        for _ in 0..MAX_PAGES {
            let answer = self.request(server, &method, &params, RESPONSE_TIMEOUT).await?;
            let Some(page) = result_of(&answer) else {
                // A server that does not know the method has an empty list.
                return is_method_not_found(&answer).then_some(items);
            };
            items.extend(list_items(&page, member));
            let Some(cursor) = string_member(&page, "nextCursor") else { return Some(items) };
            params = with_string_member(&params, "cursor", &cursor)?;
        }
        None
    }

    /// Reads a list of each server. Servers whose request fails are left out.
    async fn list_from_all(
        self: &Arc<Self>,
        method: &str,
        member: &'static str,
        params: &str,
    ) -> Vec<(usize, Vec<String>)> {
        self.run_on_all(|set, server| {
            set.list_all_pages(server, method.to_owned(), member, params.to_owned())
        })
        .await
    }

    /// Responds with the prompts of all servers, under the names that clients see.
    pub(super) async fn list_prompts(self: &Arc<Self>, id: &Id, params: &str, is_modern: bool) {
        let (names, prompts) = self.merge_prompts(params).await;
        let mut items = Vec::new();
        for (server, item) in prompts {
            let name = string_member(&item, "name").unwrap_or_default();
            let client_name = names.client_name(server, &name).unwrap_or(&name);
            items.push(if client_name == name {
                item
            } else {
                with_string_member(&item, "name", client_name).unwrap_or(item)
            });
        }
        self.respond_result(id, &list_page("prompts", &items, is_modern)).await;
    }

    /// Lists the prompts of all servers and assigns the names that clients see.
    async fn merge_prompts(
        self: &Arc<Self>,
        params: &str,
    ) -> (Arc<ToolNames>, Vec<(usize, String)>) {
        let lists = self.list_from_all("prompts/list", "prompts", params).await;
        let by_server: HashMap<usize, &Vec<String>> =
            lists.iter().map(|(server, items)| (*server, items)).collect();
        let names_by_server = self.servers.iter().enumerate().map(|(index, server)| {
            let items = by_server.get(&index).map(|items| items.as_slice()).unwrap_or_default();
            let names = items.iter().filter_map(|item| string_member(item, "name")).collect();
            (server.backend.name(), names)
        });
        let names = Arc::new(ToolNames::assign(names_by_server));
        *self.prompt_names.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&names);
        let items = lists
            .into_iter()
            .flat_map(|(server, items)| items.into_iter().map(move |item| (server, item)));
        (names, items.collect())
    }

    /// Forwards `prompts/get` to the server of the prompt.
    pub(super) async fn get_prompt(self: &Arc<Self>, id: &Id, message: Message, params: &str) {
        let name = string_member(params, "name").unwrap_or_default();
        self.route_prompt_request(id, message, &name, &["params", "name"]).await;
    }

    /// Forwards a request about a prompt to its server, with the server's own name at this place.
    async fn route_prompt_request(
        self: &Arc<Self>,
        id: &Id,
        message: Message,
        client_name: &str,
        place: &[&str],
    ) {
        let cached = self.prompt_names.read().unwrap_or_else(PoisonError::into_inner).clone();
        let names = if cached.server_tool(client_name).is_some() {
            cached
        } else {
            let params = splice::at(message.text(), &["params"]).unwrap_or("{}");
            self.merge_prompts(&meta_params(params)).await.0
        };
        match names.server_tool(client_name) {
            Some((server, name)) => {
                let renamed = with_value(&message, place, &Value::from(name).to_string());
                self.forward(server, id, renamed.unwrap_or(message)).await;
            }
            None => self.try_each_server(id, message, None).await,
        }
    }

    /// Responds with the resources, or the templates, of all servers.
    pub(super) async fn list_resources(
        self: &Arc<Self>,
        id: &Id,
        method: &str,
        (member, key): (&'static str, &str),
        params: &str,
        is_modern: bool,
    ) {
        let lists = self.list_from_all(method, member, params).await;
        let mut items = Vec::new();
        {
            let mut owners = self.resource_owners.write().unwrap_or_else(PoisonError::into_inner);
            for (server, list) in lists {
                for item in list {
                    let Some(uri) = string_member(&item, key) else { continue };
                    let owner = *owners.entry(uri).or_insert(server);
                    // If two servers have the same URI, the first keeps it.
                    if owner == server {
                        items.push(item);
                    }
                }
            }
        }
        self.respond_result(id, &list_page(member, &items, is_modern)).await;
    }

    /// Forwards a request about a resource to its server.
    pub(super) async fn route_resource_request(
        self: &Arc<Self>,
        id: &Id,
        message: Message,
        uri: &str,
    ) {
        let owner = || {
            self.resource_owners.read().unwrap_or_else(PoisonError::into_inner).get(uri).copied()
        };
        match owner() {
            Some(server) => self.forward(server, id, message).await,
            None => self.try_each_server(id, message, None).await,
        }
    }

    /// Lists the tasks of all servers. A task keeps its id unless another server's task uses the same id.
    pub(super) async fn list_tasks(
        self: &Arc<Self>,
        id: &Id,
        message: Message,
        params: &str,
        is_modern: bool,
    ) {
        let lists = self.list_from_all("tasks/list", "tasks", params).await;
        let mut items = Vec::new();
        let mut used_ids = HashSet::new();
        for (server, list) in lists {
            let relay = &self.servers[server].relay;
            for item in list {
                let renamed = match string_member(&item, "taskId") {
                    Some(id)
                        if relay.has_unique_task_id(&id).await && used_ids.insert(id.clone()) =>
                    {
                        None
                    }
                    Some(id) => relay.qualified_task_id(&id).to_client(&item, &[]),
                    None => None,
                };
                items.push(renamed.unwrap_or(item));
            }
        }
        if items.is_empty() {
            // The servers decide if the list is empty or the method is not supported.
            return self.try_each_server(id, message, None).await;
        }
        self.respond_result(id, &list_page("tasks", &items, is_modern)).await;
    }

    /// Forwards a request about a task to its server. The server is known if the task was created through a
    /// gateway.
    pub(super) async fn route_task_request(
        self: &Arc<Self>,
        id: &Id,
        message: Message,
        params: &str,
    ) {
        let Some(task) = string_member(params, "taskId") else {
            return self.try_each_server(id, message, None).await;
        };
        // A qualified id begins with the name of its server, which no other server can have.
        let qualified = task.split_once('/').and_then(|(name, own)| {
            let server = self.servers.iter().position(|server| server.backend.name() == name)?;
            Some((server, own))
        });
        if let Some((server, own)) = qualified
            && self.servers[server].relay.owns_task(own, false).await
        {
            return self.forward(server, id, message).await;
        }
        for (index, server) in self.servers.iter().enumerate() {
            if server.relay.owns_task(&task, true).await {
                return self.forward(index, id, message).await;
            }
        }
        self.try_each_server(id, message, qualified.map(|(server, _)| server)).await;
    }

    /// Forwards a completion request to the server of its prompt or resource.
    pub(super) async fn route_completion(
        self: &Arc<Self>,
        id: &Id,
        message: Message,
        params: &str,
    ) {
        if let Some(uri) = splice::string_at(params, &["ref", "uri"]) {
            return self.route_resource_request(id, message, &uri).await;
        }
        match splice::string_at(params, &["ref", "name"]) {
            Some(name) => {
                self.route_prompt_request(id, message, &name, &["params", "ref", "name"]).await;
            }
            None => self.try_each_server(id, message, None).await,
        }
    }
}
