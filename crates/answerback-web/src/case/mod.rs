//! Cases that replies open for a person: proposals, questions, and the case documents that clients receive.

mod case_document;
mod case_request;
mod proposal;
mod question;

pub(crate) use case_request::{CaseRequest, open_case};

pub use case_document::CaseDocument;
pub use proposal::Proposal;
pub use question::Question;
