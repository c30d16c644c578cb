/// Names the place where a decision is made, as the ledger records it.
///
/// ```
/// use answerback_gateway::DecisionSource;
///
/// let page = DecisionSource::from("console");
/// let terminal = DecisionSource::from("terminal").with_os_user("ann (uid 1000)");
/// # assert_ne!(page, terminal);
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DecisionSource {
    pub(crate) name: String,
    pub(crate) os_user: Option<String>,
}

impl DecisionSource {
    /// Adds the user of the process, as the operating system identifies them.
    #[must_use]
    pub fn with_os_user(mut self, user: impl Into<String>) -> Self {
        self.os_user = Some(user.into());
        self
    }
}

impl From<&str> for DecisionSource {
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), os_user: None }
    }
}
