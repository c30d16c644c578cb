use answerback_findings::ValidationError;

use super::{Failure, Formatting, budget, hint};

/// Turns a failed call into what the model is told.
///
/// The structure of the message and its bounds are the same for every tool. A formatter for certain
/// tools gives hints and advice that only somebody who knows the tool can give; the text of both is
/// quoted, redacted and cut like everything else.
///
/// ```
/// use answerback_findings::{Severity, ValidationError};
/// use answerback_calls::message::{ErrorFormatter, Failure, Formatting};
///
/// struct Query;
///
/// impl ErrorFormatter for Query {
///     fn advice(&self, _failure: &Failure<'_>) -> Option<String> {
///         Some("Send one SELECT statement; parameters go into 'parameters', not into the text.".to_owned())
///     }
/// }
///
/// let findings = [ValidationError::new("VAL-007", Severity::Error)];
/// let message = Query.format(&Failure::new("query", &findings), &Formatting::default());
/// assert!(message.contains("one SELECT statement"));
/// ```
pub trait ErrorFormatter {
    /// How to mend one finding, in a sentence. By default the standard hint: "did you mean" for closed
    /// sets, the rule for open values.
    fn hint(&self, failure: &Failure<'_>, finding: &ValidationError) -> Option<String> {
        hint::standard(failure, finding)
    }

    /// What a caller of this tool should know, in a sentence before the call to action. By default nothing.
    fn advice(&self, failure: &Failure<'_>) -> Option<String> {
        let _ = failure;
        None
    }

    /// The message: a text of fewer than [`Formatting::max_message_length`] characters for any failure.
    fn format(&self, failure: &Failure<'_>, formatting: &Formatting) -> String {
        budget::fit(failure, formatting, self)
    }
}

/// The formatter for tools of which nothing is known but their schema.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "it has nothing to configure")]
pub struct StandardFormatter;

impl ErrorFormatter for StandardFormatter {}
