use serde_json::{Map, Value};

/// Reads values and collects problems and warnings.
#[derive(Default)]
pub(crate) struct SettingsReader {
    problems: Vec<String>,
    warnings: Vec<String>,
}

impl SettingsReader {
    /// Ends the reading: the settings with the warnings, or an error if there were problems.
    pub(crate) fn finish<T>(self, file: &str, read: T) -> Result<(T, Vec<String>), SettingsError> {
        if self.problems.is_empty() {
            Ok((read, self.warnings))
        } else {
            Err(SettingsError { file: file.to_owned(), problems: self.problems })
        }
    }

    /// Reports an unknown key as a problem. The gateway must not start with other settings than the user meant.
    pub(crate) fn unknown(&mut self, path: &str) {
        self.problems.push(format!("{path} is not a known key"));
    }

    /// Adds a warning about a known key that has no effect in its place.
    pub(crate) fn without_effect(&mut self, file: &str, path: &str, reason: &str) {
        self.warnings.push(format!("{file}: {path} has no effect: {reason}"));
    }

    pub(crate) fn text(&mut self, key: &str, value: &Value, expected: &str) -> Option<String> {
        let text = value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        if text.is_none() {
            self.problem(key, value, expected);
        }
        text
    }

    pub(crate) fn object<'v>(
        &mut self,
        key: &str,
        value: Option<&'v Value>,
    ) -> Option<&'v Map<String, Value>> {
        match value {
            None | Some(Value::Null) => None,
            Some(Value::Object(members)) => Some(members),
            Some(value) => {
                self.problem(key, value, "a mapping");
                None
            }
        }
    }

    pub(crate) fn word<T: Copy>(
        &mut self,
        key: &str,
        value: &Value,
        words: &[(&str, T)],
        into: &mut T,
    ) {
        // YAML 1.1 parses an unquoted `off` as false, so that value is accepted as well.
        let word = if *value == Value::Bool(false) { Some("off") } else { value.as_str() };
        match words.iter().find(|(name, _)| Some(*name) == word) {
            Some((_, meaning)) => *into = *meaning,
            None => {
                let names: Vec<_> = words.iter().map(|(name, _)| *name).collect();
                self.problem(key, value, &format!("one of {}", names.join(", ")));
            }
        }
    }

    pub(crate) fn names(&mut self, key: &str, value: &Value) -> Vec<String> {
        let names = value.as_array().map(|names| {
            names.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        names.flatten().unwrap_or_else(|| {
            self.problem(
                key,
                value,
                "a list of tool names, where * at the end stands for any rest",
            );
            Vec::new()
        })
    }

    pub(crate) fn number(
        &mut self,
        key: &str,
        value: &Value,
        least: usize,
        most: usize,
    ) -> Option<usize> {
        let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
        let number = number.filter(|number| (least..=most).contains(number));
        if number.is_none() {
            self.problem(key, value, &format!("an integer from {least} to {most}"));
        }
        number
    }

    /// Reads a number from 1 to `most`.
    pub(crate) fn limit(&mut self, key: &str, value: &Value, most: usize, into: &mut usize) {
        if let Some(number) = self.number(key, value, 1, most) {
            *into = number;
        }
    }

    pub(crate) fn problem(&mut self, key: &str, value: &Value, expected: &str) {
        let shown: String = value.to_string().chars().take(60).collect();
        self.problems.push(format!("{key} is {shown}; expected {expected}"));
    }
}

/// The reason why a configuration cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{file}: {}", problems.join("; "))]
pub struct SettingsError {
    file: String,
    problems: Vec<String>,
}
