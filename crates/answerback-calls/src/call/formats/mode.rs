/// The mode in which the `format` keyword is checked.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the configuration defines exactly these four")]
pub enum FormatMode {
    /// A value that does not follow the RFC of its format is an error.
    Assert,
    /// A value that no common parser of its format accepts is an error. Any other value that breaks the RFC is a
    /// warning.
    #[default]
    Lenient,
    /// Every value that does not follow the RFC of its format is a warning.
    Warn,
    /// Formats are not checked.
    Off,
}

impl FormatMode {
    /// All modes, the strictest first.
    pub const ALL: [Self; 4] = [Self::Assert, Self::Lenient, Self::Warn, Self::Off];

    /// Returns the word for the mode in the configuration and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Assert => "assert",
            Self::Lenient => "lenient",
            Self::Warn => "warn",
            Self::Off => "off",
        }
    }
}
