use answerback_findings::ValidationError;

use super::{CallFailure, Formatting, budget, hint};

/// Writes the message for the model about a failed call.
///
/// The structure of the message and its bounds are the same for every tool. A formatter for certain tools
/// adds hints and advice that require knowledge of the tool. Both texts are quoted, redacted and cut like
/// everything else.
///
/// ```
/// use answerback_findings::{Severity, ValidationError};
/// use answerback_calls::message::{ErrorFormatter, CallFailure, Formatting};
///
/// struct Query;
///
/// impl ErrorFormatter for Query {
///     fn advice(&self, _failure: &CallFailure<'_>) -> Option<String> {
///         Some("Send one SELECT statement; parameters go into 'parameters', not into the text.".to_owned())
///     }
/// }
///
/// let findings = [ValidationError::new("VAL-007", Severity::Error)];
/// let message = Query.format(&CallFailure::new("query", &findings), &Formatting::default());
/// assert!(message.contains("one SELECT statement"));
/// ```
pub trait ErrorFormatter {
    /// Returns a sentence that says how to fix one finding. The default is the standard hint: "did you mean"
    /// for closed sets, the rule for open values.
    fn hint(&self, failure: &CallFailure<'_>, finding: &ValidationError) -> Option<String> {
        hint::standard(failure, finding)
    }

    /// Returns a sentence of advice about the tool. It is placed before the call to action. The default is
    /// none.
    fn advice(&self, failure: &CallFailure<'_>) -> Option<String> {
        let _ = failure;
        None
    }

    /// The message: a text of fewer than [`Formatting::max_message_length`] characters for any failure.
    fn format(&self, failure: &CallFailure<'_>, formatting: &Formatting) -> String {
        budget::fit(failure, formatting, self)
    }
}

/// The formatter for tools of which nothing is known but their schema.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "it has nothing to configure")]
pub struct StandardFormatter;

impl ErrorFormatter for StandardFormatter {}
