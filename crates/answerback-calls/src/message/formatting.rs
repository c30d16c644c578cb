use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// The format of messages: `tools.validation.formatting` of the configuration.
///
/// ```
/// use answerback_calls::message::Formatting;
///
/// assert!(Formatting::default().validate().is_ok());
/// let error = Formatting::default().with_max_message_length(100).validate().unwrap_err();
/// assert_eq!(error.to_string(), "max_message_length is 100, but must be from 500 to 4000");
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct Formatting {
    /// A message has fewer characters than this: 500 to 4000, by default 2000.
    #[cfg_attr(feature = "schema", schemars(range(min = 500, max = 4000)))]
    pub max_message_length: usize,
    /// The most findings that are listed: 1 to 100, by default 10.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100)))]
    pub max_errors_shown: usize,
    /// The most characters of an actual value: 20 to 1000, by default 100.
    #[cfg_attr(feature = "schema", schemars(range(min = 20, max = 1000)))]
    pub max_value_preview: usize,
    /// The layout.
    pub style: Style,
    /// The directory that absolute paths are shown relative to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

/// The layout of a message.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Style {
    /// A block of lines for each finding.
    #[default]
    Detailed,
    /// One line for each finding.
    Compact,
}

impl Style {
    /// The version of the layout, such as `answerback/detailed@1`.
    pub const fn version(self) -> &'static str {
        match self {
            Self::Detailed => super::DETAILED_VERSION,
            Self::Compact => super::COMPACT_VERSION,
        }
    }
}

/// A number of [`Formatting`] that is out of its range.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{key} is {value}, but must be from {lowest} to {highest}")]
#[non_exhaustive]
pub struct FormattingError {
    /// The key in the configuration.
    pub key: &'static str,
    /// The configured value.
    pub value: usize,
    /// The lowest permitted value.
    pub lowest: usize,
    /// The highest permitted value.
    pub highest: usize,
}

impl Formatting {
    /// The allowed values of `max_message_length`.
    pub const MESSAGE_LENGTHS: RangeInclusive<usize> = 500..=4000;
    /// The allowed values of `max_errors_shown`.
    pub const ERRORS_SHOWN: RangeInclusive<usize> = 1..=100;
    /// The allowed values of `max_value_preview`.
    pub const VALUE_PREVIEWS: RangeInclusive<usize> = 20..=1000;

    /// Sets the length that messages stay under.
    #[must_use]
    pub fn with_max_message_length(mut self, characters: usize) -> Self {
        self.max_message_length = characters;
        self
    }

    /// Sets how many findings are listed at most.
    #[must_use]
    pub fn with_max_errors_shown(mut self, errors: usize) -> Self {
        self.max_errors_shown = errors;
        self
    }

    /// Sets how many characters of an actual value are shown at most.
    #[must_use]
    pub fn with_max_value_preview(mut self, characters: usize) -> Self {
        self.max_value_preview = characters;
        self
    }

    /// Sets the layout.
    #[must_use]
    pub fn with_style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// Sets the directory that absolute paths are shown relative to.
    #[must_use]
    pub fn with_root(mut self, root: impl Into<String>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// Checks that every number is in its range. A formatter replaces a number out of range by the nearest
    /// allowed one.
    ///
    /// # Errors
    ///
    /// The first number that is out of its range.
    pub fn validate(&self) -> Result<(), FormattingError> {
        for (key, value, range) in [
            ("max_message_length", self.max_message_length, Self::MESSAGE_LENGTHS),
            ("max_errors_shown", self.max_errors_shown, Self::ERRORS_SHOWN),
            ("max_value_preview", self.max_value_preview, Self::VALUE_PREVIEWS),
        ] {
            if !range.contains(&value) {
                return Err(FormattingError {
                    key,
                    value,
                    lowest: *range.start(),
                    highest: *range.end(),
                });
            }
        }
        Ok(())
    }

    pub(crate) fn message_length(&self) -> usize {
        clamp(self.max_message_length, &Self::MESSAGE_LENGTHS)
    }

    pub(super) fn error_limit(&self) -> usize {
        clamp(self.max_errors_shown, &Self::ERRORS_SHOWN)
    }

    pub(super) fn value_preview(&self) -> usize {
        clamp(self.max_value_preview, &Self::VALUE_PREVIEWS)
    }
}

impl Default for Formatting {
    fn default() -> Self {
        Self {
            max_message_length: 2000,
            max_errors_shown: 10,
            max_value_preview: 100,
            style: Style::Detailed,
            root: None,
        }
    }
}

fn clamp(value: usize, range: &RangeInclusive<usize>) -> usize {
    value.clamp(*range.start(), *range.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_documents_keys_and_checks_ranges() {
        let text = r#"{"max_message_length": 800, "style": "compact"}"#;
        let formatting: Formatting = serde_json::from_str(text).unwrap();
        assert_eq!((formatting.max_message_length, formatting.max_errors_shown), (800, 10));
        assert_eq!(formatting.style.version(), "answerback/compact@1");
        for (formatting, key) in [
            (Formatting::default().with_max_message_length(4001), "max_message_length"),
            (Formatting::default().with_max_errors_shown(0), "max_errors_shown"),
            (Formatting::default().with_max_value_preview(19), "max_value_preview"),
        ] {
            assert_eq!(formatting.validate().unwrap_err().key, key);
        }
        assert_eq!(Formatting::default().with_max_message_length(0).message_length(), 500);
    }
}
