//! `.bot/solution/projects.json`: what people and agents say of the projects.

use std::fs::File;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use answerback::Timestamp;
use answerback::call::{Schema, SchemaError};
use answerback::contract::tool::ErrorObject;
use serde_json::{Map, Value, json};

use super::document::{Unusable, read_document};
use super::folder::Folder;
use super::trouble::{Trouble, TroubleKind};
use crate::issue::code;

pub(crate) const REGISTRY: &str = ".bot/solution/projects.json";
const FOLDER: &str = ".bot/solution";
/// How often, and how long apart, a writer asks for its turn.
const TURNS: usize = 40;
const BETWEEN_TURNS: Duration = Duration::from_millis(25);

/// The registry: everything as it stands in the file, members of others' included.
#[derive(Debug)]
pub(crate) struct ProjectRegistry {
    document: Map<String, Value>,
    projects: Map<String, Value>,
}

/// What a caller says of a project; what is left out stays as it is.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    pub(crate) alias: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) tags: Option<Vec<String>>,
    pub(crate) owner: Option<String>,
}

static SCHEMA: LazyLock<Result<Schema, SchemaError>> = LazyLock::new(|| {
    let text = json!({"type": ["string", "null"]});
    Schema::compile(json!({
        "type": "object",
        "properties": {
            "registry_version": {"const": "1.0"},
            "last_updated": text,
            "projects": {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "properties": {
                        "alias": text,
                        "summary": text,
                        "tags": {"type": ["array", "null"], "items": {"type": "string"}},
                        "owner": text,
                        "registered_at": text,
                    },
                },
            },
        },
        "required": ["registry_version", "projects"],
    }))
});

impl ProjectRegistry {
    /// Reads the registry, or tells why it cannot be used. One that is not there is empty.
    pub(crate) fn read(folder: &Folder) -> Result<Result<Self, ErrorObject>, SchemaError> {
        let schema = SCHEMA.as_ref().map_err(Clone::clone)?;
        let value = match read_document(folder, REGISTRY, schema)? {
            Ok(value) => value,
            Err(Unusable::Trouble(trouble)) if trouble.is_missing() => {
                return Ok(Ok(Self::empty()));
            }
            Err(unusable) => {
                let issue = unusable.issue(code::REGISTRY_PARSE_ERROR, "The registry", REGISTRY);
                return Ok(Err(issue));
            }
        };
        let Value::Object(mut document) = value else { return Ok(Ok(Self::empty())) };
        // The place of the projects is kept, so that a rewritten file differs only where something changed.
        let projects = document.insert("projects".to_owned(), Value::Null);
        let Some(Value::Object(projects)) = projects else { return Ok(Ok(Self::empty())) };
        Ok(Ok(Self { document, projects }))
    }

    /// A registry without projects.
    pub(crate) fn empty() -> Self {
        let mut document = Map::new();
        document.insert("registry_version".to_owned(), "1.0".into());
        document.insert("last_updated".to_owned(), Value::Null);
        document.insert("projects".to_owned(), Value::Null);
        Self { document, projects: Map::new() }
    }

    /// The names of the registered projects.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.projects.keys().map(String::as_str)
    }

    /// What is registered of a project.
    pub(crate) fn entry(&self, name: &str) -> Option<&Map<String, Value>> {
        self.projects.get(name)?.as_object()
    }

    /// The alias that a project is registered with.
    pub(crate) fn alias(&self, name: &str) -> Option<&str> {
        self.entry(name)?.get("alias")?.as_str().filter(|alias| !alias.is_empty())
    }

    /// Aliases that more than one project has, with their projects.
    pub(crate) fn shared_aliases(&self) -> Vec<(&str, Vec<&str>)> {
        let mut owners: Vec<(&str, Vec<&str>)> = Vec::new();
        for name in self.names() {
            let Some(alias) = self.alias(name) else { continue };
            match owners.iter_mut().find(|(known, _)| *known == alias) {
                Some((_, names)) => names.push(name),
                None => owners.push((alias, vec![name])),
            }
        }
        owners.retain(|(_, names)| names.len() > 1);
        owners
    }

    /// Registers a project, or updates what is registered, and answers the entry.
    pub(crate) fn register(
        &mut self,
        name: &str,
        said: Metadata,
        now: Timestamp,
    ) -> Map<String, Value> {
        let time = now.to_utc_seconds();
        let mut entry = self.entry(name).cloned().unwrap_or_default();
        let empty = |member: &str| if member == "tags" { json!([]) } else { Value::Null };
        for (member, value) in [
            ("alias", said.alias.map(Value::from)),
            ("summary", said.summary.map(Value::from)),
            ("tags", said.tags.map(Value::from)),
            ("owner", said.owner.map(Value::from)),
        ] {
            let value =
                value.or_else(|| entry.get(member).cloned()).unwrap_or_else(|| empty(member));
            entry.insert(member.to_owned(), value);
        }
        entry.entry("registered_at").or_insert_with(|| time.clone().into());
        self.projects.insert(name.to_owned(), entry.clone().into());
        self.document.insert("last_updated".to_owned(), time.into());
        entry
    }

    /// Writes the registry as a whole.
    pub(crate) fn write(mut self, folder: &Folder) -> Result<(), Trouble> {
        self.document.insert("projects".to_owned(), self.projects.into());
        // A tree of JSON always serialises.
        let mut text = serde_json::to_string_pretty(&self.document).unwrap_or_default();
        text.push('\n');
        folder.write(REGISTRY, &text)
    }
}

/// The turn of one writer among all processes; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct WriterTurn {
    _folder: Option<File>,
}

impl WriterTurn {
    /// Waits for the turn, about a second. The registry's folder is made if need be. Where folders cannot be
    /// locked (Windows), writers of one process still take turns; see `Tools`.
    pub(crate) fn take(folder: &Folder) -> Result<Self, Trouble> {
        let real = folder.make(FOLDER)?;
        if cfg!(not(unix)) {
            return Ok(Self { _folder: None });
        }
        let opened = File::open(real).map_err(|error| Trouble::of(&error, FOLDER))?;
        for _ in 0..TURNS {
            match opened.try_lock() {
                Ok(()) => return Ok(Self { _folder: Some(opened) }),
                Err(std::fs::TryLockError::WouldBlock) => thread::sleep(BETWEEN_TURNS),
                // A file system without locks has no other writers that we could know of.
                Err(std::fs::TryLockError::Error(_)) => return Ok(Self { _folder: None }),
            }
        }
        Err(TroubleKind::Busy.at(REGISTRY))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::bot::folder::Root;

    fn solution(registry: Option<&str>) -> (tempfile::TempDir, Folder) {
        let made = tempfile::tempdir().unwrap();
        fs::create_dir_all(made.path().join(".bot/solution")).unwrap();
        if let Some(text) = registry {
            fs::write(made.path().join(REGISTRY), text).unwrap();
        }
        let folder = Folder::find(&Root::At(made.path().to_owned())).unwrap().unwrap();
        (made, folder)
    }

    #[test]
    fn what_others_wrote_stays() {
        let before = r#"{"owner_of_file":"us","registry_version":"1.0","projects":{
            "a":{"alias":"x","note":7,"registered_at":"2020-01-01T00:00:00Z"},"b":{"alias":"x"}},"last_updated":null}"#;
        let (made, folder) = solution(Some(before));
        let mut registry = ProjectRegistry::read(&folder).unwrap().unwrap();
        assert_eq!(registry.shared_aliases(), [("x", vec!["a", "b"])]);
        let said = Metadata { alias: Some("be".to_owned()), ..Metadata::default() };
        registry.register("a", said, Timestamp::from_unix_millis(1_767_362_220_000));
        assert!(registry.shared_aliases().is_empty());
        registry.write(&folder).unwrap();
        insta::assert_snapshot!(fs::read_to_string(made.path().join(REGISTRY)).unwrap(), @r#"
        {
          "owner_of_file": "us",
          "registry_version": "1.0",
          "projects": {
            "a": {
              "alias": "be",
              "note": 7,
              "registered_at": "2020-01-01T00:00:00Z",
              "summary": null,
              "tags": [],
              "owner": null
            },
            "b": {
              "alias": "x"
            }
          },
          "last_updated": "2026-01-02T13:57:00Z"
        }
        "#);
    }

    #[test]
    fn what_is_no_registry_is_not_taken_for_an_empty_one() {
        for text in [
            "",
            "[]",
            "{",
            r#"{"registry_version": "2.0", "projects": {}}"#,
            r#"{"registry_version": "1.0"}"#,
            r#"{"registry_version": "1.0", "projects": []}"#,
            r#"{"registry_version": "1.0", "projects": {"a": {"tags": "x"}}}"#,
            r#"{"registry_version": "1.0", "projects": {"a": {}, "a": {}}}"#,
        ] {
            let (_made, folder) = solution(Some(text));
            let issue = ProjectRegistry::read(&folder).unwrap().unwrap_err();
            assert_eq!(issue.code, code::REGISTRY_PARSE_ERROR, "{text}");
        }
        let (_made, folder) = solution(None);
        assert_eq!(ProjectRegistry::read(&folder).unwrap().unwrap().names().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn writers_take_turns() {
        let (_made, folder) = solution(None);
        let turn = WriterTurn::take(&folder).unwrap();
        assert_eq!(WriterTurn::take(&folder).unwrap_err().kind, TroubleKind::Busy);
        drop(turn);
        WriterTurn::take(&folder).unwrap();
    }
}
