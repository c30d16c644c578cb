use std::fmt;
use std::str::FromStr;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $word:literal),* $(,)?) => {
        /// What an entry of the log is about.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[expect(clippy::exhaustive_enums, reason = "the format defines exactly these")]
        pub enum Kind {
            $($(#[$doc])* $name),*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The word that stands in a leaf.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word),* }
            }
        }
    };
}

kinds! {
    /// What is in force from here on: start and stop, catalogue, policy, manifest, lock, key, clock.
    Config = "config",
    /// A call as it was seen and sent.
    Request = "request",
    /// Its answer.
    Response = "response",
    /// An answer that was refused.
    Rejected = "rejected",
    /// A call that did not pass its check.
    Validation = "validation",
    /// A case that waits for a person.
    Escalation = "escalation",
    /// What the person decided.
    Decision = "decision",
    /// A part was erased.
    Erasure = "erasure",
    /// Old entries were removed.
    Prune = "prune",
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = KindError;

    fn from_str(text: &str) -> Result<Self, KindError> {
        let kind = Self::ALL.iter().find(|kind| kind.as_str() == text);
        kind.copied().ok_or_else(|| KindError(text.chars().take(32).collect()))
    }
}

/// A word that is no kind of entry.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no kind of entry: {0:?}")]
pub struct KindError(String);
