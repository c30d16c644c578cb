//! Findings: one type for everything that can be wrong in an input.

#[doc(inline)]
pub use answerback_findings::{
    Aggregate, FindingGroup, Preview, Rule, Severity, ValidationError, aggregate, call_codes,
    display_name, display_text, preview, relative_paths,
};
#[doc(inline)]
pub use answerback_redaction::{self as secrets, is_blank, is_control_or_format};

/// Explains every code.
pub mod codes {
    #[doc(inline)]
    pub use answerback_contracts::codes::{all, find};
    #[doc(inline)]
    pub use answerback_findings::Rule;
    #[doc(inline)]
    pub use answerback_findings::codes::*;
}
