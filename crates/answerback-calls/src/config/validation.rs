use std::collections::BTreeMap;

use serde_json::Value;

use super::reader::ConfigReader;
use super::{ConfigError, ConfigWarning, RepairMode, ToolSettings, Trust};
use crate::message::{Formatters, SharedFormatter};
use crate::retry::Policies;

/// The section `tools.validation`, parsed and checked.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ValidationConfig {
    /// The settings of all tools without an override.
    pub default: ToolSettings,
    /// The settings of single tools, by name.
    pub overrides: BTreeMap<String, ToolSettings>,
    /// The formatters that can be selected.
    pub formatters: Formatters,
    /// The unknown keys, each with the key that was probably meant.
    pub warnings: Vec<ConfigWarning>,
}

impl ValidationConfig {
    /// Reads the configuration from a parsed file. Errors and warnings call it `file`.
    ///
    /// # Errors
    ///
    /// Returns an error if a value has the wrong type or is out of range. The error names every such value.
    ///
    /// ```
    /// use answerback_calls::config::ValidationConfig;
    /// use serde_json::json;
    ///
    /// let parsed = json!({"tools": {"validation": {"retry": {"max_attempts": 11}}}});
    /// let error = ValidationConfig::from_value("config.yml", &parsed).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "config.yml: tools.validation.retry.max_attempts is 11; expected an integer from 1 to 10"
    /// );
    /// ```
    pub fn from_value(file: &str, parsed: &Value) -> Result<Self, ConfigError> {
        Self::from_value_with(file, parsed, Formatters::default())
    }

    /// Reads the configuration from a parsed file that may select any of these formatters.
    ///
    /// # Errors
    ///
    /// Returns an error in the cases of [`ValidationConfig::from_value`], and if a selected formatter is not
    /// registered.
    pub fn from_value_with(
        file: &str,
        parsed: &Value,
        formatters: Formatters,
    ) -> Result<Self, ConfigError> {
        let mut reading = ConfigReader::new(file, Trust::Found);
        let (default, overrides) = reading.file(parsed, &formatters);
        for key in std::mem::take(&mut reading.foreign) {
            reading.unknown(&key, None);
        }
        Ok(Self { default, overrides, formatters, warnings: reading.finish()? })
    }

    /// Reads the configuration from the text of a file.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not YAML, and in the cases of [`ValidationConfig::from_value`].
    #[cfg(feature = "yaml")]
    pub fn from_yaml(file: &str, text: &str) -> Result<Self, ConfigError> {
        Self::from_value(file, &super::yaml::parse(file, text)?)
    }

    /// Returns the configuration with other repair modes. For each tool, `choose` gets the configured mode
    /// and returns the mode to use.
    #[must_use]
    pub fn with_repairs(mut self, choose: impl Fn(Option<RepairMode>) -> RepairMode) -> Self {
        for settings in self.overrides.values_mut().chain([&mut self.default]) {
            settings.repair = Some(choose(settings.repair));
        }
        self
    }

    /// Returns the settings of a tool.
    pub fn of(&self, tool: &str) -> &ToolSettings {
        self.overrides.get(tool).unwrap_or(&self.default)
    }

    /// Returns the formatter of a tool's messages. It is the one that the configuration selects, otherwise
    /// the one registered for the tool, otherwise the standard one.
    pub fn formatter(&self, tool: &str) -> &SharedFormatter {
        self.formatters.of(tool, self.of(tool).formatter.as_deref())
    }
}

impl From<&ValidationConfig> for Policies {
    fn from(config: &ValidationConfig) -> Self {
        let tools = config.overrides.iter();
        tools.fold(Self::from(config.default.retry), |policies, (tool, settings)| {
            policies.with_tool(tool, settings.retry)
        })
    }
}
