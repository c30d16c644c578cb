//! Handles calls that are answered with a task, and the results of tasks.

use std::time::{Duration, Instant};

use answerback::contract::tool::ErrorObject;
use answerback_mcp::wire::{Message, Object, Shape, code, splice};
use serde_json::Value;

use super::CallContext;
use crate::call_facts::CallFacts;
use crate::gateway_reply::ReplyBuilder;
use crate::marker::Marker;
use crate::task::{
    Task, TaskKey, TaskReference, TaskResultPlace, TaskRole, TaskScope, created_task,
};
use crate::tool_call_request::ToolCallRequest;
use crate::{Client, Gateway, Upstream};

/// The time that a task is stored if its server states none.
const DEFAULT_LIFETIME: Duration = Duration::from_hours(7 * 24);
/// The shortest and the longest time that a task is stored, whatever its server states.
const LIFETIME_LIMITS: [Duration; 2] = [Duration::from_hours(1), Duration::from_hours(30 * 24)];

impl Gateway {
    /// Stores the task that a call is answered with, if it is one.
    pub(crate) async fn create_task(
        &self,
        context: &CallContext,
        result: &Value,
    ) -> Option<TaskRole> {
        let (mut task, id) = read_task(context, result)?;
        let (facts, scope) = (&context.replies.facts, &context.scope);
        let key = TaskKey { principal: &facts.principal, server: &facts.upstream, id, scope };
        let notes = self.task_notes.add_task(self.recorder.as_ref(), key, &mut task).await;
        let id_mapping = (scope.is_shared && task.is_qualified).then(|| key.qualified_id());
        Some(TaskRole::Created { notes, expires: task.expires(), id_mapping })
    }

    /// Prepares the result of a task for the client that requested it or is notified of it.
    pub(crate) fn task_result_context(
        &self,
        client: &Client,
        upstream: &Upstream,
        request: ToolCallRequest,
        TaskReference { task, id_mapping }: TaskReference,
    ) -> Box<CallContext> {
        let facts = CallFacts {
            id: CallFacts::task_result_id(&task.correlation_id, 0),
            correlation: CallFacts::id_of(&task.correlation_id),
            upstream: upstream.name.clone(),
            principal: client.principal().to_owned(),
            tool: task.tool.clone(),
            is_known_tool: task.is_known,
        };
        let now = Instant::now();
        let started = now.checked_sub(task.elapsed()).unwrap_or(now);
        let id = task.correlation_id.clone();
        // The call's id is random too, and the server does not see it.
        let marker = client.marker().unwrap_or_else(|_| Marker::of_text(&id.to_string()));
        let replies = ReplyBuilder::of_task(self, upstream, &request, facts, id, marker, started);
        let is_requested = matches!(request.message.shape(), Shape::Request { .. });
        let is_unknown = task.is_unknown();
        let warnings = task.warnings.iter().map(|(code, text)| ErrorObject::new(code, text));
        Box::new(CallContext {
            replies,
            is_repeatable: upstream.tools.may_run_twice(&task.tool),
            warnings: warnings.collect(),
            notes: Vec::new(),
            metrics: upstream.metrics.tool(&task.tool),
            task: Some(Box::new(TaskRole::Result {
                is_requested,
                position: 0,
                is_unknown,
                id_mapping,
            })),
            scope: TaskScope::default(),
            request: Box::new(request),
        })
    }

    /// Checks the result of a task at its place in a message. A message without a result is forwarded unchanged.
    pub(crate) async fn deliver_task_result(
        &self,
        upstream: &Upstream,
        context: Box<CallContext>,
        message: Message,
        place: TaskResultPlace,
    ) -> Message {
        let TaskResultPlace::Member(member) = place else {
            // An error about a task of unknown origin is not the result of a call.
            let is_unknown =
                matches!(context.task.as_deref(), Some(TaskRole::Result { is_unknown: true, .. }));
            if is_unknown && splice::at(message.text(), &["result"]).is_none() {
                return message;
            }
            return self.deliver(upstream, context, message).await;
        };
        let id_mapping = context.task.as_deref().and_then(TaskRole::id_mapping);
        let message = match id_mapping
            .and_then(|id_mapping| id_mapping.to_client(message.text(), &[member]))
        {
            Some(text) => message.with_text(text),
            None => message,
        };
        let id = context.request.id.clone();
        let Some(state) = splice::at(message.text(), &[member]) else { return message };
        let withheld = |reason: &str| {
            let text = format!("what the server says of the task is withheld: {reason}");
            Message::error(Some(&id), code::INTERNAL_ERROR, &text, None)
        };
        let Ok(state) = Object::read(state) else {
            return withheld(
                "a name stands twice in it, and not every reader takes the same value for it",
            );
        };
        let reply = match (state.get("result"), state.get("error")) {
            (Some(result), _) if result != "null" => Message::result(&id, result),
            (_, Some(error)) if error != "null" => {
                let text = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id.as_json());
                match Message::read(text) {
                    Ok(reply) => reply,
                    Err(_) => return message,
                }
            }
            // The result does not exist yet, or the task was cancelled.
            _ => return message,
        };
        let has_result = splice::at(reply.text(), &["result"]).is_some();
        let delivered = self.deliver(upstream, context, reply).await;
        let delivered = Object::read_repeating(delivered.text()).ok().and_then(|object| {
            let result = object.get("result")?;
            Some(result.to_owned())
        });
        match delivered {
            Some(result) if has_result => {
                let text = splice::with(message.text(), &[member, "result"], &result);
                text.map_or_else(
                    |_| withheld("it cannot be written"),
                    |text| message.with_text(text),
                )
            }
            None if !has_result => message,
            _ => withheld("it could not be recorded"),
        }
    }
}

/// Reads the task from a result. Also returns the server's id of the task.
fn read_task<'r>(context: &CallContext, result: &'r Value) -> Option<(Task, &'r str)> {
    let task = created_task(result)?;
    let (id, facts) = (task["taskId"].as_str()?, &context.replies.facts);
    let now = answerback_store::system::now().unix_millis();
    let lifetime = [&task["ttl"], &task["ttlMs"]].into_iter().find_map(Value::as_u64);
    let lifetime = lifetime
        .map_or(DEFAULT_LIFETIME, Duration::from_millis)
        .clamp(LIFETIME_LIMITS[0], LIFETIME_LIMITS[1]);
    let warnings = context.warnings.iter();
    let task = Task {
        correlation_id: context.replies.correlation_id.clone(),
        tool: facts.tool.clone(),
        is_known: facts.is_known_tool,
        called_at: now - to_millis(context.replies.elapsed()),
        expires: now + to_millis(lifetime),
        warnings: warnings.map(|it| (it.code.clone(), it.message.clone())).collect(),
        is_qualified: false,
        connection: None,
    };
    Some((task, id))
}

fn to_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
