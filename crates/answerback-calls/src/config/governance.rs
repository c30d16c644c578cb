//! Reads `governance`: the manifest and the lock that responses are verified against, and the agent that
//! answers.

use serde_json::{Map, Value, json};

use super::reader::ConfigReader;
use super::setting::{PATH, Setting, SettingKind, TextForm, mapping};

/// The manifest, the lock and the agent. Relative paths start at the folder of the configuration file.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct GovernanceConfig {
    /// The path of the manifest.
    pub manifest: Option<String>,
    /// The path of the lock. It is required if the manifest is set.
    pub lock: Option<String>,
    /// The agent under whose identity responses are given.
    pub agent: Option<String>,
}

static AGENT: TextForm = TextForm {
    expected: "an agent's canonical id",
    pattern: r"^\S+$",
    fits: |text| !text.is_empty() && !text.contains(char::is_whitespace),
};

pub(super) static SETTINGS: [Setting<GovernanceConfig>; 3] = [
    Setting {
        group: None,
        name: "manifest",
        about: "The manifest that governed responses are verified against.",
        kind: SettingKind::Text {
            form: &PATH,
            set: |governance, text| governance.manifest = Some(text),
        },
    },
    Setting {
        group: None,
        name: "lock",
        about: "The lock that governed responses are verified against.",
        kind: SettingKind::Text {
            form: &PATH,
            set: |governance, text| governance.lock = Some(text),
        },
    },
    Setting {
        group: None,
        name: "agent",
        about: "The canonical id of the agent under whose identity responses are given.",
        kind: SettingKind::Text {
            form: &AGENT,
            set: |governance, text| governance.agent = Some(text),
        },
    },
];

impl GovernanceConfig {
    pub(super) fn read(reading: &mut ConfigReader<'_>, members: &Map<String, Value>) -> Self {
        let mut governance = Self::default();
        for (name, value) in members {
            reading.take("governance", name, value, &SETTINGS, &[], &mut governance);
        }
        // The manifest lists the agents, and the lock fixes their prompts. Neither is enough without the
        // other.
        for (given, missing) in [("manifest", "lock"), ("lock", "manifest")] {
            if members.contains_key(given) && !members.contains_key(missing) {
                let wanted = format!("{}, since governance.{given} is given", PATH.expected);
                reading.missing(&format!("governance.{missing}"), &wanted);
            }
        }
        governance
    }
}

/// Returns the JSON Schema of `governance`.
pub(super) fn schema() -> Value {
    let properties: Map<String, Value> =
        SETTINGS.iter().map(|setting| (setting.name.to_owned(), setting.schema())).collect();
    let mut schema = mapping(properties);
    schema["dependentRequired"] = json!({"manifest": ["lock"], "lock": ["manifest"]});
    schema
}
