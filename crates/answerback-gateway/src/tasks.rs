//! Handles calls that were answered with a task, whose result is requested or sent later.

use std::time::{Duration, Instant};

use answerback::contract::tool::ErrorObject;
use answerback::{Timestamp, UuidV4};
use answerback_mcp::wire::{Message, Object, Shape, code, splice};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::admit::Running;
use crate::call::ToolCallRequest;
use crate::gateway_reply::ReplyBuilder;
use crate::marker::Marker;
use crate::record::About;
use crate::task_notes::{RenamedTask, TaskKey, TaskScope};
use crate::{Client, Gateway, Upstream};

/// The time that a task is stored if its server states none.
const USUALLY: Duration = Duration::from_hours(7 * 24);
/// The shortest and the longest time that a task is stored, whatever its server states.
const WITHIN: [Duration; 2] = [Duration::from_hours(1), Duration::from_hours(30 * 24)];

/// The tool name for a task of unknown origin.
const UNKNOWN: &str = "unknown";

/// Holds the data of a call that is needed when the result of its task arrives.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Task {
    correlation_id: UuidV4,
    tool: String,
    /// True if the catalog had the tool.
    is_known: bool,
    /// The time of the call, in milliseconds since 1970.
    since: i64,
    /// The time at which the task expires, in milliseconds since 1970.
    expires: i64,
    /// The warnings for the envelope, as code and message.
    warnings: Vec<(String, String)>,
    /// True if another server's task uses the plain id, so that this one needs a qualified id.
    #[serde(default)]
    pub(crate) is_qualified: bool,
    /// The connection that created the task, if each connection has its own server process.
    #[serde(default)]
    pub(crate) connection: Option<String>,
}

/// Holds a task that a request or a notification refers to.
#[derive(Debug)]
pub(crate) struct Late {
    pub(crate) task: Task,
    /// The mapping of ids, if the client uses another id than the server.
    pub(crate) shown: Option<RenamedTask>,
}

/// Describes the relation between a call in progress and a task.
#[derive(Debug)]
pub(crate) enum TaskRole {
    /// The call created the task. The notes are pairs of name and text.
    Made { notes: Vec<(String, String)>, expires: Timestamp, shown: Option<RenamedTask> },
    /// The message contains the task's result. The result is recorded once, with the first request for it, if
    /// there was one. Earlier places hold different results of the same task.
    Late { was_asked_for: bool, place: u32, is_unknown: bool, shown: Option<RenamedTask> },
}

impl TaskRole {
    /// Returns the mapping of ids, if the client uses another id than the server.
    pub(crate) fn shown(&self) -> Option<&RenamedTask> {
        match self {
            Self::Made { shown, .. } | Self::Late { shown, .. } => shown.as_ref(),
        }
    }
}

/// Locates the result of a task in a message of the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Place {
    /// The whole response is the result.
    Answer,
    /// The result is inside this member, which describes the task.
    Within(&'static str),
}

impl Place {
    /// Returns the place of the task's result in the response to this method, or `None` if the method does not
    /// request one.
    pub(crate) fn asked_with(method: &str) -> Option<Self> {
        match method {
            "tasks/result" => Some(Self::Answer),
            // Responses to the other methods may also contain the result.
            "tasks/get" | "tasks/update" | "tasks/cancel" => Some(Self::Within("result")),
            _ => None,
        }
    }

    /// Returns the place of the task's result in a notification.
    pub(crate) fn told_with(method: &str) -> Option<Self> {
        method.starts_with("notifications/tasks").then_some(Self::Within("params"))
    }
}

impl Task {
    /// Reads the task from a result. Also returns the server's id of the task.
    pub(crate) fn made<'r>(running: &Running, result: &'r Value) -> Option<(Self, &'r str)> {
        let task = task_in(result)?;
        let (id, about) = (task["taskId"].as_str()?, &running.teller.about);
        let now = answerback_store::system::now().unix_millis();
        let lasts = [&task["ttl"], &task["ttlMs"]].into_iter().find_map(Value::as_u64);
        let lasts = lasts.map_or(USUALLY, Duration::from_millis).clamp(WITHIN[0], WITHIN[1]);
        let warnings = running.warnings.iter();
        let task = Self {
            correlation_id: running.teller.correlation_id.clone(),
            tool: about.tool.0.clone(),
            is_known: about.tool.1,
            since: now - millis(running.teller.took()),
            expires: now + millis(lasts),
            warnings: warnings.map(|it| (it.code.clone(), it.message.clone())).collect(),
            is_qualified: false,
            connection: None,
        };
        Some((task, id))
    }

    /// Creates the data for a task of unknown origin.
    pub(crate) fn unknown(key: TaskKey<'_>) -> Self {
        let now = answerback_store::system::now().unix_millis();
        Self {
            correlation_id: key.correlation(),
            tool: UNKNOWN.to_owned(),
            is_known: false,
            since: now,
            expires: now,
            warnings: Vec::new(),
            is_qualified: false,
            connection: None,
        }
    }

    fn is_unknown(&self) -> bool {
        self.tool == UNKNOWN && !self.is_known
    }

    /// Returns the tool that was called.
    pub(crate) fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the time at which the task expires.
    pub(crate) fn expires(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.expires)
    }

    fn took(&self) -> Duration {
        let took = answerback_store::system::now().unix_millis() - self.since;
        Duration::from_millis(u64::try_from(took).unwrap_or_default())
    }
}

/// Returns the task in a result that only announces one. Revisions differ: it is a member of the result, or the
/// result itself.
pub(crate) fn task_in(result: &Value) -> Option<&Value> {
    let is_task = result["resultType"] == "task";
    let task = if is_task { result } else { &result["task"] };
    let is_result = !is_task && result.get("content").is_some();
    (task["taskId"].is_string() && !is_result).then_some(task)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the id of the task that a request or notification refers to. Returns an error response if a repeated
/// name makes it ambiguous.
pub(crate) fn subject_of(message: &Message) -> Result<Option<String>, Message> {
    let params = Object::read(message.text()).ok().and_then(|object| object.get("params"));
    let Some(params) = params.map(Object::read) else { return Ok(None) };
    let Ok(params) = params else {
        let text = "the parameters cannot be read: a name stands twice in them; send each once";
        let id = match message.shape() {
            Shape::Request { id, .. } => Some(id),
            _ => None,
        };
        return Err(Message::error(id, code::INVALID_PARAMS, text, None));
    };
    Ok(params.get("taskId").and_then(|id| serde_json::from_str(id).ok()))
}

impl Gateway {
    /// Stores the task that a call is answered with, if it is one.
    pub(crate) async fn made(&self, running: &Running, result: &Value) -> Option<TaskRole> {
        let (mut task, id) = Task::made(running, result)?;
        let (about, door) = (&running.teller.about, &running.door);
        let key = TaskKey { principal: &about.principal, server: &about.upstream, id, door };
        let notes = self.note_task(key, &mut task).await;
        let shown = (door.is_shared && task.is_qualified).then(|| key.qualified());
        Some(TaskRole::Made { notes, expires: task.expires(), shown })
    }

    /// Prepares the result of a task for the client that requested it or is notified of it.
    pub(crate) fn late(
        &self,
        client: &Client,
        upstream: &Upstream,
        request: ToolCallRequest,
        Late { task, shown }: Late,
    ) -> Running {
        let about = About {
            id: About::late_id(&task.correlation_id, 0),
            correlation: About::id_of(&task.correlation_id),
            upstream: upstream.name.clone(),
            principal: client.principal().to_owned(),
            tool: (task.tool.clone(), task.is_known),
        };
        let now = Instant::now();
        let since = now.checked_sub(task.took()).unwrap_or(now);
        let id = task.correlation_id.clone();
        // The call's id is random too, and the server does not see it.
        let marker = client.marker().unwrap_or_else(|_| Marker::of_text(&id.to_string()));
        let teller = ReplyBuilder::of_task(self, upstream, &request, about, id, marker, since);
        let was_asked_for = matches!(request.message.shape(), Shape::Request { .. });
        let is_unknown = task.is_unknown();
        let warnings = task.warnings.iter().map(|(code, text)| ErrorObject::new(code, text));
        Running {
            teller,
            may_run_twice: upstream.tools.may_run_twice(&task.tool),
            warnings: warnings.collect(),
            notes: Vec::new(),
            figures: upstream.figures.tool(&task.tool),
            task: Some(Box::new(TaskRole::Late { was_asked_for, place: 0, is_unknown, shown })),
            door: TaskScope::default(),
            call: Box::new(request),
        }
    }

    /// Checks the result of a task at its place in a message. A message without a result is forwarded unchanged.
    pub(crate) async fn deliver_late(
        &self,
        upstream: &Upstream,
        running: Running,
        said: Message,
        place: Place,
    ) -> Message {
        let Place::Within(member) = place else {
            // An error about a task of unknown origin is not the result of a call.
            let is_unknown =
                matches!(running.task.as_deref(), Some(TaskRole::Late { is_unknown: true, .. }));
            if is_unknown && splice::at(said.text(), &["result"]).is_none() {
                return said;
            }
            return self.deliver(upstream, running, said).await;
        };
        let shown = running.task.as_deref().and_then(TaskRole::shown);
        let said = match shown.and_then(|shown| shown.to_client(said.text(), &[member])) {
            Some(text) => said.with_text(text),
            None => said,
        };
        let id = running.call.id.clone();
        let Some(state) = splice::at(said.text(), &[member]) else { return said };
        let unread = |why: &str| {
            let text = format!("what the server says of the task is withheld: {why}");
            Message::error(Some(&id), code::INTERNAL_ERROR, &text, None)
        };
        let Ok(state) = Object::read(state) else {
            return unread(
                "a name stands twice in it, and not every reader takes the same value for it",
            );
        };
        let reply = match (state.get("result"), state.get("error")) {
            (Some(result), _) if result != "null" => Message::result(&id, result),
            (_, Some(error)) if error != "null" => {
                let text = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id.as_json());
                match Message::read(text) {
                    Ok(reply) => reply,
                    Err(_) => return said,
                }
            }
            // The result does not exist yet, or the task was cancelled.
            _ => return said,
        };
        let has_result = splice::at(reply.text(), &["result"]).is_some();
        let given = self.deliver(upstream, running, reply).await;
        let given = Object::read_repeating(given.text()).ok().and_then(|object| {
            let result = object.get("result")?;
            Some(result.to_owned())
        });
        match given {
            Some(result) if has_result => {
                let text = splice::with(said.text(), &[member, "result"], &result);
                text.map_or_else(|_| unread("it cannot be written"), |text| said.with_text(text))
            }
            None if !has_result => said,
            _ => unread("it could not be recorded"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_is_told_from_a_result() {
        for (result, id) in [
            (json!({"task": {"taskId": "a", "status": "working"}}), Some("a")),
            (json!({"resultType": "task", "taskId": "b", "status": "working"}), Some("b")),
            (json!({"resultType": "complete", "taskId": "b"}), None),
            (json!({"task": {"taskId": "a"}, "content": []}), None),
            (json!({"task": {}}), None),
            (json!({"content": []}), None),
        ] {
            let found = task_in(&result).and_then(|task| task["taskId"].as_str());
            assert_eq!(found, id, "{result}");
        }
    }

    #[test]
    fn a_request_with_two_tasks_is_about_none() {
        let request = |params: &str| {
            let text = format!(r#"{{"id":1,"method":"tasks/get","params":{params}}}"#);
            subject_of(&Message::read(text).unwrap()).map_err(|_| ())
        };
        assert_eq!(request(r#"{"taskId":"a"}"#), Ok(Some("a".to_owned())));
        assert_eq!(request(r#"{"taskId":7}"#), Ok(None));
        assert_eq!(request(r#"{"taskId":"a","taskId":"b"}"#), Err(()));
    }
}
