//! Commands about the record, as our messages print them.

/// How a command that we print finds the record of this gateway.
///
/// A person pastes it in another folder than ours, and often on another day. So it names the store, unless that is the
/// one that the program finds by itself.
///
/// ```
/// use answerback_gateway::RecordCommands;
///
/// let commands = RecordCommands::with_options(" --store /data/team.db");
/// assert_eq!(commands.command("inbox list"), "answerback inbox list --store /data/team.db");
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub struct RecordCommands(Finding);

#[derive(Clone, Debug, Eq, PartialEq)]
enum Finding {
    /// With these options, each with a space before it.
    Options(String),
    /// With options that we cannot print: the address of a database may have a password in it.
    Unprintable,
}

impl Default for RecordCommands {
    /// Commands about the record that the program finds by itself.
    fn default() -> Self {
        Self::with_options("")
    }
}

impl RecordCommands {
    /// Commands that find the record with these options, each with a space before it.
    pub fn with_options(options: impl Into<String>) -> Self {
        Self(Finding::Options(options.into()))
    }

    /// Commands about a record whose options cannot be printed, because they may hold a password.
    pub const fn unprintable() -> Self {
        Self(Finding::Unprintable)
    }

    /// Returns a command as it can be pasted. Of a record that cannot be named it says what is to be added.
    #[must_use]
    pub fn command(&self, words: &str) -> String {
        match &self.0 {
            Finding::Options(options) => format!("answerback {words}{options}"),
            Finding::Unprintable => {
                format!("answerback {words} with the --store or --config of the gateway")
            }
        }
    }
}
