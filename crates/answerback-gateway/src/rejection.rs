use answerback::checker::{CheckedCall, MessageInputs};
use answerback::retry::AttemptOutcome;

use crate::call::ToolCallRequest;
use crate::envelope::found;
use crate::gateway_reply::{CallClass, GatewayMessage, ReplyBuilder, Told};
use crate::settings::UnknownTool;
use crate::{Gateway, RecordCommands, ask};

/// Holds the data for the response to a call that does not run. It owns its data, so that the transaction that
/// counts the attempt can also record the response.
#[derive(Clone, Debug)]
pub(crate) struct Rejection {
    pub(crate) teller: ReplyBuilder,
    wording: MessageInputs,
    /// The maximum number of attempts.
    max_attempts: u8,
    /// The kind of response to a call of an unknown tool.
    unknown_tool: UnknownTool,
    /// True if there is an inbox in which a person can answer later.
    has_inbox: bool,
    /// True if the client asks its user itself after an `input_required` result.
    can_ask: bool,
    /// True if the client's user is asked before the model receives this response.
    asks_user: bool,
    /// The URL of the console, if there is one.
    console: Option<String>,
    /// Formats the commands about the ledger.
    commands: RecordCommands,
}

impl Rejection {
    pub(crate) fn new(
        gateway: &Gateway,
        teller: &ReplyBuilder,
        call: &ToolCallRequest,
        judged: &CheckedCall<'_>,
    ) -> Self {
        Self {
            teller: teller.clone(),
            wording: judged.message_inputs(),
            max_attempts: judged.settings().retry.max_attempts(),
            unknown_tool: gateway.settings.unknown_tool,
            has_inbox: gateway.recorder.is_some(),
            // The user is not asked about a valid call.
            can_ask: !judged.is_valid() && call.is_modern && call.asks_user,
            asks_user: !judged.is_valid() && call.asks_user,
            console: gateway.console.clone(),
            commands: gateway.commands.clone(),
        }
    }

    /// Returns the response for an outcome, or `None` if the call runs. The user can be asked only about a case
    /// that is stored.
    pub(crate) fn told(&self, outcome: &AttemptOutcome, is_kept: bool) -> Option<Told> {
        if let AttemptOutcome::Blocked(blocked) = outcome
            && blocked.is_new
            && is_kept
            && self.can_ask
        {
            return Some(self.teller.asks(ask::input_required(&blocked.escalation)));
        }
        let content = self.wording.result(outcome)?.content;
        let findings = self.wording.findings();
        let failing = findings.iter().find(|finding| finding.is_error());
        let first = failing.map(|finding| finding.error_code.as_ref());
        let is_known = self.teller.about.tool.1;
        let (code, text) = match (is_known, first) {
            (false, _) => (found::UNKNOWN_TOOL, "There is no such tool."),
            (true, Some(_)) => {
                (found::INVALID_PARAMETER, "The arguments do not fit the tool's input schema.")
            }
            (true, None) => (found::CALLS_BLOCKED, "Earlier calls of this tool wait for a person."),
        };
        let said = match outcome {
            AttemptOutcome::Retry(retry) => {
                GatewayMessage::new(CallClass::Arguments, first.unwrap_or(code), content)
                    .on_attempt(retry.attempt, retry.max_attempts)
                    .with_findings(code, text, findings)
            }
            AttemptOutcome::Blocked(blocked) => {
                let content = self.with_case(content, &blocked.escalation.id.to_string());
                GatewayMessage::new(CallClass::Stop, found::CALLS_BLOCKED, content)
                    .on_attempt(blocked.attempt, blocked.max_attempts)
                    .with_findings(code, text, findings)
            }
            _ => {
                let text = "A person stopped the calls of this tool.";
                GatewayMessage::new(CallClass::Stop, found::CALLS_STOPPED, content)
                    .on_attempt(self.max_attempts, self.max_attempts)
                    .with_findings(found::CALLS_STOPPED, text, findings)
            }
        };
        let is_error = !is_known
            && matches!(outcome, AttemptOutcome::Retry(_))
            && self.unknown_tool == UnknownTool::Error;
        Some(self.teller.says(&if is_error { said.into_protocol_error() } else { said }))
    }

    /// Adds the place where a person can answer the case.
    fn with_case(&self, mut content: String, case: &str) -> String {
        if self.has_inbox {
            let console = self.console.as_deref();
            content.push_str(&waiting(case, self.asks_user, console, &self.commands));
        }
        content
    }
}

/// Returns the sentence for the model about the case that blocks its calls. It says that a person was asked only
/// if the client showed the question to its user. Otherwise the case waits in the inbox.
pub(crate) fn waiting(
    case: &str,
    is_user_asked: bool,
    console: Option<&str>,
    commands: &RecordCommands,
) -> String {
    let command = commands.command(&format!("inbox show {case}"));
    let place = match console {
        Some(console) => format!("{console}/inbox/{case}, or {command}"),
        None => command,
    };
    if is_user_asked {
        format!("\n\nA person was asked: case {case} ({place}).")
    } else {
        format!("\n\nCase {case} waits for a person in the inbox ({place}).")
    }
}
