//! Handles the messages of the client: routes requests by their method, and forwards notifications and responses.

use std::sync::Arc;

use answerback_mcp::wire::{Id, Message, Shape, code, splice};

use super::request_id::server_of_id;
use super::request_route::RequestRoute;
use super::set::{UpstreamSet, lock};
use crate::list_page::{list_page, string_member};
use crate::serve::header_validation;

impl UpstreamSet {
    /// Handles a message of the client.
    pub(crate) async fn handle_message(self: &Arc<Self>, message: Message) {
        match message.shape() {
            Shape::Request { id, .. } => {
                // The request is registered first, because the client's next message may cancel it.
                lock(&self.routes).insert(id.clone(), RequestRoute::Undecided);
                let set = Arc::clone(self);
                let mut tasks = lock(&self.tasks);
                while tasks.try_join_next().is_some() {}
                tasks.spawn(async move { set.dispatch(message).await });
            }
            Shape::Response { id } => {
                if let Some((server, theirs)) = server_of_id(id)
                    && let Some(server) = self.servers.get(server)
                {
                    server.relay.receive_from_client(message.with_id(&theirs)).await;
                }
            }
            Shape::Notification { method } if method == "notifications/cancelled" => {
                let id = splice::id_at(message.text(), &["params", "requestId"]);
                if let Some(id) = id {
                    self.cancel(&id, message).await;
                }
            }
            Shape::Notification { method } => {
                let is_initialized = method == "notifications/initialized";
                for server in &self.servers {
                    if !(is_initialized && server.defer_initialized(&message)) {
                        server.relay.receive_from_client(message.clone()).await;
                    }
                }
            }
            Shape::Batch => {
                let text = "batches are not supported: send each message on its own";
                let answer = Message::error(None, code::INVALID_REQUEST, text, None);
                self.client_sink.send(answer.into()).await;
            }
        }
    }

    /// Cancels a request of the client in any state.
    async fn cancel(&self, id: &Id, message: Message) {
        lock(&self.pending_responses).remove(id);
        lock(&self.subscriptions).remove(id);
        let route = {
            let mut routes = lock(&self.routes);
            match routes.get_mut(id) {
                Some(route @ RequestRoute::Undecided) => {
                    Some(std::mem::replace(route, RequestRoute::Cancelled))
                }
                _ => routes.remove(id),
            }
        };
        self.client_sink.close(id);
        match route {
            Some(RequestRoute::One(server)) => {
                self.servers[server].relay.receive_from_client(message).await;
            }
            Some(RequestRoute::All) => {
                for server in &self.servers {
                    server.relay.receive_from_client(message.clone()).await;
                }
            }
            // The task that looks for the server checks this state.
            Some(RequestRoute::Undecided | RequestRoute::Cancelled) | None => {}
        }
    }

    /// Handles a request by its method.
    async fn dispatch(self: Arc<Self>, message: Message) {
        let Shape::Request { id, method } = message.shape().clone() else { return };
        let is_modern = header_validation::version(&message).is_some();
        let params = splice::at(message.text(), &["params"]).unwrap_or("{}").to_owned();
        match method.as_str() {
            // The stateless revisions do not have these methods, and each server would reject them.
            "initialize" | "ping" | "logging/setLevel" if is_modern => {
                self.respond_error(
                    &id,
                    code::METHOD_NOT_FOUND,
                    "this revision does not have the method",
                )
                .await;
            }
            "initialize" | "server/discover" => self.initialize(&id, &method, &params).await,
            "ping" => self.respond_result(&id, "{}").await,
            "tools/list" => {
                let tools = self.current_tools(&params).await;
                self.respond_result(&id, &list_page("tools", &tools.items, is_modern)).await;
            }
            "tools/call" => self.route_call(&id, message, &params).await,
            "prompts/list" => self.list_prompts(&id, &params, is_modern).await,
            "prompts/get" => self.get_prompt(&id, message, &params).await,
            "resources/list" => {
                self.list_resources(&id, &method, ("resources", "uri"), &params, is_modern).await;
            }
            "resources/templates/list" => {
                let members = ("resourceTemplates", "uriTemplate");
                self.list_resources(&id, &method, members, &params, is_modern).await;
            }
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                let uri = string_member(&params, "uri").unwrap_or_default();
                self.route_resource_request(&id, message, &uri).await;
            }
            "completion/complete" => self.route_completion(&id, message, &params).await,
            "logging/setLevel" => {
                self.request_all(&method, &params).await;
                self.respond_result(&id, "{}").await;
            }
            "subscriptions/listen" => self.subscribe(&id, message).await,
            "tasks/list" => self.list_tasks(&id, message, &params, is_modern).await,
            "tasks/get" | "tasks/result" | "tasks/update" | "tasks/cancel" => {
                self.route_task_request(&id, message, &params).await;
            }
            _ => self.try_each_server(&id, message, None).await,
        }
    }
}
