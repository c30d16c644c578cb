//! Reads `ledger`: the settings of the ledger.

use serde_json::{Map, Value, json};

use super::reader::ConfigReader;
use super::setting::{PATH, Setting, SettingKind, TextForm, URL, mapping};

/// The handling of a response that could not be recorded.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a response is either withheld or delivered")]
pub enum OnFailure {
    /// The response is withheld.
    #[default]
    Closed,
    /// The response is delivered, and the failure is counted.
    Open,
}

/// The settings of the ledger. Paths are as the file has them. Relative ones start at the folder of the
/// configuration file.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct LedgerConfig {
    /// The name of the log.
    pub origin: Option<String>,
    /// The path of the key that signs.
    pub key: Option<String>,
    /// The path of the anchor, a file outside the store that records checkpoints.
    pub anchor: Option<String>,
    /// The handling of a response that could not be recorded.
    pub on_failure: OnFailure,
    /// The largest number of units of work that may wait to be recorded.
    pub queue: u32,
    /// The witnesses that sign checkpoints.
    pub witness: Vec<WitnessConfig>,
}

impl Default for LedgerConfig {
    fn default() -> Self {
        Self {
            origin: None,
            key: None,
            anchor: None,
            on_failure: OnFailure::default(),
            queue: 4096,
            witness: Vec::new(),
        }
    }
}

/// A witness: an independent server that records the size of the log, and signs that the log only grows.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct WitnessConfig {
    /// The URL to which checkpoints are sent. `/add-checkpoint` is appended.
    pub url: String,
    /// The key that verifies its cosignatures: `NAME+ID+KEY`.
    pub key: String,
}

static ORIGIN: TextForm = TextForm {
    expected: "a name without spaces and '+', such as example.org/audit",
    pattern: r"^[^\s+]+$",
    fits: |text| {
        !text.is_empty() && !text.contains(|letter: char| letter.is_whitespace() || letter == '+')
    },
};

static WITNESS_KEY: TextForm = TextForm {
    expected: "a verifier key NAME+ID+KEY",
    pattern: r"^[^\s+]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+$",
    fits: |text| {
        let is_hex = |letter: char| matches!(letter, '0'..='9' | 'a'..='f');
        let is_base64 =
            |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '/' | '=');
        let mut fields = text.splitn(3, '+');
        matches!(
            (fields.next(), fields.next(), fields.next()),
            (Some(name), Some(id), Some(key))
                if (ORIGIN.fits)(name)
                    && id.len() == 8
                    && id.chars().all(is_hex)
                    && !key.is_empty()
                    && key.chars().all(is_base64)
        )
    },
};

pub(super) static SETTINGS: [Setting<LedgerConfig>; 5] = [
    Setting {
        group: None,
        name: "origin",
        about: "The name of the log; without it answerback.local/ and a UUID.",
        kind: SettingKind::Text { form: &ORIGIN, set: |ledger, text| ledger.origin = Some(text) },
    },
    Setting {
        group: None,
        name: "key",
        about: "The file of the key that signs, created on first use.",
        kind: SettingKind::Text { form: &PATH, set: |ledger, text| ledger.key = Some(text) },
    },
    Setting {
        group: None,
        name: "anchor",
        about: "The file outside the store that remembers checkpoints.",
        kind: SettingKind::Text { form: &PATH, set: |ledger, text| ledger.anchor = Some(text) },
    },
    Setting {
        group: None,
        name: "on_failure",
        about: "What becomes of an answer that could not be recorded: withheld, or delivered and counted.",
        kind: SettingKind::Word {
            words: &["closed", "open"],
            set: |ledger, word| {
                ledger.on_failure = if word == 0 { OnFailure::Closed } else { OnFailure::Open };
            },
            get: |ledger| usize::from(ledger.on_failure == OnFailure::Open),
        },
    },
    Setting {
        group: None,
        name: "queue",
        about: "How many units of work may wait to be recorded.",
        kind: SettingKind::Integer {
            least: 1,
            most: 65_536,
            set: |ledger, value| ledger.queue = value,
            get: |ledger| ledger.queue,
        },
    },
];

static WITNESS_SETTINGS: [Setting<WitnessConfig>; 2] = [
    Setting {
        group: None,
        name: "url",
        about: "Where it takes checkpoints; /add-checkpoint is appended.",
        kind: SettingKind::Text { form: &URL, set: |witness, text| witness.url = text },
    },
    Setting {
        group: None,
        name: "key",
        about: "The key that verifies its cosignatures.",
        kind: SettingKind::Text { form: &WITNESS_KEY, set: |witness, text| witness.key = text },
    },
];

const WITNESS: &str = "witness";

impl LedgerConfig {
    pub(super) fn read(reading: &mut ConfigReader<'_>, members: &Map<String, Value>) -> Self {
        let mut ledger = Self::default();
        for (name, value) in members {
            if name == WITNESS {
                ledger.witness = witnesses(reading, value);
            } else {
                reading.take("ledger", name, value, &SETTINGS, &[WITNESS], &mut ledger);
            }
        }
        ledger
    }
}

fn witnesses(reading: &mut ConfigReader<'_>, value: &Value) -> Vec<WitnessConfig> {
    const PATH: &str = "ledger.witness";
    let Some(list) = value.as_array() else {
        if !value.is_null() {
            reading.problem(PATH, value, "a list of mappings with url and key");
        }
        return Vec::new();
    };
    let mut witnesses = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let path = format!("{PATH}.{index}");
        let Some(members) = reading.mapping(&path, value) else { continue };
        let mut witness = WitnessConfig::default();
        for (name, value) in members {
            reading.take(&path, name, value, &WITNESS_SETTINGS, &[], &mut witness);
        }
        for setting in WITNESS_SETTINGS.iter().filter(|setting| !members.contains_key(setting.name))
        {
            let SettingKind::Text { form, .. } = &setting.kind else { continue };
            reading.missing(&format!("{path}.{}", setting.name), form.expected);
        }
        witnesses.push(witness);
    }
    witnesses
}

/// Returns the JSON Schema of `ledger`.
pub(super) fn schema() -> Value {
    let of = |setting: (&str, Value)| (setting.0.to_owned(), setting.1);
    let mut properties: Map<String, Value> =
        SETTINGS.iter().map(|setting| of((setting.name, setting.schema()))).collect();
    let witness: Map<String, Value> =
        WITNESS_SETTINGS.iter().map(|setting| of((setting.name, setting.schema()))).collect();
    let witness = json!({
        "type": ["array", "null"],
        "description": "Who is asked to witness checkpoints (c2sp.org/tlog-witness).",
        "items": {
            "type": "object",
            "required": ["url", "key"],
            "properties": witness,
            "additionalProperties": false,
        },
    });
    properties.insert(WITNESS.to_owned(), witness);
    mapping(properties)
}
