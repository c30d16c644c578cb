use std::fmt;

/// A closed set of words. The check, serde and the messages for people use the same list.
pub(crate) trait Word: Copy + Sized + 'static {
    /// The words used on the wire.
    const WORDS: &'static [&'static str];

    /// Returns the variant for a word on the wire.
    fn from_word(word: &str) -> Option<Self>;
}

/// Displays the words of a set for people: `high, medium, low or not_applicable`.
pub(crate) struct WordList(pub(crate) &'static [&'static str]);

impl fmt::Display for WordList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            [only] => formatter.write_str(only),
            [first @ .., last] => write!(formatter, "{} or {last}", first.join(", ")),
        }
    }
}
