use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{ErrorFormatter, FilePathFormatter, StandardFormatter};

/// The name of [`StandardFormatter`] in a configuration.
const STANDARD: &str = "standard";
/// The name of [`FilePathFormatter`] in a configuration.
const FILE_PATHS: &str = "file_paths";

/// A formatter that many calls share.
#[derive(Clone)]
pub struct SharedFormatter(Arc<dyn ErrorFormatter + Send + Sync>);

impl SharedFormatter {
    /// Shares a formatter.
    pub fn new(formatter: impl ErrorFormatter + Send + Sync + 'static) -> Self {
        Self(Arc::new(formatter))
    }

    /// The formatter.
    pub fn get(&self) -> &dyn ErrorFormatter {
        &*self.0
    }
}

impl fmt::Debug for SharedFormatter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedFormatter")
    }
}

impl PartialEq for SharedFormatter {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SharedFormatter {}

/// The registry of formatters: by the name that a configuration selects, and by the tool that they are for.
///
/// `standard` and `file_paths` are always there. A configuration that selects a formatter for a tool comes
/// before a formatter that is registered for the tool.
///
/// ```
/// use answerback_calls::message::{ErrorFormatter, CallFailure, Formatters};
///
/// struct Query;
///
/// impl ErrorFormatter for Query {
///     fn advice(&self, _failure: &CallFailure<'_>) -> Option<String> {
///         Some("Send one SELECT statement.".to_owned())
///     }
/// }
///
/// let formatters = Formatters::default().with_name("sql", Query).with_tool("run_query", Query);
/// assert!(formatters.contains("sql") && formatters.contains("file_paths"));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Formatters {
    standard: SharedFormatter,
    named: BTreeMap<String, SharedFormatter>,
    tools: BTreeMap<String, SharedFormatter>,
}

impl Default for Formatters {
    fn default() -> Self {
        /// Shared, so that registries without additions are equal.
        static BUILT_IN: std::sync::OnceLock<[SharedFormatter; 2]> = std::sync::OnceLock::new();
        let [standard, file_paths] = BUILT_IN.get_or_init(|| {
            [SharedFormatter::new(StandardFormatter), SharedFormatter::new(FilePathFormatter)]
        });
        let named = [(STANDARD, standard), (FILE_PATHS, file_paths)];
        Self {
            standard: standard.clone(),
            named: named.map(|(name, formatter)| (name.to_owned(), formatter.clone())).into(),
            tools: BTreeMap::new(),
        }
    }
}

impl Formatters {
    /// Registers a formatter under the name that a configuration selects it by.
    #[must_use]
    pub fn with_name(
        mut self,
        name: impl Into<String>,
        formatter: impl ErrorFormatter + Send + Sync + 'static,
    ) -> Self {
        self.named.insert(name.into(), SharedFormatter::new(formatter));
        self
    }

    /// Registers the formatter of a tool.
    #[must_use]
    pub fn with_tool(
        mut self,
        tool: impl Into<String>,
        formatter: impl ErrorFormatter + Send + Sync + 'static,
    ) -> Self {
        self.tools.insert(tool.into(), SharedFormatter::new(formatter));
        self
    }

    /// Returns true if a formatter has this name.
    pub fn contains(&self, name: &str) -> bool {
        self.named.contains_key(name)
    }

    /// The names of all formatters, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    /// The formatter of a tool: the one that the configuration selects, else the one registered for the
    /// tool, else the standard one.
    pub(crate) fn of(&self, tool: &str, selected: Option<&str>) -> &SharedFormatter {
        let selected = selected.and_then(|name| self.named.get(name));
        selected.or_else(|| self.tools.get(tool)).unwrap_or(&self.standard)
    }
}
