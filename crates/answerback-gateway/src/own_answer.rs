use answerback::judge::{Judged, Wording};
use answerback::retry::Outcome;

use crate::call::ToolCall;
use crate::envelope::found;
use crate::settings::UnknownTool;
use crate::told::{Class, Said, Teller, Told, name};
use crate::{Gateway, ask};

/// What a call can be answered with that does not run. It owns all of that, so that the unit of work that counts the
/// attempt can write the answer down with it.
#[derive(Clone, Debug)]
pub(crate) struct OwnAnswer {
    pub(crate) teller: Teller,
    wording: Wording,
    /// How many attempts there are.
    max_attempts: u8,
    /// How a call of a tool that does not exist is answered.
    unknown_tool: UnknownTool,
    /// Whether a person is asked who can answer later.
    has_inbox: bool,
    /// Whether the client asks the person itself, when it is answered with a question.
    can_ask: bool,
    /// Where the console is, where there is one.
    console: Option<String>,
}

impl OwnAnswer {
    pub(crate) fn new(
        gateway: &Gateway,
        teller: &Teller,
        call: &ToolCall,
        judged: &Judged<'_>,
    ) -> Self {
        Self {
            teller: teller.clone(),
            wording: judged.wording(),
            max_attempts: judged.settings().retry.max_attempts(),
            unknown_tool: gateway.settings.unknown_tool,
            has_inbox: gateway.recorder.is_some(),
            // Nobody is asked about a call that fits.
            can_ask: !judged.is_valid() && call.is_modern && call.can_ask(),
            console: gateway.console.clone(),
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
            (true, None) => {
                (found::CALLS_BLOCKED, "A person is asked about earlier calls of this tool.")
            }
        };
        let said = match outcome {
            Outcome::Retry(retry) => Said::new(Class::Arguments, first.unwrap_or(code), content)
                .on_attempt(retry.attempt, retry.max_attempts)
                .with_findings(code, text, findings),
            Outcome::Blocked(blocked) => {
                let content = self.with_case(content, &blocked.escalation.id.to_string());
                Said::new(Class::Stop, first.unwrap_or(code), content)
                    .on_attempt(blocked.attempt, blocked.max_attempts)
                    .with_findings(code, text, findings)
            }
            _ => {
                let text = "A person stopped the calls of this tool.";
                Said::new(Class::Stop, found::CALLS_STOPPED, content)
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
            content.push_str(&asked(self.teller.tool(), case, self.console.as_deref()));
        }
        content
    }
}

/// What a model is told of the case that its calls wait for.
pub(crate) fn asked(tool: &str, case: &str, console: Option<&str>) -> String {
    let place = match console {
        Some(console) => format!("{console}/inbox/{case}, or answerback inbox show {case}"),
        None => format!("answerback inbox show {case}"),
    };
    let tool = name(tool);
    format!(
        "\n\nA person was asked: case {case}. Do not call {tool} again until they have answered ({place})."
    )
}
