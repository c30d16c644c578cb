//! Limits the attempts of a model: counting, the escalation to a person, and the person's decision.
//!
//! [`step()`] is the whole rule, as a pure function over a [`RetryState`] that memory or a database keeps;
//! [`RetryTracker`] keeps states in memory. [`FailureTally`] finds the schemas that look wrong.
//! The words of a retry message are made elsewhere, from the findings.

mod correction;
mod escalation;
mod event;
mod fingerprint;
mod history;
mod key;
mod observe;
mod outcome;
mod permit;
mod policy;
mod redactor;
mod shard;
mod state;
mod step;
mod tally;
mod tracker;

pub(crate) use correction::TOO_LONG;
pub use correction::fits_message;
pub use escalation::{EscalatedAttempt, Escalation};
pub use event::{RetryEvent, Sent, TrackedCall, Turn};
pub use history::{Attempt, Noted, Repetition, noted_place};
pub use key::RetryKey;
pub use observe::observe;
pub use outcome::{AttemptOutcome, Blocked, Proceed, Retry};
pub use permit::Permit;
pub use policy::{Policies, RetryPolicy, WhileBlocked};
pub use redactor::{HideSecrets, Redactor};
pub use state::{OriginalCall, RetryState};
pub use step::{Context, RetryStep, step};
pub use tally::{FailurePlace, FailureTally, Suspect, ToolTally};
pub use tracker::RetryTracker;
