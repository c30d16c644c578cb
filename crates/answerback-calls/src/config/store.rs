//! Reads `store`: the place where everything is stored.

use serde_json::{Value, json};

use super::reader::ConfigReader;
use super::setting::PATH;

/// The place of the store.
///
/// A URL can contain a password, so the configuration can refer to a variable or file instead.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum StoreConfig {
    /// A file. A relative path starts at the folder of the configuration file.
    File(String),
    /// The URL of a `PostgreSQL` database.
    Url(String),
    /// The environment variable that holds the URL.
    UrlVariable(String),
    /// The file that holds the URL and nothing else.
    UrlFile(String),
}

const EXPECTED: &str =
    "the path of a file, a postgresql:// URL, or a mapping with url_env or url_file";
const NAMES: [&str; 2] = ["url_env", "url_file"];
pub(super) const VARIABLE: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

impl StoreConfig {
    /// True if the text is the URL of a `PostgreSQL` database, not the path of a file.
    ///
    /// ```
    /// use answerback_calls::config::StoreConfig;
    ///
    /// assert!(StoreConfig::is_url("postgresql://db.internal/answerback"));
    /// assert!(!StoreConfig::is_url("state/ledger.db"));
    /// ```
    pub fn is_url(text: &str) -> bool {
        text.starts_with("postgresql://") || text.starts_with("postgres://")
    }

    pub(super) fn read(reading: &mut ConfigReader<'_>, value: &Value) -> Option<Self> {
        match value {
            Value::Null => None,
            Value::String(text) if Self::is_url(text) => Some(Self::Url(text.clone())),
            // A URL with another scheme is an unsupported database, not a file with that name.
            Value::String(text) if PATH.of(value).is_some() && !text.contains("://") => {
                Some(Self::File(text.clone()))
            }
            Value::Object(members) => {
                for name in members.keys().filter(|name| !NAMES.contains(&name.as_str())) {
                    reading.warn(&format!("store.{name}"), &NAMES);
                }
                match (members.get(NAMES[0]), members.get(NAMES[1])) {
                    (Some(variable), None) => {
                        let found = variable.as_str().filter(|name| is_variable(name));
                        if found.is_none() {
                            reading.problem("store.url_env", variable, "the name of a variable");
                        }
                        found.map(|name| Self::UrlVariable(name.to_owned()))
                    }
                    (None, Some(file)) => {
                        let found = PATH.of(file);
                        if found.is_none() {
                            reading.problem("store.url_file", file, PATH.expected);
                        }
                        found.map(|path| Self::UrlFile(path.to_owned()))
                    }
                    (Some(_), Some(_)) => {
                        reading.problem("store", value, "url_env or url_file, not both");
                        None
                    }
                    (None, None) => {
                        reading.problem("store", value, EXPECTED);
                        None
                    }
                }
            }
            _ => {
                reading.problem("store", value, EXPECTED);
                None
            }
        }
    }
}

fn is_variable(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

/// Returns the JSON Schema of `store`.
pub(super) fn schema() -> Value {
    json!({
        "description": "Where the ledger and all state is kept: a file, or a PostgreSQL database.",
        "anyOf": [
            {"type": "null"},
            {"type": "string", "pattern": "^postgres(ql)?://"},
            {"type": "string", "pattern": PATH.pattern, "not": {"pattern": "://"}},
            {
                "type": "object",
                "required": ["url_env"],
                "properties": {"url_env": {
                    "type": "string",
                    "pattern": VARIABLE,
                    "description": "The variable of the environment that holds the URL.",
                }},
                "additionalProperties": false,
            },
            {
                "type": "object",
                "required": ["url_file"],
                "properties": {"url_file": {
                    "type": "string",
                    "pattern": PATH.pattern,
                    "description": "The file that holds the URL and nothing else.",
                }},
                "additionalProperties": false,
            },
        ],
    })
}
