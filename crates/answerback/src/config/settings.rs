use serde_json::{Map, Value, json};

use super::setting::{Kind, Setting, mapping};
use crate::message::{Formatting, Style};
use crate::retry::{Policy, WhileBlocked};

/// What is done with a repair that makes a call valid.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the contract defines exactly these three")]
pub enum RepairMode {
    /// Nothing.
    Off,
    /// The model is told; it decides.
    #[default]
    Offer,
    /// A safe one is applied, and that is reported.
    ApplySafe,
}

/// What holds for one tool.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ToolSettings {
    /// How often a model may try.
    pub retry: Policy,
    /// How messages are written.
    pub formatting: Formatting,
    /// Whether a field that the schema does not name is an error everywhere.
    pub strict: bool,
    /// What is done with repairs.
    pub repair: RepairMode,
}

const RETRY: Option<&str> = Some("retry");
const FORMATTING: Option<&str> = Some("formatting");
pub(super) const GROUPS: [&str; 2] = ["retry", "formatting"];
const A_DAY: u32 = 24 * 60 * 60;

/// As the table has it.
#[expect(clippy::cast_possible_truncation, reason = "the ranges end at a few thousand")]
const fn bound(length: usize) -> u32 {
    length as u32
}

/// As a setter wants it; the range keeps it from being cut.
fn length(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// As the table shows it.
fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

pub(super) static SETTINGS: [Setting<ToolSettings>; 11] = [
    Setting {
        group: RETRY,
        name: "max_attempts",
        about: "Failing turns until a person is asked.",
        kind: Kind::Integer {
            least: *Policy::ATTEMPTS.start() as u32,
            most: *Policy::ATTEMPTS.end() as u32,
            set: |settings, value| {
                let attempts = u8::try_from(value).unwrap_or(u8::MAX);
                settings.retry = settings.retry.with_max_attempts(attempts);
            },
            get: |settings| settings.retry.max_attempts().into(),
        },
    },
    Setting {
        group: RETRY,
        name: "while_blocked",
        about: "What happens to valid calls while a person is asked.",
        kind: Kind::Word {
            words: &["block", "allow_valid"],
            set: |settings, word| {
                settings.retry.while_blocked =
                    if word == 0 { WhileBlocked::Block } else { WhileBlocked::AllowValid };
            },
            get: |settings| usize::from(settings.retry.while_blocked == WhileBlocked::AllowValid),
        },
    },
    Setting {
        group: RETRY,
        name: "escalate_on_repetition",
        about: "Ask a person at once when a call, its errors or an A-B-A comes again.",
        kind: Kind::Switch {
            set: |settings, value| settings.retry.escalate_on_repetition = value,
            get: |settings| settings.retry.escalate_on_repetition,
        },
    },
    Setting {
        group: RETRY,
        name: "blocked_seconds",
        about: "How long a key stays blocked without a decision.",
        kind: Kind::Integer {
            least: 1,
            most: A_DAY,
            set: |settings, value| settings.retry.blocked_seconds = value,
            get: |settings| settings.retry.blocked_seconds,
        },
    },
    Setting {
        group: RETRY,
        name: "idle_seconds",
        about: "How long failed attempts are remembered without another call.",
        kind: Kind::Integer {
            least: 1,
            most: A_DAY,
            set: |settings, value| settings.retry.idle_seconds = value,
            get: |settings| settings.retry.idle_seconds,
        },
    },
    Setting {
        group: FORMATTING,
        name: "style",
        about: "The layout of messages to the model.",
        kind: Kind::Word {
            words: &["detailed", "compact"],
            set: |settings, word| {
                settings.formatting.style =
                    if word == 0 { Style::Detailed } else { Style::Compact };
            },
            get: |settings| usize::from(settings.formatting.style == Style::Compact),
        },
    },
    Setting {
        group: FORMATTING,
        name: "max_message_length",
        about: "A message is shorter than this, in characters.",
        kind: Kind::Integer {
            least: bound(*Formatting::MESSAGE_LENGTHS.start()),
            most: bound(*Formatting::MESSAGE_LENGTHS.end()),
            set: |settings, value| settings.formatting.max_message_length = length(value),
            get: |settings| number(settings.formatting.max_message_length),
        },
    },
    Setting {
        group: FORMATTING,
        name: "max_errors_shown",
        about: "The most errors that one message lists.",
        kind: Kind::Integer {
            least: bound(*Formatting::ERRORS_SHOWN.start()),
            most: bound(*Formatting::ERRORS_SHOWN.end()),
            set: |settings, value| settings.formatting.max_errors_shown = length(value),
            get: |settings| number(settings.formatting.max_errors_shown),
        },
    },
    Setting {
        group: FORMATTING,
        name: "max_value_preview",
        about: "The longest preview of a value, in characters.",
        kind: Kind::Integer {
            least: bound(*Formatting::VALUE_PREVIEWS.start()),
            most: bound(*Formatting::VALUE_PREVIEWS.end()),
            set: |settings, value| settings.formatting.max_value_preview = length(value),
            get: |settings| number(settings.formatting.max_value_preview),
        },
    },
    Setting {
        group: None,
        name: "strict",
        about: "A field that the schema does not name is an error everywhere.",
        kind: Kind::Switch {
            set: |settings, value| settings.strict = value,
            get: |settings| settings.strict,
        },
    },
    Setting {
        group: None,
        name: "repair",
        about: "What is done with a repair that makes a call valid.",
        kind: Kind::Word {
            words: &["off", "offer", "apply_safe"],
            set: |settings, word| {
                settings.repair = match word {
                    0 => RepairMode::Off,
                    1 => RepairMode::Offer,
                    _ => RepairMode::ApplySafe,
                };
            },
            get: |settings| match settings.repair {
                RepairMode::Off => 0,
                RepairMode::Offer => 1,
                RepairMode::ApplySafe => 2,
            },
        },
    },
];

/// The JSON Schema of `tools`.
pub(super) fn schema() -> Value {
    let settings = |group: Option<&str>| -> Map<String, Value> {
        let settings = SETTINGS.iter().filter(|setting| setting.group == group);
        settings.map(|setting| (setting.name.to_owned(), setting.schema())).collect()
    };
    let mut one: Map<String, Value> = Map::new();
    for group in GROUPS {
        one.insert(group.to_owned(), mapping(settings(Some(group))));
    }
    one.extend(settings(None));
    let mut all = one.clone();
    let one = mapping(one);
    let about = "Settings of single tools, by name.";
    let overrides =
        json!({"type": ["object", "null"], "description": about, "additionalProperties": one});
    all.insert("overrides".to_owned(), overrides);
    mapping([("validation".to_owned(), mapping(all))].into_iter().collect())
}
