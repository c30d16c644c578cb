//! Words the messages that the gateway returns in place of a result.

use answerback::UuidV4;
use answerback::ValidationError;
use answerback::contract::governed::Refusal;
use answerback::contract::tool::ErrorObject;
use answerback::finding::{display_name, display_text};
use serde_json::{Map, Value};

use crate::envelope::{error_of_findings, finding_code};

/// Classifies the caller's possible reaction to a call without a result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum CallClass {
    /// Fix the arguments and call again.
    Arguments,
    /// Call again later without changes.
    Wait,
    /// Stop and let a person decide.
    Stop,
}

impl CallClass {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Arguments => "arguments",
            Self::Wait => "wait",
            Self::Stop => "stop",
        }
    }
}

/// Holds a message that replaces a result.
#[derive(Clone, Debug)]
pub(crate) struct GatewayMessage {
    class: CallClass,
    /// The code for programs that react to the message.
    code: String,
    /// The number of the attempt and the maximum, if attempts are counted.
    attempt: Option<(u8, u8)>,
    /// The text for the model.
    pub(crate) text: String,
    /// The error for the envelope.
    pub(crate) error: ErrorObject,
    /// True if it is sent as a protocol error, which the model may not see.
    pub(crate) is_protocol_error: bool,
}

impl GatewayMessage {
    pub(crate) fn new(class: CallClass, code: &str, text: String) -> Self {
        // An envelope holds the text on one line.
        let error = ErrorObject::new(code, display_text(&text, 500));
        Self { class, code: code.to_owned(), attempt: None, text, error, is_protocol_error: false }
    }

    /// Returns the code for programs that react to the message.
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// Sets the number of the attempt and the maximum.
    pub(crate) fn on_attempt(mut self, attempt: u8, max: u8) -> Self {
        self.attempt = Some((attempt, max));
        self
    }

    /// Sets the envelope's error to these findings, with a code and a message.
    pub(crate) fn with_findings(
        mut self,
        code: &str,
        message: &str,
        findings: &[ValidationError],
    ) -> Self {
        self.error = error_of_findings(code, message, findings);
        self
    }

    /// Turns the message into a protocol error.
    pub(crate) fn into_protocol_error(mut self) -> Self {
        self.is_protocol_error = true;
        self
    }

    pub(crate) fn facts(&self, correlation_id: &UuidV4) -> Value {
        let mut facts = Map::new();
        if let Some((attempt, max)) = self.attempt {
            facts.insert("attempt".into(), attempt.into());
            facts.insert("max".into(), max.into());
        }
        facts.insert("retryable".into(), (self.class != CallClass::Stop).into());
        facts.insert("class".into(), self.class.as_str().into());
        facts.insert("code".into(), self.code.as_str().into());
        facts.insert("correlationId".into(), correlation_id.to_string().into());
        facts.into()
    }

    /// Reports that a call did not run, because it could not be recorded.
    pub(crate) fn not_recorded(tool: &str, reason: &str) -> Self {
        let text = format!(
            "The call of {} was not run, because it could not be recorded: {reason}. Nothing is wrong with the \
             arguments; try again later, or ask a person to look at the gateway.",
            display_name(tool)
        );
        Self::new(CallClass::Wait, finding_code::NOT_RECORDED, text)
    }

    /// Reports that a call could not be checked, because the server does not list its tools.
    pub(crate) fn unknown_tools(tool: &str, reason: &str) -> Self {
        let text = format!(
            "The call of {} was not run, because it could not be checked: {reason}. Nothing is wrong with the \
             arguments; try again later.",
            display_name(tool)
        );
        Self::new(CallClass::Wait, finding_code::TOOLS_UNKNOWN, text)
    }

    /// Reports that too many calls are running.
    pub(crate) fn busy(tool: &str, most: usize) -> Self {
        let text = format!(
            "The call of {} was not run: {most} calls are under way already. Nothing is wrong with the arguments; call \
             again when one of them was answered.",
            display_name(tool)
        );
        Self::new(CallClass::Wait, finding_code::TOO_MANY_CALLS, text)
    }

    /// Reports that the arguments cannot be read within the limits.
    pub(crate) fn unreadable_arguments(tool: &str, reason: &str) -> Self {
        let reason = display_text(reason, 300);
        let text = format!(
            "The call of {} was not run, because its arguments cannot be read: {reason}. Send less, or nest it less.",
            display_name(tool)
        );
        Self::new(CallClass::Arguments, finding_code::ARGUMENTS_UNREADABLE, text)
    }

    /// Reports that the tool's definition changed since a person allowed it.
    pub(crate) fn definition_changed(tool: &str) -> Self {
        let text = format!(
            "The tool {} was not run: its definition is not the one that was first seen. A person has to look at \
             the change and accept it. Do not call it again for this task.",
            display_name(tool)
        );
        Self::new(CallClass::Stop, finding_code::DEFINITION_CHANGED, text)
    }

    /// Reports that the call was never sent.
    pub(crate) fn unsent(tool: &str, reason: &str) -> Self {
        let text = format!(
            "The call of {} was not sent: {reason}. It did not run; nothing is wrong with the arguments, try again \
             later.",
            display_name(tool)
        );
        Self::new(CallClass::Wait, finding_code::NOT_SENT, text)
    }

    /// Reports that the server received the call and returned no result. The call may be repeated only if that is
    /// safe.
    pub(crate) fn without_result(tool: &str, reason: &str, is_repeatable: bool) -> Self {
        let text = format!(
            "The call of {} has no result: {reason}. Whether it took effect is not known; look before you repeat it.",
            display_name(tool)
        );
        let class = if is_repeatable { CallClass::Wait } else { CallClass::Stop };
        Self::new(class, finding_code::NO_RESULT, text)
    }

    /// Reports that the tool ran and its result could not be recorded. The model must know both.
    pub(crate) fn result_not_recorded(tool: &str, reason: &str) -> Self {
        let cause = format!("could not be recorded and is withheld: {reason}.");
        Self::result_withheld_because(tool, finding_code::NOT_RECORDED, &cause, "the gateway")
    }

    /// Reports that the tool ran and its result is withheld, because an unreadable result cannot be attested.
    pub(crate) fn unreadable_result(tool: &str) -> Self {
        let cause = "is withheld: it cannot be read, so nobody can vouch for it.";
        Self::result_withheld_because(tool, finding_code::RESULT_UNREADABLE, cause, "the server")
    }

    /// Reports that the tool ran and its result is withheld, because the attestation was refused.
    pub(crate) fn attestation_refused(tool: &str, refusal: &Refusal) -> Self {
        let explanation = display_text(&refusal.explanation, 500);
        let cause = format!("is withheld, because it cannot be attested. {explanation}");
        let place = "the manifest and the lock of the gateway";
        Self::result_withheld_because(tool, refusal.refusal_reason.as_str(), &cause, place)
    }

    /// Builds the message about a tool that ran and whose result is withheld.
    fn result_withheld_because(tool: &str, code: &str, cause: &str, place: &str) -> Self {
        let text = format!(
            "The tool {} ran, but its result {cause} Do not repeat the call: it may have taken effect. Ask a person to look \
             at {place}.",
            display_name(tool)
        );
        Self::new(CallClass::Stop, code, text)
    }
}
