//! Reads and writes the project registry, `.bot/solution/projects.json`.

use std::fs::File;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use answerback::Timestamp;
use answerback::call::{Schema, SchemaError};
use answerback::contract::tool::ErrorObject;
use serde_json::{Map, Value, json};

use super::document::{UnusableFile, read_document};
use super::file_error::{BotFileError, BotFileErrorKind};
use super::folder::BotFolder;
use crate::tools::issue::code;

pub(crate) const REGISTRY: &str = ".bot/solution/projects.json";
const FOLDER: &str = ".bot/solution";
/// The number of attempts to lock the registry, and the pause between them.
const TURNS: usize = 40;
const BETWEEN_TURNS: Duration = Duration::from_millis(25);

/// The registry, including members that we do not know, which are preserved.
#[derive(Debug)]
pub(crate) struct ProjectRegistry {
    document: Map<String, Value>,
    projects: Map<String, Value>,
}

/// The metadata in a call. Members that are left out keep their registered values.
#[derive(Debug, Default)]
pub(crate) struct RegistryMetadata {
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
    /// Reads the registry, or returns the error that makes it unusable. A missing file is an empty registry.
    pub(crate) fn read(folder: &BotFolder) -> Result<Result<Self, ErrorObject>, SchemaError> {
        let schema = SCHEMA.as_ref().map_err(Clone::clone)?;
        let value = match read_document(folder, REGISTRY, schema)? {
            Ok(value) => value,
            Err(UnusableFile::Access(trouble)) if trouble.is_missing() => {
                return Ok(Ok(Self::empty()));
            }
            Err(unusable) => {
                let issue = unusable.issue(code::REGISTRY_PARSE_ERROR, "The registry", REGISTRY);
                return Ok(Err(issue));
            }
        };
        let Value::Object(mut document) = value else { return Ok(Ok(Self::empty())) };
        // This keeps the position of `projects`, so that a rewritten file differs only where something changed.
        let projects = document.insert("projects".to_owned(), Value::Null);
        let Some(Value::Object(projects)) = projects else { return Ok(Ok(Self::empty())) };
        Ok(Ok(Self { document, projects }))
    }

    /// Creates a registry without projects.
    pub(crate) fn empty() -> Self {
        let mut document = Map::new();
        document.insert("registry_version".to_owned(), "1.0".into());
        document.insert("last_updated".to_owned(), Value::Null);
        document.insert("projects".to_owned(), Value::Null);
        Self { document, projects: Map::new() }
    }

    /// Returns the names of the registered projects.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.projects.keys().map(String::as_str)
    }

    /// Returns the registered metadata of a project.
    pub(crate) fn entry(&self, name: &str) -> Option<&Map<String, Value>> {
        self.projects.get(name)?.as_object()
    }

    /// Returns the registered alias of a project.
    pub(crate) fn alias(&self, name: &str) -> Option<&str> {
        self.entry(name)?.get("alias")?.as_str().filter(|alias| !alias.is_empty())
    }

    /// Returns each alias that several projects have, with these projects.
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

    /// Registers or updates a project and returns its entry.
    pub(crate) fn register(
        &mut self,
        name: &str,
        said: RegistryMetadata,
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

    /// Writes the whole registry.
    pub(crate) fn write(mut self, folder: &BotFolder) -> Result<(), BotFileError> {
        self.document.insert("projects".to_owned(), self.projects.into());
        // Serializing a JSON tree cannot fail.
        let mut text = serde_json::to_string_pretty(&self.document).unwrap_or_default();
        text.push('\n');
        folder.write(REGISTRY, &text)
    }
}

/// Holds the lock that lets one process at a time write the registry. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct WriterTurn {
    _folder: Option<File>,
}

impl WriterTurn {
    /// Waits about a second for the lock. Creates the registry's folder if needed. Folders cannot be locked on Windows.
    /// There only the writers of one process take turns; see `Toolset`.
    pub(crate) fn take(folder: &BotFolder) -> Result<Self, BotFileError> {
        let real = folder.make(FOLDER)?;
        if cfg!(not(unix)) {
            return Ok(Self { _folder: None });
        }
        let opened = File::open(real).map_err(|error| BotFileError::of(&error, FOLDER))?;
        for _ in 0..TURNS {
            match opened.try_lock() {
                Ok(()) => return Ok(Self { _folder: Some(opened) }),
                Err(std::fs::TryLockError::WouldBlock) => thread::sleep(BETWEEN_TURNS),
                // On a file system without locks, writing continues without one.
                Err(std::fs::TryLockError::Error(_)) => return Ok(Self { _folder: None }),
            }
        }
        Err(BotFileErrorKind::Busy.at(REGISTRY))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tools::bot::folder::SolutionRoot;

    fn solution(registry: Option<&str>) -> (tempfile::TempDir, BotFolder) {
        let made = tempfile::tempdir().unwrap();
        fs::create_dir_all(made.path().join(".bot/solution")).unwrap();
        if let Some(text) = registry {
            fs::write(made.path().join(REGISTRY), text).unwrap();
        }
        let folder = BotFolder::find(&SolutionRoot::At(made.path().to_owned())).unwrap().unwrap();
        (made, folder)
    }

    #[test]
    fn what_others_wrote_stays() {
        let before = r#"{"owner_of_file":"us","registry_version":"1.0","projects":{
            "a":{"alias":"x","note":7,"registered_at":"2020-01-01T00:00:00Z"},"b":{"alias":"x"}},"last_updated":null}"#;
        let (made, folder) = solution(Some(before));
        let mut registry = ProjectRegistry::read(&folder).unwrap().unwrap();
        assert_eq!(registry.shared_aliases(), [("x", vec!["a", "b"])]);
        let said = RegistryMetadata { alias: Some("be".to_owned()), ..RegistryMetadata::default() };
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
        assert_eq!(WriterTurn::take(&folder).unwrap_err().kind, BotFileErrorKind::Busy);
        drop(turn);
        WriterTurn::take(&folder).unwrap();
    }
}
