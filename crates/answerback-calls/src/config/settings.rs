use serde_json::{Map, Value, json};

use super::setting::{Setting, SettingKind, TextForm, mapping};
use crate::call::FormatMode;
use crate::message::{Formatting, Style};
use crate::retry::{RetryPolicy, WhileBlocked};

/// The handling of a repair that makes a call valid.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the configuration defines exactly these four")]
pub enum RepairMode {
    /// Repairs are not used.
    Off,
    /// The repair is offered to the model, which decides.
    #[default]
    Offer,
    /// A lossless repair is applied and reported. It only writes a value in another way, such as 5 for "5".
    ApplyLossless,
    /// A safe repair is applied and reported.
    ApplySafe,
}

/// The settings of one tool.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ToolSettings {
    /// The limits on the attempts of a model.
    pub retry: RetryPolicy,
    /// The layout and the limits of messages.
    pub formatting: Formatting,
    /// True if a field that the schema does not name is an error everywhere.
    pub strict: bool,
    /// The name of the selected formatter for messages, if any.
    pub formatter: Option<String>,
    /// The strictness of the check of the `format` keyword.
    pub formats: FormatMode,
    /// The configured handling of repairs, if any. Without it the gateway applies lossless repairs, and
    /// everything else only offers repairs.
    pub repair: Option<RepairMode>,
}

impl RepairMode {
    /// All modes, in the order of what they allow.
    pub const ALL: [Self; 4] = [Self::Off, Self::Offer, Self::ApplyLossless, Self::ApplySafe];

    /// Returns the word used in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Offer => "offer",
            Self::ApplyLossless => "apply_lossless",
            Self::ApplySafe => "apply_safe",
        }
    }
}

/// The form of a formatter's name. The known names depend on the registered formatters.
static FORMATTER: TextForm = TextForm {
    expected: "the name of a formatter, such as standard or file_paths",
    pattern: "^[A-Za-z][A-Za-z0-9_.-]{0,63}$",
    fits: |text| {
        text.len() <= 64
            && text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.chars().all(|other| other.is_ascii_alphanumeric() || "_.-".contains(other))
    },
};

const RETRY: Option<&str> = Some("retry");
const FORMATTING: Option<&str> = Some("formatting");
pub(super) const GROUPS: [&str; 2] = ["retry", "formatting"];
const A_DAY: u32 = 24 * 60 * 60;

/// Converts a length to the type of the ranges in the table.
#[expect(clippy::cast_possible_truncation, reason = "the ranges end at a few thousand")]
const fn bound(length: usize) -> u32 {
    length as u32
}

/// Converts a setting to a length. The range of the setting keeps the number from being cut off.
fn length(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Converts a length to the type of the values in the table.
fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

const FORMATS: [&str; 4] = {
    let [assert, lenient, warn, off] = FormatMode::ALL;
    [assert.as_str(), lenient.as_str(), warn.as_str(), off.as_str()]
};
const REPAIRS: [&str; 4] = {
    let [off, offer, lossless, safe] = RepairMode::ALL;
    [off.as_str(), offer.as_str(), lossless.as_str(), safe.as_str()]
};

pub(super) static SETTINGS: [Setting<ToolSettings>; 13] = [
    Setting {
        group: RETRY,
        name: "max_attempts",
        about: "Failing turns until a person is asked.",
        kind: SettingKind::Integer {
            least: *RetryPolicy::ATTEMPTS.start() as u32,
            most: *RetryPolicy::ATTEMPTS.end() as u32,
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
        about: "What happens to valid calls while a person is asked: allow_valid runs them, and the first one closes the case; block refuses them, too.",
        kind: SettingKind::Word {
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
        kind: SettingKind::Switch {
            set: |settings, value| settings.retry.escalate_on_repetition = value,
            get: |settings| settings.retry.escalate_on_repetition,
        },
    },
    Setting {
        group: RETRY,
        name: "blocked_seconds",
        about: "How long a key stays blocked without a decision.",
        kind: SettingKind::Integer {
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
        kind: SettingKind::Integer {
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
        kind: SettingKind::Word {
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
        kind: SettingKind::Integer {
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
        kind: SettingKind::Integer {
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
        kind: SettingKind::Integer {
            least: bound(*Formatting::VALUE_PREVIEWS.start()),
            most: bound(*Formatting::VALUE_PREVIEWS.end()),
            set: |settings, value| settings.formatting.max_value_preview = length(value),
            get: |settings| number(settings.formatting.max_value_preview),
        },
    },
    Setting {
        group: FORMATTING,
        name: "formatter",
        about: "Who writes the hints and the advice of messages: standard, file_paths (for tools that work on \
                files), or a formatter that the program registers.",
        kind: SettingKind::Text {
            form: &FORMATTER,
            set: |settings, name| settings.formatter = Some(name),
        },
    },
    Setting {
        group: None,
        name: "strict",
        about: "A field that the schema does not name is an error everywhere.",
        kind: SettingKind::Switch {
            set: |settings, value| settings.strict = value,
            get: |settings| settings.strict,
        },
    },
    Setting {
        group: None,
        name: "formats",
        about: "How the format keyword is checked: by its RFC (assert), with an error only for what no common parser reads (lenient), with warnings only (warn), or not at all (off).",
        kind: SettingKind::Word {
            words: &FORMATS,
            set: |settings, word| settings.formats = FormatMode::ALL[word],
            get: |settings| {
                FormatMode::ALL.iter().position(|mode| *mode == settings.formats).unwrap_or(0)
            },
        },
    },
    Setting {
        group: None,
        name: "repair",
        about: "What is done with a repair that makes a call valid. The gateway's default is apply_lossless.",
        kind: SettingKind::Word {
            words: &REPAIRS,
            set: |settings, word| settings.repair = Some(RepairMode::ALL[word]),
            get: |settings| {
                let mode = settings.repair.unwrap_or_default();
                RepairMode::ALL.iter().position(|known| *known == mode).unwrap_or(0)
            },
        },
    },
];

/// Returns the JSON Schema of `tools`.
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
