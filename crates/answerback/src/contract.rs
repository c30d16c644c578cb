//! The four reply contracts.

#[doc(inline)]
pub use answerback_contracts::{Contract, Invalid, Recognition, governed, recognise, tool, ui};
#[doc(inline)]
pub use answerback_findings::Profile;

/// The ATDF enriched response: a result, or an error that says what was expected and how to fix it.
pub mod atdf {
    #[doc(inline)]
    pub use answerback_calls::enrich::{EnrichSource, enrich};
    #[doc(inline)]
    pub use answerback_contracts::atdf::*;
}
