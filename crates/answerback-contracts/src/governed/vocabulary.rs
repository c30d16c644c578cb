use serde::{Deserialize, Serialize};

/// Declares an enum of words: `/// doc Name { /// doc Variant = "word", … }`.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ })+) => {
        $(
            #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            $(#[$doc])*
            #[expect(clippy::exhaustive_enums, reason = "the contract defines exactly these")]
            pub enum $name {
                $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)+
            }

            impl $name {
                /// All variants, in the contract's order.
                pub const ALL: &'static [Self] = &[$(Self::$variant),+];

                /// Returns the word used on the wire.
                pub const fn as_str(self) -> &'static str {
                    match self { $(Self::$variant => $word),+ }
                }
            }

            impl $crate::word::Word for $name {
                const WORDS: &'static [&'static str] = &[$($word),+];

                fn from_word(word: &str) -> Option<Self> {
                    match word { $($word => Some(Self::$variant),)+ _ => None }
                }
            }

            impl std::fmt::Display for $name {
                fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    formatter.write_str(self.as_str())
                }
            }
        )+
    };
}
pub(super) use words;

words! {
    /// The kind of agent.
    AgentType {
        /// The agent covers one domain.
        Domain = "domain",
        /// The agent is composed of two to four domains.
        Archetype = "archetype",
        /// The agent directs other agents.
        Orchestrator = "orchestrator",
    }
    /// The outcome of a request.
    #[cfg_attr(feature = "schema", schemars(rename = "Status"))]
    GovernedStatus {
        /// The request was completed, within scope and to standard.
        Success = "success",
        /// The request was completed in part. The rest needs another agent or an answer from the
        /// caller.
        Partial = "partial",
        /// A technical error occurred.
        Error = "error",
        /// The rules forbid the request.
        Refused = "refused",
    }
    /// The type of the content.
    ContentType {
        /// Prose. The data is a string.
        Text = "text",
        /// Named values. The data is an object.
        Structured = "structured",
        /// Prose and named values. The data is an object with a `narrative`.
        Mixed = "mixed",
    }
    /// The format of the content.
    Format {
        /// Text with Markdown.
        Markdown = "markdown",
        /// JSON values, for structured and mixed content.
        Json = "json",
        /// Plain text.
        Plain = "plain",
    }
    /// The agent's confidence in its answer.
    Confidence {
        /// The information is complete and well within the agent's domain.
        High = "high",
        /// The information has gaps, or is at the edge of the domain. Validate it before use.
        Medium = "medium",
        /// The information has large gaps. An expert should review it.
        Low = "low",
        /// A confidence makes no sense for this request.
        NotApplicable = "not_applicable",
    }
    /// The kind of a request.
    RequestType {
        /// A question.
        Query = "query",
        /// An instruction to do something.
        Task = "task",
        /// A request to examine something.
        Analysis = "analysis",
        /// A request to choose.
        Decision = "decision",
    }
    /// A flag of an attestation.
    Flag {
        /// The content lies within the agent's domain.
        WithinScope = "within_scope",
        /// The agent did nothing that belongs to another domain.
        BoundariesRespected = "boundaries_respected",
        /// The content meets the agent's standards.
        QualityStandardsMet = "quality_standards_met",
        /// The agent followed all constraints.
        ConstraintsFollowed = "constraints_followed",
    }
}

impl ContentType {
    /// True if content of this type can have this format.
    pub const fn allows(self, format: Format) -> bool {
        match self {
            Self::Text => matches!(format, Format::Markdown | Format::Plain),
            Self::Structured | Self::Mixed => matches!(format, Format::Json),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word::{Word, WordList};

    #[test]
    fn words_are_written_and_read_alike() {
        for flag in Flag::ALL {
            assert_eq!(serde_json::to_value(flag).unwrap(), flag.as_str());
            assert_eq!(Flag::from_word(flag.as_str()), Some(*flag));
        }
        assert_eq!(WordList(Format::WORDS).to_string(), "markdown, json or plain");
    }
}
