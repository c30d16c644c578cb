//! Calls that were answered with a task: what becomes of them is asked for later, or told.

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

/// How long a task is remembered whose server does not say how long it keeps it.
const USUALLY: Duration = Duration::from_hours(7 * 24);
/// The least that a task is remembered, and the most, whatever its server says.
const WITHIN: [Duration; 2] = [Duration::from_hours(1), Duration::from_hours(30 * 24)];

/// What stands for the tool of a task that nobody was seen to make.
const UNKNOWN: &str = "unknown";

/// What has to be known of a call when the result of its task comes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Task {
    correlation_id: UuidV4,
    tool: String,
    /// Whether the catalogue had the tool.
    is_known: bool,
    /// When the call came, in milliseconds since 1970.
    since: i64,
    /// When it is forgotten, in milliseconds since 1970.
    expires: i64,
    /// What its envelope warns of already, by code and words.
    warnings: Vec<(String, String)>,
    /// Whether another server's task has its id to itself, where several servers are one.
    #[serde(default)]
    pub(crate) is_qualified: bool,
    /// On which connection it was made, where each has a process of the server to itself.
    #[serde(default)]
    pub(crate) connection: Option<String>,
}

/// A task that somebody asks about, or is told of.
#[derive(Debug)]
pub(crate) struct Late {
    pub(crate) task: Task,
    /// What the client calls it, where that is not what its server does.
    pub(crate) shown: Option<RenamedTask>,
}

/// What a call that is under way has to do with a task.
#[derive(Debug)]
pub(crate) enum TaskRole {
    /// It was answered with one, of which this is noted: name and text.
    Made { notes: Vec<(String, String)>, expires: Timestamp, shown: Option<RenamedTask> },
    /// What is under way is its result. It is recorded once, with the request of whoever asked first, if anybody did. The
    /// places before this one have other results of the same task.
    Late { was_asked_for: bool, place: u32, is_unknown: bool, shown: Option<RenamedTask> },
}

impl TaskRole {
    /// What the client calls the task, where that is not what its server does.
    pub(crate) fn shown(&self) -> Option<&RenamedTask> {
        match self {
            Self::Made { shown, .. } | Self::Late { shown, .. } => shown.as_ref(),
        }
    }
}

/// Where the result of a task is, in what a server says of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Place {
    /// It is the answer.
    Answer,
    /// It is part of what is said of the task, which is this member.
    Within(&'static str),
}

impl Place {
    /// Where the answer to a request has the result of a task; nothing, where the request does not ask for one.
    pub(crate) fn asked_with(method: &str) -> Option<Self> {
        match method {
            "tasks/result" => Some(Self::Answer),
            // What is said to the others is what became of the task, as well.
            "tasks/get" | "tasks/update" | "tasks/cancel" => Some(Self::Within("result")),
            _ => None,
        }
    }

    /// Where a notification has it.
    pub(crate) fn told_with(method: &str) -> Option<Self> {
        method.starts_with("notifications/tasks").then_some(Self::Within("params"))
    }
}

impl Task {
    /// The task that a result is, and what its server calls it.
    pub(crate) fn made<'r>(running: &Running, result: &'r Value) -> Option<(Self, &'r str)> {
        let task = task_in(result)?;
        let (id, about) = (task["taskId"].as_str()?, &running.teller.about);
        let now = answerback_record::system::now().unix_millis();
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

    /// A task that nobody was seen to make.
    pub(crate) fn unknown(key: TaskKey<'_>) -> Self {
        let now = answerback_record::system::now().unix_millis();
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

    /// The tool that was called.
    pub(crate) fn tool(&self) -> &str {
        &self.tool
    }

    /// When it is forgotten.
    pub(crate) fn expires(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.expires)
    }

    fn took(&self) -> Duration {
        let took = answerback_record::system::now().unix_millis() - self.since;
        Duration::from_millis(u64::try_from(took).unwrap_or_default())
    }
}

/// The task in a result that is none yet: as a member of its own, as one revision has it, or as the result itself.
pub(crate) fn task_in(result: &Value) -> Option<&Value> {
    let is_task = result["resultType"] == "task";
    let task = if is_task { result } else { &result["task"] };
    let is_result = !is_task && result.get("content").is_some();
    (task["taskId"].is_string() && !is_result).then_some(task)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// The task that a request or a notification is about; the answer, where two readers could take it for different ones.
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
    /// Notes the task that a call is answered with, if it is.
    pub(crate) async fn made(&self, running: &Running, result: &Value) -> Option<TaskRole> {
        let (mut task, id) = Task::made(running, result)?;
        let (about, door) = (&running.teller.about, &running.door);
        let key = TaskKey { principal: &about.principal, server: &about.upstream, id, door };
        let notes = self.note_task(key, &mut task).await;
        let shown = (door.is_shared && task.is_qualified).then(|| key.qualified());
        Some(TaskRole::Made { notes, expires: task.expires(), shown })
    }

    /// The result of a task on its way to whoever asked for it, or is told of it.
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
        // The id is random too, and the server does not see it.
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

    /// Looks at the result of a task before it is given, wherever it is in what the server says; what says nothing of a
    /// result crosses.
    pub(crate) async fn deliver_late(
        &self,
        upstream: &Upstream,
        running: Running,
        said: Message,
        place: Place,
    ) -> Message {
        let Place::Within(member) = place else {
            // That a server does not know what nobody made says nothing of a call.
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
            // It is not there yet, or was given up.
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
