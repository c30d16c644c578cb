//! Stores notes about tasks: the owner of each, and if its id is unique among all servers.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use answerback_store::StoreError;

use crate::Recorder;
use crate::task::{Task, TaskKey};

/// The number of notes stored in memory, in addition to the store. The oldest are removed first. A task has up to
/// four.
const MAX_NOTES: usize = 4096;
/// The note for a task id that several connections of a principal have used. The id is then ambiguous.
const SEVERAL_CONNECTIONS: &str = "several";

/// Identifies the owner of a task.
#[derive(Debug)]
pub(crate) enum TaskOwner {
    /// The task belongs to this client, or to its principal from an earlier connection.
    Own(Box<Task>),
    /// The task belongs to another principal.
    OtherPrincipal,
    /// The gateway did not see how the task was created.
    Unknown,
}

/// Stores the notes of this gateway by name.
#[derive(Debug, Default)]
pub(crate) struct TaskNotes(Mutex<NoteCache>);

#[derive(Debug, Default)]
struct NoteCache {
    notes: HashMap<String, String>,
    oldest_first: VecDeque<String>,
}

impl NoteCache {
    fn insert(&mut self, name: &str, text: &str) {
        if self.notes.insert(name.to_owned(), text.to_owned()).is_none() {
            self.oldest_first.push_back(name.to_owned());
        }
        if self.oldest_first.len() > MAX_NOTES
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.notes.remove(&oldest);
        }
    }
}

impl TaskNotes {
    fn lock(&self) -> MutexGuard<'_, NoteCache> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the note with this name, from memory or from the store.
    async fn read(
        &self,
        recorder: Option<&Recorder>,
        name: &str,
    ) -> Result<Option<String>, StoreError> {
        if let Some(note) = self.lock().notes.get(name) {
            return Ok(Some(note.clone()));
        }
        let Some(recorder) = recorder else { return Ok(None) };
        let (store, wanted) = (recorder.store().clone(), name.to_owned());
        let read = tokio::task::spawn_blocking(move || store.note(&wanted)).await;
        let note = match read.unwrap_or_else(|error| Err(StoreError::unit(error.to_string()))) {
            Ok(note) => note,
            Err(error) => return recorder.store().apply_failure_policy(error).map(|()| None),
        };
        if let Some(note) = &note {
            self.lock().insert(name, note);
        }
        Ok(note)
    }

    /// Returns the owner of a task, if it was created through a gateway with this store.
    pub(crate) async fn owner(
        &self,
        recorder: Option<&Recorder>,
        key: TaskKey<'_>,
    ) -> Result<TaskOwner, StoreError> {
        for name in key.connection_note().into_iter().chain([key.principal_note()]) {
            let note = self.read(recorder, &name).await?;
            if let Some(Ok(task)) = note.map(|note| serde_json::from_str(&note)) {
                return Ok(TaskOwner::Own(Box::new(task)));
            }
        }
        let creator_note = self.read(recorder, &key.creator_note()).await?;
        let is_others = creator_note.is_some_and(|creator| creator != key.principal);
        Ok(if is_others { TaskOwner::OtherPrincipal } else { TaskOwner::Unknown })
    }

    /// Returns true if the task's plain id is unique among all servers.
    pub(crate) async fn has_unique_id(
        &self,
        recorder: Option<&Recorder>,
        key: TaskKey<'_>,
    ) -> Result<bool, StoreError> {
        if let TaskOwner::Own(task) = self.owner(recorder, key).await? {
            return Ok(!task.is_qualified);
        }
        let holder_note = self.read(recorder, &key.holder_note()).await?;
        Ok(holder_note.is_none_or(|server| server == key.server))
    }

    /// Stores a new task in memory and returns its notes for the store. Notes about an older task with the same
    /// id are replaced, because a restarted server may reuse ids.
    pub(crate) async fn add_task(
        &self,
        recorder: Option<&Recorder>,
        key: TaskKey<'_>,
        task: &mut Task,
    ) -> Vec<(String, String)> {
        // If the store cannot be read, it cannot be written either, and that error is reported.
        let previous = self.read(recorder, &key.principal_note()).await.ok().flatten();
        let holding_server = self.read(recorder, &key.holder_note()).await.ok().flatten();
        let mut cache = self.lock();
        // Two servers may issue the same id at the same time.
        let holding_server = cache.notes.get(&key.holder_note()).cloned().or(holding_server);
        task.is_qualified = holding_server.is_some_and(|server| server != key.server);
        let connection = key.scope.connection.as_deref();
        task.connection = connection.map(str::to_owned);
        let is_ambiguous = connection.is_some()
            && previous.is_some_and(|previous| {
                let previous: Option<Task> = serde_json::from_str(&previous).ok();
                previous.is_none_or(|previous| previous.connection != task.connection)
            });
        let text = serde_json::to_string(task).unwrap_or_default();
        let principal_note =
            if is_ambiguous { SEVERAL_CONNECTIONS.to_owned() } else { text.clone() };
        let mut notes = vec![
            (key.principal_note(), principal_note),
            (key.creator_note(), key.principal.to_owned()),
        ];
        notes.extend(key.connection_note().map(|name| (name, text)));
        if !task.is_qualified {
            notes.push((key.holder_note(), key.server.to_owned()));
        }
        for (name, text) in &notes {
            cache.insert(name, text);
        }
        notes
    }
}
