use std::borrow::Cow;

/// The error codes that tools may use: those of the contract, and those that a project registers.
///
/// ```
/// use answerback_contracts::tool::ErrorCatalog;
///
/// let codes = ErrorCatalog::default().with_code("QUOTA_EXCEEDED", "the monthly quota is used up");
/// assert!(codes.contains("IO_ERROR") && codes.contains("QUOTA_EXCEEDED"));
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ErrorCatalog {
    registered: Vec<(Cow<'static, str>, Cow<'static, str>)>,
}

impl ErrorCatalog {
    /// Registers a code of the project, with its meaning.
    #[must_use]
    pub fn with_code(
        mut self,
        code: impl Into<Cow<'static, str>>,
        meaning: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.registered.push((code.into(), meaning.into()));
        self
    }

    /// True if the code is known.
    pub fn contains(&self, code: &str) -> bool {
        self.meaning(code).is_some()
    }

    /// Returns the meaning of a known code.
    pub fn meaning(&self, code: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == code).map(|(_, meaning)| meaning)
    }

    /// Iterates over all known codes with their meanings. The codes of the contract come first.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let registered = self.registered.iter().map(|(code, meaning)| (&**code, &**meaning));
        STANDARD.iter().copied().chain(registered)
    }
}

/// The code of a warning that was a bare string.
pub(super) const UNSPECIFIED: &str = "UNSPECIFIED";

const STANDARD: &[(&str, &str)] = &[
    ("DOTBOT_NOT_FOUND", "no .bot folder in this directory or above it"),
    ("STATE_FILE_INVALID", ".bot/.dotbot-state.json is missing or not valid JSON"),
    ("PROJECT_NOT_FOUND", "no project has this name or alias"),
    ("ALIAS_CONFLICT", "two projects have the same alias"),
    ("REGISTRY_PARSE_ERROR", ".bot/solution/projects.json could not be parsed"),
    ("TECH_STACK_MISSING", ".bot/product/tech-stack.md is missing"),
    ("STANDARDS_NOT_FOUND", "the standards directory is missing or empty"),
    ("BROKEN_FILE_REFERENCE", "a referenced file does not exist"),
    ("FRONTMATTER_MISSING", "a file has no YAML front matter"),
    ("FRONTMATTER_INVALID", "a file's front matter is not YAML or breaks its schema"),
    ("CIRCULAR_DEPENDENCY", "files refer to each other in a circle"),
    ("INVALID_PARAMETER", "a parameter is missing or of the wrong type"),
    ("IO_ERROR", "an operation on the file system failed"),
    ("UNAUTHORIZED_OPERATION", "the operation is not permitted"),
    ("INVALID_STATE", "the operation does not fit the present state"),
    ("STATE_NOT_INITIALIZED", "the state has not been set up"),
    ("STATE_ALREADY_EXISTS", "the state has been set up already"),
    ("INVALID_PHASE", "no phase has this name"),
    ("INVALID_TASK_ID", "the task id is malformed"),
    ("PHASE_ORDER_MISSING", "the order of phases is not defined"),
    ("TASK_NOT_FOUND", "no task has this id"),
    ("CONFIRMATION_REQUIRED", "a person has to confirm this first"),
    ("HISTORY_FILE_INVALID", "the history file is not valid"),
    ("INVALID_ARGUMENTS", "the arguments do not fit together"),
    // Conversions and the lenient profile need these codes. They are not part of the contract.
    ("PARTIAL_RESULT", "only a part of the request could be done"),
    (UNSPECIFIED, "a warning that came without a code"),
];
