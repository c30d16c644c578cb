//! Formats the commands about the ledger that our messages contain.

/// Adds the options to printed commands with which they find this gateway's ledger.
///
/// A person often runs the command in another folder and on another day. So it names the store, unless the
/// program finds that store by default.
///
/// ```
/// use answerback_gateway::RecordCommands;
///
/// let commands = RecordCommands::with_options(" --store /data/team.db");
/// assert_eq!(commands.command("inbox list"), "answerback inbox list --store /data/team.db");
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub struct RecordCommands(StoreOptions);

#[derive(Clone, Debug, Eq, PartialEq)]
enum StoreOptions {
    /// The options, each with a space before it.
    Printable(String),
    /// The options cannot be printed, because the address of a database may contain a password.
    Unprintable,
}

impl Default for RecordCommands {
    /// Creates commands for the default ledger.
    fn default() -> Self {
        Self::with_options("")
    }
}

impl RecordCommands {
    /// Creates commands that find the ledger with these options, each with a space before it.
    pub fn with_options(options: impl Into<String>) -> Self {
        Self(StoreOptions::Printable(options.into()))
    }

    /// Creates commands for a ledger whose options cannot be printed, because they may contain a password.
    pub const fn unprintable() -> Self {
        Self(StoreOptions::Unprintable)
    }

    /// Returns a command that can be pasted. If the options cannot be printed, the text names those that the
    /// reader must add.
    #[must_use]
    pub fn command(&self, words: &str) -> String {
        match &self.0 {
            StoreOptions::Printable(options) => format!("answerback {words}{options}"),
            StoreOptions::Unprintable => {
                format!("answerback {words} with the --store or --config of the gateway")
            }
        }
    }
}
