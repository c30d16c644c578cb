use answerback::judge::{Judged, Wording};
use answerback::retry::Outcome;

use crate::call::ToolCallRequest;
use crate::envelope::found;
use crate::gateway_reply::{CallClass, GatewayMessage, ReplyBuilder, Told};
use crate::settings::UnknownTool;
use crate::{Gateway, RecordCommands, ask};

/// What a call can be answered with that does not run. It owns all of that, so that the unit of work that counts the
/// attempt can write the answer down with it.
#[derive(Clone, Debug)]
pub(crate) struct Rejection {
    pub(crate) teller: ReplyBuilder,
    wording: Wording,
    /// How many attempts there are.
    max_attempts: u8,
    /// How a call of a tool that does not exist is answered.
    unknown_tool: UnknownTool,
    /// Whether a person is asked who can answer later.
    has_inbox: bool,
    /// Whether the client asks the person itself, when it is answered with a question.
    can_ask: bool,
    /// Whether the client's user is asked before the model has this answer.
    asks_user: bool,
    /// Where the console is, where there is one.
    console: Option<String>,
    /// How commands about the record are printed.
    commands: RecordCommands,
}

impl Rejection {
    pub(crate) fn new(
        gateway: &Gateway,
        teller: &ReplyBuilder,
        call: &ToolCallRequest,
        judged: &Judged<'_>,
    ) -> Self {
        Self {
            teller: teller.clone(),
            wording: judged.wording(),
            max_attempts: judged.settings().retry.max_attempts(),
            unknown_tool: gateway.settings.unknown_tool,
            has_inbox: gateway.recorder.is_some(),
            // Nobody is asked about a call that fits.
            can_ask: !judged.is_valid() && call.is_modern && call.asks_user,
            asks_user: !judged.is_valid() && call.asks_user,
            console: gateway.console.clone(),
            commands: gateway.commands.clone(),
        }
    }

    /// What the client is told; nothing, where the call runs. A case that is kept can be asked about.
    pub(crate) fn told(&self, outcome: &Outcome, is_kept: bool) -> Option<Told> {
        if let Outcome::Blocked(blocked) = outcome
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
            Outcome::Retry(retry) => {
                GatewayMessage::new(CallClass::Arguments, first.unwrap_or(code), content)
                    .on_attempt(retry.attempt, retry.max_attempts)
                    .with_findings(code, text, findings)
            }
            Outcome::Blocked(blocked) => {
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
            && matches!(outcome, Outcome::Retry(_))
            && self.unknown_tool == UnknownTool::Error;
        Some(self.teller.says(&if is_error { said.into_protocol_error() } else { said }))
    }

    /// The words with where a person answers them.
    fn with_case(&self, mut content: String, case: &str) -> String {
        if self.has_inbox {
            let console = self.console.as_deref();
            content.push_str(&waiting(case, self.asks_user, console, &self.commands));
        }
        content
    }
}

/// Returns the sentence for the model about the case that its calls wait for. A person was asked only if the client put
/// the question to its user; otherwise the case waits until somebody looks into the inbox.
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
