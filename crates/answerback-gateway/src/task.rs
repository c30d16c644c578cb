//! Describes tasks: calls that a server answers with a task, whose result is requested or sent later.

use std::sync::Arc;
use std::time::Duration;

use answerback::{Digest, Timestamp, UuidV4};
use answerback_mcp::wire::{Message, Object, Shape, code, splice};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The member of `_meta` that names the task that a message belongs to.
const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// The tool name for a task of unknown origin.
const UNKNOWN_TOOL: &str = "unknown";

/// Holds the data of a call that is needed when the result of its task arrives.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Task {
    pub(crate) correlation_id: UuidV4,
    pub(crate) tool: String,
    /// True if the catalog had the tool.
    pub(crate) is_known: bool,
    /// The time of the call, in milliseconds since 1970.
    #[serde(rename = "since")]
    pub(crate) called_at: i64,
    /// The time at which the task expires, in milliseconds since 1970.
    pub(crate) expires: i64,
    /// The warnings for the envelope, as code and message.
    pub(crate) warnings: Vec<(String, String)>,
    /// True if another server's task uses the plain id, so that this one needs a qualified id.
    #[serde(default)]
    pub(crate) is_qualified: bool,
    /// The connection that created the task, if each connection has its own server process.
    #[serde(default)]
    pub(crate) connection: Option<String>,
}

/// Holds a task that a request or a notification refers to.
#[derive(Debug)]
pub(crate) struct TaskReference {
    pub(crate) task: Task,
    /// The mapping of ids, if the client uses another id than the server.
    pub(crate) id_mapping: Option<TaskIdMapping>,
}

/// Describes the relation between a call in progress and a task.
#[derive(Debug)]
pub(crate) enum TaskRole {
    /// The call created the task. The notes are pairs of name and text.
    Created { notes: Vec<(String, String)>, expires: Timestamp, id_mapping: Option<TaskIdMapping> },
    /// The message contains the task's result. The result is recorded once, with the first request for it, if
    /// there was one. Earlier positions hold different results of the same task.
    Result {
        is_requested: bool,
        position: u32,
        is_unknown: bool,
        id_mapping: Option<TaskIdMapping>,
    },
}

impl TaskRole {
    /// Returns the mapping of ids, if the client uses another id than the server.
    pub(crate) fn id_mapping(&self) -> Option<&TaskIdMapping> {
        match self {
            Self::Created { id_mapping, .. } | Self::Result { id_mapping, .. } => {
                id_mapping.as_ref()
            }
        }
    }
}

/// Locates the result of a task in a message of the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TaskResultPlace {
    /// The whole response is the result.
    WholeResult,
    /// The result is inside this member, which describes the task.
    Member(&'static str),
}

impl TaskResultPlace {
    /// Returns the place of the task's result in the response to this method, or `None` if the method does not
    /// request one.
    pub(crate) fn in_response_to(method: &str) -> Option<Self> {
        match method {
            "tasks/result" => Some(Self::WholeResult),
            // Responses to the other methods may also contain the result.
            "tasks/get" | "tasks/update" | "tasks/cancel" => Some(Self::Member("result")),
            _ => None,
        }
    }

    /// Returns the place of the task's result in a notification.
    pub(crate) fn in_notification(method: &str) -> Option<Self> {
        method.starts_with("notifications/tasks").then_some(Self::Member("params"))
    }
}

impl Task {
    /// Creates the data for a task of unknown origin.
    pub(crate) fn unknown(key: TaskKey<'_>) -> Self {
        let now = answerback_store::system::now().unix_millis();
        Self {
            correlation_id: key.correlation(),
            tool: UNKNOWN_TOOL.to_owned(),
            is_known: false,
            called_at: now,
            expires: now,
            warnings: Vec::new(),
            is_qualified: false,
            connection: None,
        }
    }

    pub(crate) fn is_unknown(&self) -> bool {
        self.tool == UNKNOWN_TOOL && !self.is_known
    }

    /// Returns the time at which the task expires.
    pub(crate) fn expires(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.expires)
    }

    pub(crate) fn elapsed(&self) -> Duration {
        let elapsed = answerback_store::system::now().unix_millis() - self.called_at;
        Duration::from_millis(u64::try_from(elapsed).unwrap_or_default())
    }
}

/// Returns the task in a result that only announces one. Revisions differ: it is a member of the result, or the
/// result itself.
pub(crate) fn created_task(result: &Value) -> Option<&Value> {
    let is_task = result["resultType"] == "task";
    let task = if is_task { result } else { &result["task"] };
    let is_result = !is_task && result.get("content").is_some();
    (task["taskId"].is_string() && !is_result).then_some(task)
}

/// Returns the id of the task that a request or notification refers to. Returns an error response if a repeated
/// name makes it ambiguous.
pub(crate) fn task_id_in(message: &Message) -> Result<Option<String>, Message> {
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

/// Describes the connection between a client and a server, which decides the tasks that the client can see.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskScope {
    /// The client's connection, if the client has its own server process. Each process issues its own ids.
    pub(crate) connection: Option<Arc<str>>,
    /// True if the server is one of several behind one endpoint.
    pub(crate) is_shared: bool,
}

/// Identifies a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskKey<'a> {
    pub(crate) principal: &'a str,
    pub(crate) server: &'a str,
    /// The server's id of the task.
    pub(crate) id: &'a str,
    pub(crate) scope: &'a TaskScope,
}

impl TaskKey<'_> {
    /// Returns the name of the note about a task of this connection, if connections are separate.
    pub(crate) fn connection_note(&self) -> Option<String> {
        let connection = self.scope.connection.as_deref()?;
        Some(note_name("task", &json!([self.principal, self.server, self.id, connection])))
    }

    /// Returns the name of the note about a task of the principal.
    pub(crate) fn principal_note(&self) -> String {
        note_name("task", &json!([self.principal, self.server, self.id]))
    }

    /// Returns the name of the note about the last principal that created a task with this id.
    pub(crate) fn creator_note(&self) -> String {
        note_name("task-of", &json!([self.server, self.id]))
    }

    /// Returns the name of the note about the server whose task uses the id unchanged, if servers are combined.
    pub(crate) fn holder_note(&self) -> String {
        note_name("task-id", &json!([self.principal, self.id]))
    }

    /// Returns the correlation id for a task of unknown origin. It is derived from the task, so repeated requests
    /// share it.
    pub(crate) fn correlation(&self) -> UuidV4 {
        let connection = self.scope.connection.as_deref();
        let identity = json!(["task", self.principal, self.server, self.id, connection]);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&Digest::of(&identity).as_bytes()[..16]);
        UuidV4::from_random(bytes)
    }

    /// Returns the qualified id of a task whose plain id another server's task uses. The server's name as a
    /// prefix makes it unique.
    pub(crate) fn qualified_id(&self) -> TaskIdMapping {
        TaskIdMapping {
            server_id: self.id.to_owned(),
            client_id: format!("{}/{}", self.server, self.id),
        }
    }
}

fn note_name(kind: &str, identity: &Value) -> String {
    format!("{kind}/{}", Digest::of(identity))
}

/// Maps the server's id of a task to the client's id.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct TaskIdMapping {
    pub(crate) server_id: String,
    pub(crate) client_id: String,
}

impl TaskIdMapping {
    /// Replaces the server's id with the client's id at this place. Returns `None` if the text does not contain
    /// it.
    pub(crate) fn to_client(&self, text: &str, parent: &[&str]) -> Option<String> {
        replace_task_id(text, parent, &self.server_id, &self.client_id)
    }

    /// Replaces the client's id with the server's id at this place. Returns `None` if the text does not contain
    /// it.
    pub(crate) fn to_server(&self, text: &str, parent: &[&str]) -> Option<String> {
        replace_task_id(text, parent, &self.client_id, &self.server_id)
    }
}

fn replace_task_id(text: &str, parent: &[&str], from: &str, to: &str) -> Option<String> {
    let to = Value::from(to).to_string();
    let mut changed: Option<String> = None;
    for member in [&["taskId"][..], &["task", "taskId"], &["_meta", RELATED_TASK, "taskId"]] {
        let path = [parent, member].concat();
        let text = changed.as_deref().unwrap_or(text);
        if splice::string_at(text, &path).as_deref() == Some(from) {
            changed = splice::with(text, &path, &to).ok().or(changed);
        }
    }
    changed
}

/// Returns the task that the value at this place belongs to.
pub(crate) fn related_task_id(text: &str, parent: &[&str]) -> Option<String> {
    splice::string_at(text, &[parent, &["_meta", RELATED_TASK, "taskId"]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_names_differ_by_server_principal_and_connection() {
        let (any, one, other) = (
            TaskScope::default(),
            TaskScope { connection: Some("a".into()), is_shared: false },
            TaskScope { connection: Some("b".into()), is_shared: false },
        );
        let key = |principal, server, id, scope| TaskKey { principal, server, id, scope };
        let note_name = key("p", "s", "t", &any).principal_note();
        assert_eq!(note_name, key("p", "s", "t", &one).principal_note());
        for other in [key("q", "s", "t", &any), key("p", "r", "t", &any), key("p", "s", "u", &any)]
        {
            assert_ne!(note_name, other.principal_note());
        }
        let [one, other] = [&one, &other].map(|scope| key("p", "s", "t", scope));
        assert_eq!(key("p", "s", "t", &any).connection_note(), None);
        assert_ne!(one.connection_note(), other.connection_note());
        assert_ne!(one.correlation(), other.correlation());
    }

    #[test]
    fn task_ids_are_replaced_everywhere() {
        let id_mapping = TaskIdMapping { server_id: "t".to_owned(), client_id: "s/t".to_owned() };
        let original = r#"{"result":{ "taskId" : "t","task":{"taskId":"u"},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}},"n":1.0}}"#;
        let renamed = id_mapping.to_client(original, &["result"]).unwrap();
        assert_eq!(
            renamed,
            r#"{"result":{ "taskId" : "s/t","task":{"taskId":"u"},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"s/t"}},"n":1.0}}"#
        );
        assert_eq!(id_mapping.to_server(&renamed, &["result"]).as_deref(), Some(original));
        assert_eq!(id_mapping.to_client(r#"{"result":{"taskId":"u"}}"#, &["result"]), None);
        assert_eq!(related_task_id(original, &["result"]).as_deref(), Some("t"));
    }

    #[test]
    fn tasks_and_results_are_distinguished() {
        for (result, id) in [
            (json!({"task": {"taskId": "a", "status": "working"}}), Some("a")),
            (json!({"resultType": "task", "taskId": "b", "status": "working"}), Some("b")),
            (json!({"resultType": "complete", "taskId": "b"}), None),
            (json!({"task": {"taskId": "a"}, "content": []}), None),
            (json!({"task": {}}), None),
            (json!({"content": []}), None),
        ] {
            let found = created_task(&result).and_then(|task| task["taskId"].as_str());
            assert_eq!(found, id, "{result}");
        }
    }

    #[test]
    fn a_request_with_two_task_ids_is_rejected() {
        let request = |params: &str| {
            let text = format!(r#"{{"id":1,"method":"tasks/get","params":{params}}}"#);
            task_id_in(&Message::read(text).unwrap()).map_err(|_| ())
        };
        assert_eq!(request(r#"{"taskId":"a"}"#), Ok(Some("a".to_owned())));
        assert_eq!(request(r#"{"taskId":7}"#), Ok(None));
        assert_eq!(request(r#"{"taskId":"a","taskId":"b"}"#), Err(()));
    }
}
