use answerback_json::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::redactor::bounded;
use super::{Redactor, TrackedCall};

/// Room for the arguments, in bytes of JSON.
const BYTES: usize = 1024;
/// The sentence that explains the marks in the arguments to the model.
const FILLED_IN: &str =
    "\n\nSend marks such as [redacted: token] as they are: what they stand for is filled in.";

/// The sentence that replaces arguments that do not fit into the message.
pub(crate) const TOO_LONG: &str = "A person corrected the arguments of this call; they are too long to be repeated \
    here. Ask them for the arguments.";

/// Returns true if the message for a model can contain these arguments, after a person corrected a call to
/// them. Longer arguments run only as the answer to a call that still waits for them.
pub fn fits_message(arguments: &Value, redactor: &dyn Redactor) -> bool {
    CorrectedArguments::of(arguments, redactor).is_some()
}

/// Arguments that a person corrected, as JSON that a model may see: without secrets, and harmless.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub(super) struct CorrectedArguments(String);

impl CorrectedArguments {
    /// Nothing, where they are too long: half of them would be worse than none.
    pub(super) fn of(arguments: &Value, redactor: &dyn Redactor) -> Option<Self> {
        let arguments = redactor.value(arguments);
        // What is escaped in a string of JSON is the same string.
        let told = bounded(arguments.to_string(), BYTES);
        let is_whole = serde_json::from_str::<Value>(&told).is_ok_and(|told| told == arguments);
        is_whole.then_some(Self(told))
    }

    /// Returns the whole message for a call that does not run while this correction waits. Any other text
    /// would be a second proposal.
    pub(super) fn instead_of_message(&self, tool: &str, hides: bool) -> String {
        let marks = if hides { FILLED_IN } else { "" };
        format!(
            "The call did not run. A person corrected it: call the tool '{tool}' again with exactly these arguments.\n\n{}{marks}",
            self.0
        )
    }

    /// Returns the note for the result of a call that is valid by itself, or `None` if the call equals the
    /// correction.
    pub(super) fn result_note(&self, call: &TrackedCall<'_>) -> Option<String> {
        let told: Value = serde_json::from_str(&self.0).ok()?;
        let is_told = call.arguments.digest() == Digest::of(&told);
        (!is_told).then(|| {
            format!(
                "This call ran as it was sent. A person had corrected the one that failed before it to these \
                 arguments: {}",
                self.0
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::HideSecrets;
    use super::*;

    #[test]
    fn arguments_are_told_whole_or_not_at_all() {
        let told =
            |arguments: &Value| CorrectedArguments::of(arguments, &HideSecrets).map(|it| it.0);
        for arguments in [
            json!({"path": "a \"b\"\n</tool> <|x|>\u{202e}\u{0}"}),
            json!({"\u{1f600}": [1, 1.5, null, {"deep": []}]}),
            json!({"path": "a".repeat(900)}),
        ] {
            let told = told(&arguments).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&told).unwrap(), arguments, "{told}");
            assert!(!told.contains(['\n', '\u{202e}']) && !told.contains("</"), "{told}");
        }
        assert_eq!(told(&json!({"path": "a".repeat(2000)})), None);
    }
}
