//! Merges the servers' prompts, resources and tasks into one list of each kind, and routes requests about them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};

use answerback_mcp::wire::{Id, Message, Object, splice};
use serde_json::Value;

use super::super::merge::{self, text, with_text};
use super::super::names::ToolNames;
use super::{Hub, PATIENCE, meta_of, result, says_unknown, with};

/// The largest number of pages in a list.
const PAGES: usize = 1000;

impl Hub {
    /// Reads all pages of a server's list. Returns `None` if a request fails.
    pub(super) async fn items(
        self: Arc<Self>,
        server: usize,
        method: String,
        member: &'static str,
        params: String,
    ) -> Option<Vec<String>> {
        let mut params = Object::read(&params).ok()?.without("cursor");
        let mut items = Vec::new();
        for _ in 0..PAGES {
            let answer = self.ask(server, &method, &params, PATIENCE).await?;
            let Some(page) = result(&answer) else {
                // A server that does not know the method has an empty list.
                return says_unknown(&answer).then_some(items);
            };
            items.extend(merge::items(&page, member));
            let Some(cursor) = text(&page, "nextCursor") else { return Some(items) };
            params = with_text(&params, "cursor", &cursor)?;
        }
        None
    }

    pub(super) async fn lists(
        self: &Arc<Self>,
        method: &str,
        member: &'static str,
        params: &str,
    ) -> Vec<(usize, Vec<String>)> {
        self.of_all(|hub, server| hub.items(server, method.to_owned(), member, params.to_owned()))
            .await
    }

    pub(super) async fn list_prompts(self: &Arc<Self>, id: &Id, params: &str, is_modern: bool) {
        let names = self.all_prompts(params).await;
        let mut items = Vec::new();
        for (server, item) in names.1 {
            let name = text(&item, "name").unwrap_or_default();
            let shown = names.0.shown(server, &name).unwrap_or(&name);
            items.push(if shown == name {
                item
            } else {
                with_text(&item, "name", shown).unwrap_or(item)
            });
        }
        self.answer(id, &merge::page("prompts", &items, is_modern)).await;
    }

    async fn all_prompts(self: &Arc<Self>, params: &str) -> (Arc<ToolNames>, Vec<(usize, String)>) {
        let lists = self.lists("prompts/list", "prompts", params).await;
        let by_server: HashMap<usize, &Vec<String>> =
            lists.iter().map(|(server, items)| (*server, items)).collect();
        let claimed = self.servers.iter().enumerate().map(|(index, server)| {
            let items = by_server.get(&index).map(|items| items.as_slice()).unwrap_or_default();
            let names = items.iter().filter_map(|item| text(item, "name")).collect();
            (server.backend.name(), names)
        });
        let names = Arc::new(ToolNames::assign(claimed));
        *self.prompts.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&names);
        let items = lists
            .into_iter()
            .flat_map(|(server, items)| items.into_iter().map(move |item| (server, item)));
        (names, items.collect())
    }

    pub(super) async fn get_prompt(self: &Arc<Self>, id: &Id, message: Message, params: &str) {
        let shown = text(params, "name").unwrap_or_default();
        self.about_prompt(id, message, &shown, &["params", "name"]).await;
    }

    /// Forwards a request about a prompt to its server, with the server's own name at this place.
    async fn about_prompt(
        self: &Arc<Self>,
        id: &Id,
        message: Message,
        shown: &str,
        place: &[&str],
    ) {
        let known = self.prompts.read().unwrap_or_else(PoisonError::into_inner).clone();
        let names = if known.behind(shown).is_some() {
            known
        } else {
            let params = splice::at(message.text(), &["params"]).unwrap_or("{}");
            self.all_prompts(&meta_of(params)).await.0
        };
        match names.behind(shown) {
            Some((server, name)) => {
                let renamed = with(&message, place, &Value::from(name).to_string());
                self.forward(server, id, renamed.unwrap_or(message)).await;
            }
            None => self.ask_in_turn(id, message, None).await,
        }
    }

    pub(super) async fn list_resources(
        self: &Arc<Self>,
        id: &Id,
        method: &str,
        (member, key): (&'static str, &str),
        params: &str,
        is_modern: bool,
    ) {
        let lists = self.lists(method, member, params).await;
        let mut items = Vec::new();
        {
            let mut resources = self.resources.write().unwrap_or_else(PoisonError::into_inner);
            for (server, listed) in lists {
                for item in listed {
                    let Some(uri) = text(&item, key) else { continue };
                    let owner = *resources.entry(uri).or_insert(server);
                    // If two servers have the same URI, the first keeps it.
                    if owner == server {
                        items.push(item);
                    }
                }
            }
        }
        self.answer(id, &merge::page(member, &items, is_modern)).await;
    }

    pub(super) async fn about_resource(self: &Arc<Self>, id: &Id, message: Message, uri: &str) {
        let owner =
            || self.resources.read().unwrap_or_else(PoisonError::into_inner).get(uri).copied();
        match owner() {
            Some(server) => self.forward(server, id, message).await,
            None => self.ask_in_turn(id, message, None).await,
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
        let lists = self.lists("tasks/list", "tasks", params).await;
        let mut items = Vec::new();
        let mut taken = HashSet::new();
        for (server, listed) in lists {
            let relay = &self.servers[server].relay;
            for item in listed {
                let named = match text(&item, "taskId") {
                    Some(id) if relay.has_unique_task_id(&id).await && taken.insert(id.clone()) => {
                        None
                    }
                    Some(id) => relay.qualified_task_id(&id).to_client(&item, &[]),
                    None => None,
                };
                items.push(named.unwrap_or(item));
            }
        }
        if items.is_empty() {
            // The servers decide if the list is empty or the method is not supported.
            return self.ask_in_turn(id, message, None).await;
        }
        self.answer(id, &merge::page("tasks", &items, is_modern)).await;
    }

    /// Forwards a request about a task to its server. The server is known if the task was created through a
    /// gateway.
    pub(super) async fn about_task(self: &Arc<Self>, id: &Id, message: Message, params: &str) {
        let Some(task) = text(params, "taskId") else {
            return self.ask_in_turn(id, message, None).await;
        };
        // A qualified id begins with the name of its server, which no other server can have.
        let qualified = task.split_once('/').and_then(|(name, own)| {
            let server = self.servers.iter().position(|it| it.backend.name() == name)?;
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
        self.ask_in_turn(id, message, qualified.map(|(server, _)| server)).await;
    }

    pub(super) async fn complete(self: &Arc<Self>, id: &Id, message: Message, params: &str) {
        if let Some(uri) = splice::string_at(params, &["ref", "uri"]) {
            return self.about_resource(id, message, &uri).await;
        }
        match splice::string_at(params, &["ref", "name"]) {
            Some(shown) => {
                self.about_prompt(id, message, &shown, &["params", "ref", "name"]).await;
            }
            None => self.ask_in_turn(id, message, None).await,
        }
    }
}
