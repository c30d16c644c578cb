//! Initializes all servers and merges their responses into one.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use answerback_mcp::wire::{Id, code};
use serde_json::{Value, json};

use super::member::InitializationState;
use super::merge;
use super::message_parts::result_of;
use super::set::{UpstreamSet, lock};

impl UpstreamSet {
    /// Initializes all servers with the client's request, and responds with the merged result.
    pub(super) async fn initialize(self: &Arc<Self>, id: &Id, method: &str, params: &str) {
        let is_modern = method != "initialize";
        if !is_modern {
            self.has_session.store(true, Ordering::Release);
        }
        let answers = self.run_on_all(|set, server| {
            let (method, params) = (method.to_owned(), params.to_owned());
            async move { set.initialize_server(server, &method, &params).await }
        });
        let answers = answers.await;
        if answers.is_empty() {
            return self.respond_error(id, code::INTERNAL_ERROR, "no server responded").await;
        }
        let mut responses: Vec<(&str, Value)> = answers
            .iter()
            .filter_map(|(server, answer)| {
                Some((self.servers[*server].backend.name(), serde_json::from_str(answer).ok()?))
            })
            .collect();
        if answers.len() < self.servers.len() {
            // A server that answers late may offer these lists, so they are declared.
            let lists = json!({"capabilities": {"prompts": {}, "resources": {}}});
            responses.push(("", lists));
        }
        let response = merge::initialize_result(&responses, is_modern);
        self.respond_result(id, &response.to_string()).await;
    }

    /// Initializes one server. There is no short timeout, so a slow server can still complete.
    async fn initialize_server(&self, server: usize, method: &str, params: &str) -> Option<String> {
        let state = &self.servers[server].initialization;
        if method == "initialize" {
            *lock(state) = InitializationState::Pending { initialized: None };
        }
        let answer = self.request(server, method, params, None).await;
        let before = std::mem::replace(&mut *lock(state), InitializationState::Done);
        if let InitializationState::Pending { initialized: Some(initialized) } = before {
            self.servers[server].relay.receive_from_client(initialized).await;
        }
        result_of(&answer?)
    }
}
