//! Findings: one type for everything that can be wrong in an input.

#[doc(inline)]
pub use answerback_findings::{
    Aggregate, FindingGroup, Preview, Rule, Severity, ValidationError, aggregate, display_name,
    display_text, preview, relative_paths, val,
};
#[doc(inline)]
pub use answerback_redaction::{self as secrets, is_blank, is_control_character};

/// Explains every code.
pub mod codes {
    #[doc(inline)]
    pub use answerback_contracts::codes::{all, find};
    #[doc(inline)]
    pub use answerback_findings::Rule;
    #[doc(inline)]
    pub use answerback_findings::codes::*;
}
