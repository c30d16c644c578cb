use std::fmt;
use std::str::FromStr;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $word:literal),* $(,)?) => {
        /// The kind of an entry in the log.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[expect(clippy::exhaustive_enums, reason = "the format defines exactly these")]
        pub enum LeafKind {
            $($(#[$doc])* $name),*
        }

        impl LeafKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the word that the leaf uses.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word),* }
            }
        }
    };
}

kinds! {
    /// A configuration in force from now on: start, stop, catalogue, policy, manifest, lock, key,
    /// clock or migration.
    Config = "config",
    /// A call, as received and forwarded.
    Request = "request",
    /// The response to a call.
    Response = "response",
    /// A rejected response.
    Rejected = "rejected",
    /// A call that failed its check.
    Validation = "validation",
    /// A case that waits for a person.
    Escalation = "escalation",
    /// A person's decision on a case.
    Decision = "decision",
    /// The erasure of a part.
    Erasure = "erasure",
    /// The removal of old entries.
    Prune = "prune",
}

impl fmt::Display for LeafKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for LeafKind {
    type Err = LeafKindError;

    fn from_str(text: &str) -> Result<Self, LeafKindError> {
        let kind = Self::ALL.iter().find(|kind| kind.as_str() == text);
        kind.copied().ok_or_else(|| LeafKindError(text.chars().take(32).collect()))
    }
}

/// The error for a word that is not a kind of entry.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no kind of entry: {0:?}")]
pub struct LeafKindError(String);
