use std::fmt;
use std::str::FromStr;

/// A kind of document that this library checks.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Contract {
    /// An ATDF enriched response.
    Atdf,
    /// A governed response.
    Governed,
    /// A UI envelope.
    Ui,
    /// A tool envelope.
    Tool,
    /// An ATDF tool descriptor.
    Descriptor,
    /// A handoff from one agent to another.
    Handoff,
    /// A manifest of prompts.
    Manifest,
    /// A lock of prompts.
    Lock,
}

impl Contract {
    /// All contracts, in the order in which they are listed for people.
    pub const ALL: [Self; 8] = [
        Self::Atdf,
        Self::Governed,
        Self::Ui,
        Self::Tool,
        Self::Descriptor,
        Self::Handoff,
        Self::Manifest,
        Self::Lock,
    ];

    /// The contracts of replies, which convert into each other.
    pub const REPLIES: [Self; 4] = [Self::Atdf, Self::Governed, Self::Ui, Self::Tool];

    /// Returns the contract's name on the command line and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Atdf => "atdf",
            Self::Governed => "governed",
            Self::Ui => "ui",
            Self::Tool => "tool",
            Self::Descriptor => "descriptor",
            Self::Handoff => "handoff",
            Self::Manifest => "manifest",
            Self::Lock => "lock",
        }
    }

    /// Returns the contract's name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Atdf => "ATDF enriched response",
            Self::Governed => "governed response",
            Self::Ui => "UI envelope",
            Self::Tool => "tool envelope",
            Self::Descriptor => "ATDF tool descriptor",
            Self::Handoff => "handoff",
            Self::Manifest => "prompt manifest",
            Self::Lock => "prompt lock",
        }
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Contract {
    type Err = UnknownContract;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|contract| contract.as_str() == word)
            .ok_or_else(|| UnknownContract(word.to_owned()))
    }
}

/// Reports a word that names no contract.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no contract is called {0:?}; there are {known}", known = Contract::ALL.map(Contract::as_str).join(", "))]
pub struct UnknownContract(String);
