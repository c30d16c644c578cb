//! Defines a setting: its place, its allowed values and its effect. The reader and the JSON Schema share it.

use serde_json::{Map, Value, json};

/// One setting of the mapping that `T` is read from.
pub(super) struct Setting<T: 'static> {
    /// The mapping that groups the setting with others, if any.
    pub(super) group: Option<&'static str>,
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) kind: SettingKind<T>,
}

pub(super) enum SettingKind<T: 'static> {
    Integer {
        least: u32,
        most: u32,
        set: fn(&mut T, u32),
        get: fn(&T) -> u32,
    },
    Switch {
        set: fn(&mut T, bool),
        get: fn(&T) -> bool,
    },
    /// One of these words. `set` and `get` use its index.
    Word {
        words: &'static [&'static str],
        set: fn(&mut T, usize),
        get: fn(&T) -> usize,
    },
    /// A text without a default.
    Text {
        form: &'static TextForm,
        set: fn(&mut T, String),
    },
}

/// The form that a text must have.
pub(super) struct TextForm {
    /// The form as an error message describes it.
    pub(super) expected: &'static str,
    /// The form as a pattern for a JSON Schema.
    pub(super) pattern: &'static str,
    pub(super) fits: fn(&str) -> bool,
}

impl TextForm {
    pub(super) fn schema(&self) -> Value {
        json!({"type": "string", "pattern": self.pattern})
    }

    /// Returns the text of a value if it has this form.
    pub(super) fn of<'v>(&self, value: &'v Value) -> Option<&'v str> {
        value.as_str().filter(|text| (self.fits)(text))
    }
}

/// Returns the JSON Schema of a mapping with these members and no others. In YAML, an empty mapping is
/// `null`.
pub(super) fn mapping(properties: Map<String, Value>) -> Value {
    json!({"type": ["object", "null"], "properties": properties, "additionalProperties": false})
}

/// Returns the values that mean one of these words. YAML parsers read `off` without quotes as false.
pub(super) fn words_in_a_file(words: &[&str]) -> Vec<Value> {
    let off = words.contains(&"off").then_some(Value::Bool(false));
    words.iter().map(|word| Value::from(*word)).chain(off).collect()
}

/// The form of a server's URL.
pub(super) static URL: TextForm = TextForm {
    expected: "an http:// or https:// URL",
    pattern: r"^https?://[^\s/]+",
    fits: |text| {
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        host.is_some_and(|host| !host.is_empty() && !host.starts_with(['/', ' ']))
            && !text.contains(char::is_whitespace)
    },
};

/// The form of a file's path.
pub(super) static PATH: TextForm = TextForm {
    expected: "the path of a file",
    pattern: r"^[^\u0000]+$",
    fits: |text| !text.is_empty() && !text.contains('\0'),
};

impl<T: Default> Setting<T> {
    /// Sets the value, or returns a description of the allowed values.
    pub(super) fn apply(&self, value: &Value, settings: &mut T) -> Result<(), String> {
        match &self.kind {
            SettingKind::Integer { least, most, set, .. } => {
                let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
                let number = number.filter(|number| (least..=most).contains(&number));
                let number = number.ok_or_else(|| format!("an integer from {least} to {most}"))?;
                set(settings, number);
            }
            SettingKind::Switch { set, .. } => {
                set(settings, value.as_bool().ok_or_else(|| "true or false".to_owned())?);
            }
            SettingKind::Word { words, set, .. } => {
                let said = if *value == Value::Bool(false) { Some("off") } else { value.as_str() };
                let index = words.iter().position(|word| said == Some(word));
                set(settings, index.ok_or_else(|| format!("one of {}", words.join(", ")))?);
            }
            SettingKind::Text { form, set } => {
                let text = form.of(value).ok_or_else(|| form.expected.to_owned())?;
                set(settings, text.to_owned());
            }
        }
        Ok(())
    }

    pub(super) fn schema(&self) -> Value {
        let usual = T::default();
        let mut schema = match &self.kind {
            SettingKind::Integer { least, most, get, .. } => {
                json!({"type": "integer", "minimum": least, "maximum": most, "default": get(&usual)})
            }
            SettingKind::Switch { get, .. } => json!({"type": "boolean", "default": get(&usual)}),
            SettingKind::Word { words, get, .. } => {
                json!({"enum": words_in_a_file(words), "default": words[get(&usual)]})
            }
            SettingKind::Text { form, .. } => form.schema(),
        };
        schema["description"] = self.about.into();
        schema
    }
}
