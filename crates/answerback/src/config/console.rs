//! `console`: what people are shown beside the record, and whom a decision is told.

use serde_json::{Map, Value, json};

use super::Reading;
use super::setting::{Kind, PATH, Setting, URL};

/// What the console needs to be told. Relative paths belong to the file's folder.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ConsoleConfig {
    /// The folder below which files that replies refer to are served.
    pub files: Option<String>,
    /// Where decisions are posted to.
    pub webhook: Option<String>,
}

static SETTINGS: [Setting<ConsoleConfig>; 2] = [
    Setting {
        group: None,
        name: "files",
        about: "The folder below which files that replies refer to are served.",
        kind: Kind::Text { form: &PATH, set: |console, text| console.files = Some(text) },
    },
    Setting {
        group: None,
        name: "webhook",
        about: "Where every decision is posted to, as JSON.",
        kind: Kind::Text { form: &URL, set: |console, text| console.webhook = Some(text) },
    },
];

impl ConsoleConfig {
    pub(super) fn read(reading: &mut Reading<'_>, members: &Map<String, Value>) -> Self {
        let mut console = Self::default();
        for (name, value) in members {
            reading.take("console", name, value, &SETTINGS, &[], &mut console);
        }
        console
    }
}

/// The JSON Schema of `console`.
pub(super) fn schema() -> Value {
    let properties: Map<String, Value> =
        SETTINGS.iter().map(|setting| (setting.name.to_owned(), setting.schema())).collect();
    json!({"type": ["object", "null"], "properties": properties})
}
