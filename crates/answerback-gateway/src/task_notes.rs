//! Stores notes about tasks: the owner of each, and if its id is unique among all servers.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use answerback::{Digest, UuidV4};
use answerback_mcp::wire::splice;
use answerback_store::StoreError;
use serde_json::{Value, json};

use crate::Gateway;
use crate::tasks::Task;

/// The number of notes stored in memory, in addition to the store. The oldest are removed first. A task has up to
/// four.
const MOST: usize = 4096;
/// The note for a task id that several connections of a principal have used. The id is then ambiguous.
const SEVERAL: &str = "several";
/// The member of `_meta` that names the task that a message belongs to.
const RELATED: &str = "io.modelcontextprotocol/related-task";

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
    pub(crate) door: &'a TaskScope,
}

/// Identifies the owner of a task.
#[derive(Debug)]
pub(crate) enum TaskOwner {
    /// The task belongs to this client, or to its principal from an earlier connection.
    Own(Box<Task>),
    /// The task belongs to another principal.
    Others,
    /// The gateway did not see how the task was created.
    Nobody,
}

impl TaskKey<'_> {
    /// Returns the name of the note about a task of this connection, if connections are separate.
    fn on_connection(&self) -> Option<String> {
        let connection = self.door.connection.as_deref()?;
        Some(name("task", &json!([self.principal, self.server, self.id, connection])))
    }

    /// Returns the name of the note about a task of the principal.
    fn of_principal(&self) -> String {
        name("task", &json!([self.principal, self.server, self.id]))
    }

    /// Returns the name of the note about the last principal that created a task with this id.
    fn maker(&self) -> String {
        name("task-of", &json!([self.server, self.id]))
    }

    /// Returns the name of the note about the server whose task uses the id unchanged, if servers are combined.
    fn holder(&self) -> String {
        name("task-id", &json!([self.principal, self.id]))
    }

    /// Returns the correlation id for a task of unknown origin. It is derived from the task, so repeated requests
    /// share it.
    pub(crate) fn correlation(&self) -> UuidV4 {
        let connection = self.door.connection.as_deref();
        let whole = json!(["task", self.principal, self.server, self.id, connection]);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&Digest::of(&whole).as_bytes()[..16]);
        UuidV4::from_random(bytes)
    }

    /// Returns the qualified id of a task whose plain id another server's task uses. The server's name as a
    /// prefix makes it unique.
    pub(crate) fn qualified(&self) -> RenamedTask {
        RenamedTask { own: self.id.to_owned(), shown: format!("{}/{}", self.server, self.id) }
    }
}

fn name(kind: &str, whole: &Value) -> String {
    format!("{kind}/{}", Digest::of(whole))
}

/// Maps the server's id of a task to the client's id.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct RenamedTask {
    pub(crate) own: String,
    pub(crate) shown: String,
}

impl RenamedTask {
    /// Replaces the server's id with the client's id at this place. Returns `None` if the text does not contain
    /// it.
    pub(crate) fn to_client(&self, text: &str, place: &[&str]) -> Option<String> {
        renamed(text, place, &self.own, &self.shown)
    }

    /// Replaces the client's id with the server's id at this place. Returns `None` if the text does not contain
    /// it.
    pub(crate) fn to_server(&self, text: &str, place: &[&str]) -> Option<String> {
        renamed(text, place, &self.shown, &self.own)
    }
}

fn renamed(text: &str, place: &[&str], from: &str, to: &str) -> Option<String> {
    let to = Value::from(to).to_string();
    let mut changed: Option<String> = None;
    for member in [&["taskId"][..], &["task", "taskId"], &["_meta", RELATED, "taskId"]] {
        let path = [place, member].concat();
        let text = changed.as_deref().unwrap_or(text);
        if splice::string_at(text, &path).as_deref() == Some(from) {
            changed = splice::with(text, &path, &to).ok().or(changed);
        }
    }
    changed
}

/// Returns the task that the value at this place belongs to.
pub(crate) fn related(text: &str, place: &[&str]) -> Option<String> {
    splice::string_at(text, &[place, &["_meta", RELATED, "taskId"]].concat())
}

/// Stores the notes of this gateway by name.
#[derive(Debug, Default)]
pub(crate) struct TaskNotes(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    notes: HashMap<String, String>,
    oldest_first: VecDeque<String>,
}

impl Memory {
    fn keep(&mut self, name: &str, text: &str) {
        if self.notes.insert(name.to_owned(), text.to_owned()).is_none() {
            self.oldest_first.push_back(name.to_owned());
        }
        if self.oldest_first.len() > MOST
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.notes.remove(&oldest);
        }
    }
}

impl TaskNotes {
    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gateway {
    /// Returns the note with this name, from memory or from the store.
    async fn noted(&self, name: &str) -> Result<Option<String>, StoreError> {
        if let Some(note) = self.tasks.lock().notes.get(name) {
            return Ok(Some(note.clone()));
        }
        let Some(recorder) = &self.recorder else { return Ok(None) };
        let (store, wanted) = (recorder.store().clone(), name.to_owned());
        let read = tokio::task::spawn_blocking(move || store.note(&wanted)).await;
        let note = match read.unwrap_or_else(|error| Err(StoreError::unit(error.to_string()))) {
            Ok(note) => note,
            Err(error) => return recorder.store().apply_failure_policy(error).map(|()| None),
        };
        if let Some(note) = &note {
            self.tasks.lock().keep(name, note);
        }
        Ok(note)
    }

    /// Returns the owner of a task, if it was created through a gateway with this store.
    pub(crate) async fn task(&self, key: TaskKey<'_>) -> Result<TaskOwner, StoreError> {
        for name in key.on_connection().into_iter().chain([key.of_principal()]) {
            let note = self.noted(&name).await?;
            if let Some(Ok(task)) = note.map(|note| serde_json::from_str(&note)) {
                return Ok(TaskOwner::Own(Box::new(task)));
            }
        }
        let maker = self.noted(&key.maker()).await?;
        let is_others = maker.is_some_and(|maker| maker != key.principal);
        Ok(if is_others { TaskOwner::Others } else { TaskOwner::Nobody })
    }

    /// Returns true if the task's plain id is unique among all servers.
    pub(crate) async fn is_plain(&self, key: TaskKey<'_>) -> Result<bool, StoreError> {
        if let TaskOwner::Own(task) = self.task(key).await? {
            return Ok(!task.is_qualified);
        }
        let holder = self.noted(&key.holder()).await?;
        Ok(holder.is_none_or(|holder| holder == key.server))
    }

    /// Stores a new task in memory and returns its notes for the store. Notes about an older task with the same
    /// id are replaced, because a restarted server may reuse ids.
    pub(crate) async fn note_task(
        &self,
        key: TaskKey<'_>,
        task: &mut Task,
    ) -> Vec<(String, String)> {
        // If the store cannot be read, it cannot be written either, and that error is reported.
        let before = self.noted(&key.of_principal()).await.ok().flatten();
        let held = self.noted(&key.holder()).await.ok().flatten();
        let mut memory = self.tasks.lock();
        // Two servers may issue the same id at the same time.
        let held = memory.notes.get(&key.holder()).cloned().or(held);
        task.is_qualified = held.is_some_and(|holder| holder != key.server);
        let connection = key.door.connection.as_deref();
        task.connection = connection.map(str::to_owned);
        let is_several = connection.is_some()
            && before.is_some_and(|before| {
                let before: Option<Task> = serde_json::from_str(&before).ok();
                before.is_none_or(|before| before.connection != task.connection)
            });
        let text = serde_json::to_string(task).unwrap_or_default();
        let of_principal = if is_several { SEVERAL.to_owned() } else { text.clone() };
        let mut notes =
            vec![(key.of_principal(), of_principal), (key.maker(), key.principal.to_owned())];
        notes.extend(key.on_connection().map(|name| (name, text)));
        if !task.is_qualified {
            notes.push((key.holder(), key.server.to_owned()));
        }
        for (name, text) in &notes {
            memory.keep(name, text);
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_servers_principals_and_connections_apart() {
        let (any, one, other) = (
            TaskScope::default(),
            TaskScope { connection: Some("a".into()), is_shared: false },
            TaskScope { connection: Some("b".into()), is_shared: false },
        );
        let key = |principal, server, id, door| TaskKey { principal, server, id, door };
        let name = key("p", "s", "t", &any).of_principal();
        assert_eq!(name, key("p", "s", "t", &one).of_principal());
        for other in [key("q", "s", "t", &any), key("p", "r", "t", &any), key("p", "s", "u", &any)]
        {
            assert_ne!(name, other.of_principal());
        }
        let [one, other] = [&one, &other].map(|door| key("p", "s", "t", door));
        assert_eq!(key("p", "s", "t", &any).on_connection(), None);
        assert_ne!(one.on_connection(), other.on_connection());
        assert_ne!(one.correlation(), other.correlation());
    }

    #[test]
    fn a_task_has_the_client_s_name_wherever_it_is_named() {
        let shown = RenamedTask { own: "t".to_owned(), shown: "s/t".to_owned() };
        let said = r#"{"result":{ "taskId" : "t","task":{"taskId":"u"},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}},"n":1.0}}"#;
        let told = shown.to_client(said, &["result"]).unwrap();
        assert_eq!(
            told,
            r#"{"result":{ "taskId" : "s/t","task":{"taskId":"u"},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"s/t"}},"n":1.0}}"#
        );
        assert_eq!(shown.to_server(&told, &["result"]).as_deref(), Some(said));
        assert_eq!(shown.to_client(r#"{"result":{"taskId":"u"}}"#, &["result"]), None);
        assert_eq!(related(said, &["result"]).as_deref(), Some("t"));
    }
}
