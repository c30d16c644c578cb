//! Carries one tool call from reading its message to writing its record, with one file per step.
//!
//! [`admit`] checks a call and [`count`] counts the attempt. An invalid call is answered by [`reject`]; after the
//! last attempt [`escalate`] opens a case, and [`approve`] runs the arguments that a person corrected. [`deliver`]
//! checks the result with [`inspect`], and [`record`] writes it to the ledger. Each step receives the [`CallContext`].

mod admit;
mod approve;
mod attempt;
mod context;
mod count;
mod deliver;
mod delivered_result;
mod escalate;
mod fail;
mod inspect;
mod record;
mod reject;
mod task_result;

pub use admit::{Admission, BlockedCall, ForwardedCall};
pub(crate) use approve::CorrectionClaim;
pub(crate) use attempt::AttemptInput;
pub use context::CallContext;
pub(crate) use count::AttemptTransaction;
pub(crate) use reject::case_notice;
