use serde::{Deserialize, Serialize};

/// Declares an enum of words: `/// doc Name { /// doc Variant = "word", … }`.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ })+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

                fn named(word: &str) -> Option<Self> {
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
    /// What kind of agent answers.
    AgentType {
        /// It knows one domain.
        Domain = "domain",
        /// It is composed of two to four domains.
        Archetype = "archetype",
        /// It directs other agents.
        Orchestrator = "orchestrator",
    }
    /// How a request ended.
    Status {
        /// Done, within scope and to standard.
        Success = "success",
        /// Done in part; the rest needs another agent or an answer.
        Partial = "partial",
        /// Something technical failed.
        Error = "error",
        /// The rules forbid to do it.
        Refused = "refused",
    }
    /// What the content is made of.
    ContentType {
        /// Prose: the data is a string.
        Text = "text",
        /// Named values: the data is an object.
        Structured = "structured",
        /// Both: the data is an object with a `narrative`.
        Mixed = "mixed",
    }
    /// How the content is written.
    Format {
        /// Text with Markdown marks.
        Markdown = "markdown",
        /// Values, for structured and mixed content.
        Json = "json",
        /// Text without marks.
        Plain = "plain",
    }
    /// How sure the agent is.
    Confidence {
        /// Complete information, squarely within the agent's domain.
        High = "high",
        /// Gaps, or the edge of its domain: validate before use.
        Medium = "medium",
        /// Large gaps: have an expert look.
        Low = "low",
        /// A rating makes no sense for this request.
        NotApplicable = "not_applicable",
    }
    /// What was asked for.
    RequestType {
        /// A question.
        Query = "query",
        /// Something to do.
        Task = "task",
        /// Something to examine.
        Analysis = "analysis",
        /// A choice.
        Decision = "decision",
    }
    /// What an agent attests.
    Flag {
        /// The content lies within the agent's domain.
        WithinScope = "within_scope",
        /// The agent did nothing that belongs to another domain.
        BoundariesRespected = "boundaries_respected",
        /// The content meets the agent's standards.
        QualityStandardsMet = "quality_standards_met",
        /// No constraint was broken.
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
            assert_eq!(Flag::named(flag.as_str()), Some(*flag));
        }
        assert_eq!(WordList(Format::WORDS).to_string(), "markdown, json or plain");
    }
}
