use std::fmt;

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
pub(super) fn unknown_key(key: &str, suggestion: Option<&str>) -> String {
    match suggestion {
        Some(suggestion) => format!("{key} is not a known key; did you mean {suggestion}?"),
        None => format!("{key} is not a known key"),
    }
}

/// Reports every invalid value with its key and the allowed values. For a trusted file it also reports
/// unknown keys.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfigError {
    pub(super) file: String,
    pub(super) problems: Vec<String>,
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
