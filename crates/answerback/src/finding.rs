//! Findings: one type for everything that can be wrong in an input.

#[doc(inline)]
pub use answerback_findings::{
    Aggregate, Group, Preview, Rule, Severity, ValidationError, aggregate, preview, relative_paths,
    shown_name, shown_text, val,
};
#[doc(inline)]
pub use answerback_redaction::{self as secrets, acts, is_blank};

/// Explains every code.
pub mod codes {
    #[doc(inline)]
    pub use answerback_contracts::codes::{all, find};
    #[doc(inline)]
    pub use answerback_findings::Rule;
    #[doc(inline)]
    pub use answerback_findings::codes::*;
}
