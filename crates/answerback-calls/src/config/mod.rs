//! Reads the configuration `.agent/config.yml`. Every file can set the checks of calls (`tools.validation`).
//! A trusted file can also set `gateway`, `store`, `ledger`, `governance` and `console`.
//!
//! ```yaml
//! tools:
//!   validation:
//!     retry:
//!       max_attempts: 3
//!     formatting:
//!       max_message_length: 2000
//!     overrides:
//!       write_file:
//!         retry:
//!           max_attempts: 5
//! ```
//!
//! Each setting is defined once, in a table that the reader, the ranges and the JSON Schema share. The
//! exception is `gateway`: its own crate reads it, and this one describes it. The caller finds and opens the
//! file, and decides if it is trusted.

mod console;
mod file;
mod gateway;
mod governance;
mod keys;
mod ledger;
mod setting;
mod settings;
mod store;
#[cfg(feature = "yaml")]
mod written;

use std::collections::BTreeMap;
use std::fmt;

use answerback_findings::preview;
use serde_json::{Map, Value};

use crate::message::{Formatters, SharedFormatter, suggest};
use crate::retry::Policies;
pub use console::{ConsoleConfig, EventsConfig};
pub use file::{Config, Trust, schema};
pub use governance::GovernanceConfig;
use keys::RootKey;
pub use ledger::{LedgerConfig, OnFailure, WitnessConfig};
use setting::Setting;
use settings::{GROUPS, SETTINGS};
pub use settings::{RepairMode, ToolSettings};
pub use store::StoreConfig;

/// The keys that are allowed at the root of the file.
const TOP_KEYS: [&str; 6] = ["tools", "gateway", "store", "ledger", "governance", "console"];

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
        let mut reading = Reading::new(file, Trust::Found);
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
        Self::from_value(file, &parse(file, text)?)
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

/// A warning about an unknown key.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ConfigWarning {
    /// The name of the file.
    pub file: String,
    /// The path of the key from the root of the file.
    pub key: String,
    /// The key that was probably meant.
    pub suggestion: Option<String>,
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, key, suggestion } = self;
        write!(formatter, "{file}: {}", unknown_key(key, suggestion.as_deref()))
    }
}

/// Returns the message about an unknown key.
fn unknown_key(key: &str, suggestion: Option<&str>) -> String {
    match suggestion {
        Some(suggestion) => format!("{key} is not a known key; did you mean {suggestion}?"),
        None => format!("{key} is not a known key"),
    }
}

/// Reports every invalid value with its key and the allowed values. For a trusted file it also reports
/// unknown keys.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfigError {
    file: String,
    problems: Vec<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let end = if index == 0 { "" } else { "\n" };
            write!(formatter, "{end}{}: {problem}", self.file)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// The state of reading one file: everything that was found so far.
struct Reading<'f> {
    file: &'f str,
    /// The trust in the file. An unknown key in a trusted file is a problem, because a typing error must not
    /// start something other than the file describes. In a found file it is a warning.
    trust: Trust,
    warnings: Vec<ConfigWarning>,
    problems: Vec<String>,
    /// Keys at the root that seem to belong to other programs.
    foreign: Vec<String>,
}

impl<'f> Reading<'f> {
    const fn new(file: &'f str, trust: Trust) -> Self {
        Self { file, trust, warnings: Vec::new(), problems: Vec::new(), foreign: Vec::new() }
    }

    /// Returns the warnings, or an error with every problem.
    fn finish(self) -> Result<Vec<ConfigWarning>, ConfigError> {
        if self.problems.is_empty() {
            Ok(self.warnings)
        } else {
            Err(ConfigError { file: self.file.to_owned(), problems: self.problems })
        }
    }
}

impl Reading<'_> {
    /// Reads the settings for the check of calls, and classifies the unknown keys at the root.
    fn file(
        &mut self,
        parsed: &Value,
        formatters: &Formatters,
    ) -> (ToolSettings, BTreeMap<String, ToolSettings>) {
        let mut default = ToolSettings::default();
        let mut overrides = BTreeMap::new();
        let top = self.mapping("", parsed);
        let unknown = top.iter().flat_map(|members| members.keys());
        for key in unknown.filter(|key| !TOP_KEYS.contains(&key.as_str())) {
            match keys::of_root(key) {
                RootKey::Misspelled(meant) => self.unknown(key, Some(meant.to_owned())),
                RootKey::OfClient => self.client_key(key),
                RootKey::Foreign => self.foreign.push(shown(key)),
            }
        }
        let tools = top.and_then(|members| members.get("tools"));
        let Some(tools) = tools.and_then(|tools| self.mapping("tools", tools)) else {
            return (default, overrides);
        };
        for key in tools.keys().filter(|key| *key != "validation") {
            self.warn(&format!("tools.{key}"), &["validation"]);
        }
        let path = "tools.validation";
        let validation = tools.get("validation").and_then(|found| self.mapping(path, found));
        let Some(validation) = validation else { return (default, overrides) };
        self.settings(path, validation, &mut default, true);
        self.formatter(path, &default, formatters);
        let path = "tools.validation.overrides";
        let single = validation.get("overrides").and_then(|found| self.mapping(path, found));
        for (tool, found) in single.into_iter().flatten() {
            let path = format!("{path}.{tool}");
            let mut settings = default.clone();
            if let Some(members) = self.mapping(&path, found) {
                self.settings(&path, members, &mut settings, false);
                if settings.formatter != default.formatter {
                    self.formatter(&path, &settings, formatters);
                }
            }
            overrides.insert(tool.clone(), settings);
        }
        (default, overrides)
    }

    /// Reports a formatter that is not registered.
    fn formatter(&mut self, path: &str, settings: &ToolSettings, formatters: &Formatters) {
        let Some(name) = settings.formatter.as_deref() else { return };
        if !formatters.contains(name) {
            let names: Vec<&str> = formatters.names().collect();
            let key = format!("{path}.formatting.formatter");
            self.problem(&key, &name.into(), &format!("one of {}", names.join(", ")));
        }
    }

    /// Reads the settings of one mapping and of the groups in it.
    fn settings(
        &mut self,
        path: &str,
        members: &Map<String, Value>,
        settings: &mut ToolSettings,
        is_default: bool,
    ) {
        for (key, value) in members {
            let below = format!("{path}.{key}");
            if GROUPS.contains(&key.as_str()) {
                for (name, value) in self.mapping(&below, value).into_iter().flatten() {
                    self.setting(&below, Some(key), name, value, settings);
                }
            } else if !(is_default && key == "overrides") {
                self.setting(path, None, key, value, settings);
            }
        }
    }

    fn setting(
        &mut self,
        path: &str,
        group: Option<&str>,
        name: &str,
        value: &Value,
        settings: &mut ToolSettings,
    ) {
        let here = SETTINGS.iter().filter(|setting| setting.group == group);
        let others: &[_] = if group.is_none() { &[GROUPS[0], GROUPS[1], "overrides"] } else { &[] };
        self.take(path, name, value, here, others, settings);
    }

    /// Reads one of the settings in `here`. The names in `others` are allowed too.
    fn take<'s, T: Default + 'static>(
        &mut self,
        path: &str,
        name: &str,
        value: &Value,
        here: impl IntoIterator<Item = &'s Setting<T>>,
        others: &[&'static str],
        settings: &mut T,
    ) {
        let key = format!("{path}.{name}");
        let mut known = others.to_vec();
        for setting in here {
            if setting.name == name {
                if let Err(expected) = setting.apply(value, settings) {
                    self.problem(&key, value, &expected);
                }
                return;
            }
            known.push(setting.name);
        }
        self.warn(&key, &known);
    }

    /// Returns the members of a mapping, and reports any other value. In YAML, an empty mapping is `null`.
    fn mapping<'v>(&mut self, key: &str, value: &'v Value) -> Option<&'v Map<String, Value>> {
        if !matches!(value, Value::Object(_) | Value::Null) {
            self.problem(if key.is_empty() { "the file" } else { key }, value, "a mapping");
        }
        value.as_object()
    }

    fn problem(&mut self, key: &str, value: &Value, expected: &str) {
        self.problems.push(format!("{} is {}; expected {expected}", shown(key), preview(value)));
    }

    fn missing(&mut self, key: &str, expected: &str) {
        self.problems.push(format!("{} is missing; expected {expected}", shown(key)));
    }

    /// Reports an unknown key, with the known key that it resembles most.
    fn warn(&mut self, key: &str, known: &[&'static str]) {
        let name = key.rsplit('.').next().unwrap_or(key);
        let near = suggest::nearest(name, known.iter().copied());
        self.unknown(key, near.first().map(|near| near.candidate.to_owned()));
    }

    /// Reports an unknown key, with the key that was probably meant.
    fn unknown(&mut self, key: &str, suggestion: Option<String>) {
        let key = shown(key);
        match self.trust {
            Trust::Trusted => self.problems.push(unknown_key(&key, suggestion.as_deref())),
            Trust::Found => {
                let file = self.file.to_owned();
                self.warnings.push(ConfigWarning { file, key, suggestion });
            }
        }
    }

    /// Reports the key under which MCP clients list servers, because we would not serve the servers under it.
    fn client_key(&mut self, key: &str) {
        match self.trust {
            Trust::Trusted => self.problems.push(format!(
                "{} is a key of an MCP client's configuration; did you mean {}? `answerback init --client NAME --file FILE` \
                 changes a client's configuration",
                shown(key),
                keys::SERVERS,
            )),
            Trust::Found => self.unknown(key, Some(keys::SERVERS.to_owned())),
        }
    }
}

/// Returns a key in a form that is safe to show. The file may come from anyone.
fn shown(key: &str) -> String {
    let quoted = preview(&key.into());
    quoted.trim_matches('"').to_owned()
}

/// Parses the text of a YAML file. An empty file configures nothing.
#[cfg(feature = "yaml")]
fn parse(file: &str, text: &str) -> Result<Value, ConfigError> {
    let parsed = serde_saphyr::from_str::<Option<Value>>(text).map_err(|error| ConfigError {
        file: file.to_owned(),
        // The rest of the parser's message quotes the file, which may hold secrets.
        problems: vec![format!("not YAML that we read: {}", first_line(&error.to_string()))],
    })?;
    let mut parsed = parsed.unwrap_or_default();
    written::keep_texts(&mut parsed, text);
    Ok(parsed)
}

#[cfg(feature = "yaml")]
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    // The parser's advice is for programmers.
    let line = line.split_once(", set DuplicateKeyPolicy").map_or(line, |(said, _)| said);
    let nameless = line.split_once("cannot deserialize null into string");
    let line = &nameless
        .map_or(line.to_owned(), |(place, _)| format!("{place}a name is missing before the colon"));
    answerback_redaction::redact(line.trim_start_matches("error: ")).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::setting::Kind;
    use super::*;
    use crate::message::StandardFormatter;
    use crate::retry::WhileBlocked;

    fn read(validation: &Value) -> Result<ValidationConfig, ConfigError> {
        ValidationConfig::from_value("f.yml", &json!({"tools": {"validation": validation}}))
    }

    #[test]
    fn the_documents_numbers_are_the_defaults() {
        let config = ValidationConfig::from_value("f.yml", &Value::Null).unwrap();
        assert_eq!(config, ValidationConfig::default());
        let formatting = config.default.formatting;
        assert_eq!(config.default.retry.max_attempts(), 3);
        assert_eq!(formatting.max_message_length, 2000);
        assert_eq!((formatting.max_errors_shown, formatting.max_value_preview), (10, 100));
    }

    #[test]
    fn a_tool_overrides_what_it_names() {
        let config = read(&json!({
            "retry": {"max_attempts": 2, "while_blocked": "allow_valid"},
            "overrides": {"write_file": {"retry": {"max_attempts": 5}, "strict": true}, "noop": null},
        }))
        .unwrap();
        let (usual, special) = (config.of("read_file"), config.of("write_file"));
        assert_eq!((usual.retry.max_attempts(), usual.strict), (2, false));
        assert_eq!((special.retry.max_attempts(), special.strict), (5, true));
        assert_eq!(special.retry.while_blocked, WhileBlocked::AllowValid);
        assert_eq!(config.of("noop"), usual);
        let policies = Policies::from(&config);
        assert_eq!(policies.of("write_file").max_attempts(), 5);
        assert_eq!(policies.of("another").max_attempts(), 2);
    }

    #[test]
    fn a_formatter_is_selected_by_its_name() {
        let validation = json!({
            "formatting": {"formatter": "standard"},
            "overrides": {"read_file": {"formatting": {"formatter": "file_paths"}}, "other": null},
        });
        let config = read(&validation).unwrap();
        assert_eq!(config.formatter("read_file"), config.formatters.of("", Some("file_paths")));
        assert_eq!(config.formatter("other"), config.formatters.of("", Some("standard")));
        let error = read(&json!({
            "formatting": {"formatter": "sql"},
            "overrides": {"x": {"formatting": {"formatter": "a b"}}, "y": {"strict": true}},
        }))
        .unwrap_err();
        insta::assert_snapshot!(error, @r#"
        f.yml: tools.validation.formatting.formatter is "sql"; expected one of file_paths, standard
        f.yml: tools.validation.overrides.x.formatting.formatter is "a b"; expected the name of a formatter, such as standard or file_paths
        "#);
        let parsed = json!({"tools": {"validation": {"formatting": {"formatter": "sql"}}}});
        let formatters = Formatters::default().with_name("sql", StandardFormatter);
        assert!(ValidationConfig::from_value_with("f", &parsed, formatters).is_ok());
    }

    #[test]
    fn every_value_out_of_range_is_named() {
        let error = read(&json!({
            "retry": {"max_attempts": 0, "while_blocked": "maybe", "blocked_seconds": -1},
            "formatting": {"max_message_length": 4001, "max_errors_shown": "ten"},
            "strict": "yes",
            "overrides": {"x": {"retry": {"max_attempts": 2.5}, "formatting": []}},
        }))
        .unwrap_err();
        insta::assert_snapshot!(error, @"
        f.yml: tools.validation.retry.max_attempts is 0; expected an integer from 1 to 10
        f.yml: tools.validation.retry.while_blocked is \"maybe\"; expected one of block, allow_valid
        f.yml: tools.validation.retry.blocked_seconds is -1; expected an integer from 1 to 86400
        f.yml: tools.validation.formatting.max_message_length is 4001; expected an integer from 500 to 4000
        f.yml: tools.validation.formatting.max_errors_shown is \"ten\"; expected an integer from 1 to 100
        f.yml: tools.validation.strict is \"yes\"; expected true or false
        f.yml: tools.validation.overrides.x.retry.max_attempts is 2.5; expected an integer from 1 to 10
        f.yml: tools.validation.overrides.x.formatting is []; expected a mapping
        ");
        assert!(ValidationConfig::from_value("f.yml", &json!([1])).is_err());
    }

    #[test]
    fn the_ends_of_every_range_are_accepted() {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        for setting in &SETTINGS {
            let Kind::Integer { least, most, get, .. } = &setting.kind else { continue };
            for (value, fits) in
                [(*least, true), (*most, true), (least.wrapping_sub(1), false), (most + 1, false)]
            {
                let validation = json!({setting.group.unwrap(): {setting.name: value}});
                let config = read(&validation);
                let whole = json!({"tools": {"validation": validation}});
                assert_eq!(validator.is_valid(&whole), fits, "{whole}");
                assert_eq!(
                    config.as_ref().map(|config| get(&config.default)).ok(),
                    fits.then_some(value)
                );
            }
        }
    }

    #[test]
    fn unknown_keys_warn() {
        let parsed = json!({
            "tool": 1,
            "gateway": {},
            "tools": {"validation": {
                "retry": {"max_atempts": 4, "zzz": 1},
                "Formatting": {},
                "overrides": {"x": {"overrides": {}}},
            }},
        });
        let config = ValidationConfig::from_value("f.yml", &parsed).unwrap();
        let warnings: Vec<_> = config.warnings.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(warnings.join("\n"), @r#"
        f.yml: tool is not a known key; did you mean tools?
        f.yml: tools.validation.retry.max_atempts is not a known key; did you mean max_attempts?
        f.yml: tools.validation.retry.zzz is not a known key
        f.yml: tools.validation.Formatting is not a known key; did you mean formatting?
        f.yml: tools.validation.overrides.x.overrides is not a known key
        "#);
    }

    #[test]
    fn the_schema_agrees_with_the_reader() {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let table = [
            json!({"retry": {"max_attempts": 3}}),
            json!({"retry": {"max_attempts": 11}}),
            json!({"retry": null, "repair": "apply_safe"}),
            json!({"repair": "apply_lossless", "formats": "assert"}),
            json!({"formats": false}),
            json!({"formats": "strict"}),
            json!({"overrides": {"x": {"formats": "warn"}}}),
            json!({"repair": "always"}),
            json!({"repair": false}),
            json!({"repair": true}),
            json!({"retry": {"while_blocked": false}}),
            json!({"overrides": {"x": {"formatting": {"style": "compact", "max_message_length": 500}}}}),
            json!({"overrides": {"x": {"formatting": {"max_message_length": 499}}}}),
            json!({"overrides": {"x": {"strict": 1}}}),
        ];
        for validation in table {
            let parsed = json!({"tools": {"validation": validation}});
            assert_eq!(validator.is_valid(&parsed), read(&validation).is_ok(), "{validation}");
        }
    }

    /// The word works as `answerback init` writes it, and also without quotes, which YAML reads as false.
    #[cfg(feature = "yaml")]
    #[test]
    fn off_is_a_word() {
        for off in ["off", "\"off\"", "Off"] {
            let text = format!("tools: {{validation: {{repair: {off}}}}}\n");
            let config = ValidationConfig::from_yaml("f.yml", &text).unwrap();
            assert_eq!(config.default.repair, Some(RepairMode::Off), "{off}");
        }
    }

    #[cfg(feature = "yaml")]
    #[test]
    fn yaml_as_the_document_writes_it() {
        let text = "\
tools:
  validation:
    retry:
      max_attempts: 4 # one more

    formatting:
      max_message_length: 2000
      max_errors_shown: 10
      max_value_preview: 100
";
        let config = ValidationConfig::from_yaml(".agent/config.yml", text).unwrap();
        assert_eq!(config.default.retry.max_attempts(), 4);
        assert!(config.warnings.is_empty());
        for text in ["", "# nothing\n", "tools:\n"] {
            assert_eq!(
                ValidationConfig::from_yaml("f", text),
                Ok(ValidationConfig::default()),
                "{text}"
            );
        }
        for text in ["tools: [", "tools: 1\ntools: 2\n", "a: &a [*a]\n", ": 1\n"] {
            let error = ValidationConfig::from_yaml("f.yml", text).unwrap_err().to_string();
            assert!(error.starts_with("f.yml: not YAML that we read: "), "{error}");
            // The parser's advice for programmers must not reach the user.
            assert!(!error.contains("Option") && !error.contains("Policy"), "{error}");
        }
        let error =
            ValidationConfig::from_yaml("f.yml", "tools:\n  : 1\n").unwrap_err().to_string();
        assert!(error.ends_with("a name is missing before the colon"), "{error}");
    }
}
