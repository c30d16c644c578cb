//! Reads the settings of one file, and collects what is wrong with it.

use std::collections::BTreeMap;

use answerback_findings::preview;
use serde_json::{Map, Value};

use super::error::unknown_key;
use super::keys::{self, RootKey};
use super::setting::Setting;
use super::settings::{GROUPS, SETTINGS};
use super::{ConfigError, ConfigWarning, ToolSettings, Trust};
use crate::message::{Formatters, suggest};

/// The keys that are allowed at the root of the file.
pub(super) const TOP_KEYS: [&str; 6] =
    ["tools", "gateway", "store", "ledger", "governance", "console"];

/// The state of reading one file: everything that was found so far.
pub(super) struct ConfigReader<'f> {
    pub(super) file: &'f str,
    /// The trust in the file. An unknown key in a trusted file is a problem, because a typing error must not
    /// start something other than the file describes. In a found file it is a warning.
    pub(super) trust: Trust,
    pub(super) warnings: Vec<ConfigWarning>,
    pub(super) problems: Vec<String>,
    /// Keys at the root that seem to belong to other programs.
    pub(super) foreign: Vec<String>,
}

impl<'f> ConfigReader<'f> {
    pub(super) const fn new(file: &'f str, trust: Trust) -> Self {
        Self { file, trust, warnings: Vec::new(), problems: Vec::new(), foreign: Vec::new() }
    }

    /// Returns the warnings, or an error with every problem.
    pub(super) fn finish(self) -> Result<Vec<ConfigWarning>, ConfigError> {
        if self.problems.is_empty() {
            Ok(self.warnings)
        } else {
            Err(ConfigError { file: self.file.to_owned(), problems: self.problems })
        }
    }
}

impl ConfigReader<'_> {
    /// Reads the settings for the check of calls, and classifies the unknown keys at the root.
    pub(super) fn file(
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
                RootKey::Foreign => self.foreign.push(display_key(key)),
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
    pub(super) fn formatter(
        &mut self,
        path: &str,
        settings: &ToolSettings,
        formatters: &Formatters,
    ) {
        let Some(name) = settings.formatter.as_deref() else { return };
        if !formatters.contains(name) {
            let names: Vec<&str> = formatters.names().collect();
            let key = format!("{path}.formatting.formatter");
            self.problem(&key, &name.into(), &format!("one of {}", names.join(", ")));
        }
    }

    /// Reads the settings of one mapping and of the groups in it.
    pub(super) fn settings(
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

    pub(super) fn setting(
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
    pub(super) fn take<'s, T: Default + 'static>(
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
    pub(super) fn mapping<'v>(
        &mut self,
        key: &str,
        value: &'v Value,
    ) -> Option<&'v Map<String, Value>> {
        if !matches!(value, Value::Object(_) | Value::Null) {
            self.problem(if key.is_empty() { "the file" } else { key }, value, "a mapping");
        }
        value.as_object()
    }

    pub(super) fn problem(&mut self, key: &str, value: &Value, expected: &str) {
        self.problems.push(format!(
            "{} is {}; expected {expected}",
            display_key(key),
            preview(value)
        ));
    }

    pub(super) fn missing(&mut self, key: &str, expected: &str) {
        self.problems.push(format!("{} is missing; expected {expected}", display_key(key)));
    }

    /// Reports an unknown key, with the known key that it resembles most.
    pub(super) fn warn(&mut self, key: &str, known: &[&'static str]) {
        let name = key.rsplit('.').next().unwrap_or(key);
        let near = suggest::nearest(name, known.iter().copied());
        self.unknown(key, near.first().map(|near| near.candidate.to_owned()));
    }

    /// Reports an unknown key, with the key that was probably meant.
    pub(super) fn unknown(&mut self, key: &str, suggestion: Option<String>) {
        let key = display_key(key);
        match self.trust {
            Trust::Trusted => self.problems.push(unknown_key(&key, suggestion.as_deref())),
            Trust::Found => {
                let file = self.file.to_owned();
                self.warnings.push(ConfigWarning { file, key, suggestion });
            }
        }
    }

    /// Reports the key under which MCP clients list servers, because we would not serve the servers under it.
    pub(super) fn client_key(&mut self, key: &str) {
        match self.trust {
            Trust::Trusted => self.problems.push(format!(
                "{} is a key of an MCP client's configuration; did you mean {}? `answerback init --client NAME --file FILE` \
                 changes a client's configuration",
                display_key(key),
                keys::SERVERS,
            )),
            Trust::Found => self.unknown(key, Some(keys::SERVERS.to_owned())),
        }
    }
}

/// Returns a key in a form that is safe to show. The file may come from anyone.
pub(super) fn display_key(key: &str) -> String {
    let quoted = preview(&key.into());
    quoted.trim_matches('"').to_owned()
}
