//! Answers calls that do not run.

use answerback::checker::{CheckedCall, MessageInputs};
use answerback::finding::display_name;
use answerback::retry::AttemptOutcome;
use answerback_ledger::{Draft, LeafToken};
use answerback_mcp::wire::{Message, code};
use answerback_store::recording::MemberSchema;

use super::CallContext;
use super::record::request_parts;
use crate::call_facts::with_outcome;
use crate::envelope::finding_code;
use crate::gateway_message::{CallClass, GatewayMessage};
use crate::gateway_reply::{GatewayReply, ReplyBuilder};
use crate::gateway_settings::UnknownTool;
use crate::recording_failure::RecordingFailure;
use crate::tool_call_request::ToolCallRequest;
use crate::{Client, Gateway, RecordCommands, Upstream, elicitation_form};

/// Holds the data for the response to a call that does not run. It owns its data, so that the transaction that
/// counts the attempt can also record the response.
#[derive(Clone, Debug)]
pub(crate) struct Rejection {
    pub(crate) replies: ReplyBuilder,
    wording: MessageInputs,
    /// The maximum number of attempts.
    max_attempts: u8,
    /// The kind of response to a call of an unknown tool.
    unknown_tool: UnknownTool,
    /// True if there is an inbox in which a person can answer later.
    has_inbox: bool,
    /// True if the client asks its user itself after an `input_required` result.
    asks_in_reply: bool,
    /// True if the client's user is asked before the model receives this response.
    is_user_asked: bool,
    /// The URL of the console, if there is one.
    console: Option<String>,
    /// Formats the commands about the ledger.
    commands: RecordCommands,
}

impl Rejection {
    pub(crate) fn new(gateway: &Gateway, context: &CallContext, judged: &CheckedCall<'_>) -> Self {
        Self {
            replies: context.replies.clone(),
            wording: judged.message_inputs(),
            max_attempts: judged.settings().retry.max_attempts(),
            unknown_tool: gateway.settings.unknown_tool,
            has_inbox: gateway.recorder.is_some(),
            // The user is not asked about a valid call.
            asks_in_reply: !judged.is_valid()
                && context.request.is_modern
                && context.request.may_ask_user,
            is_user_asked: !judged.is_valid() && context.request.may_ask_user,
            console: gateway.console.clone(),
            commands: gateway.commands.clone(),
        }
    }

    /// Returns the response for an outcome, or `None` if the call runs. The user can be asked only about a case
    /// that is stored.
    pub(crate) fn reply_to(
        &self,
        outcome: &AttemptOutcome,
        is_case_stored: bool,
    ) -> Option<GatewayReply> {
        if let AttemptOutcome::Blocked(blocked) = outcome
            && blocked.is_new
            && is_case_stored
            && self.asks_in_reply
        {
            return Some(
                self.replies.input_request(&elicitation_form::input_required(&blocked.escalation)),
            );
        }
        let content = self.wording.result(outcome)?.content;
        let findings = self.wording.findings();
        let failing = findings.iter().find(|finding| finding.is_error());
        let first = failing.map(|finding| finding.error_code.as_ref());
        let is_known = self.replies.facts.is_known_tool;
        let (code, text) = match (is_known, first) {
            (false, _) => (finding_code::UNKNOWN_TOOL, "There is no such tool."),
            (true, Some(_)) => (
                finding_code::INVALID_PARAMETER,
                "The arguments do not fit the tool's input schema.",
            ),
            (true, None) => {
                (finding_code::CALLS_BLOCKED, "Earlier calls of this tool wait for a person.")
            }
        };
        let message = match outcome {
            AttemptOutcome::Retry(retry) => {
                GatewayMessage::new(CallClass::Arguments, first.unwrap_or(code), content)
                    .on_attempt(retry.attempt, retry.max_attempts)
                    .with_findings(code, text, findings)
            }
            AttemptOutcome::Blocked(blocked) => {
                let content = self.with_case(content, &blocked.escalation.id.to_string());
                GatewayMessage::new(CallClass::Stop, finding_code::CALLS_BLOCKED, content)
                    .on_attempt(blocked.attempt, blocked.max_attempts)
                    .with_findings(code, text, findings)
            }
            _ => {
                let text = "A person stopped the calls of this tool.";
                GatewayMessage::new(CallClass::Stop, finding_code::CALLS_STOPPED, content)
                    .on_attempt(self.max_attempts, self.max_attempts)
                    .with_findings(finding_code::CALLS_STOPPED, text, findings)
            }
        };
        let is_error = !is_known
            && matches!(outcome, AttemptOutcome::Retry(_))
            && self.unknown_tool == UnknownTool::Error;
        Some(self.replies.reply(&if is_error { message.into_protocol_error() } else { message }))
    }

    /// Adds the place where a person can answer the case.
    fn with_case(&self, mut content: String, case: &str) -> String {
        if self.has_inbox {
            let console = self.console.as_deref();
            content.push_str(&case_notice(case, self.is_user_asked, console, &self.commands));
        }
        content
    }
}

impl Gateway {
    /// Rejects a call that cannot be checked, because the server does not list its tools.
    pub(crate) async fn reject_with_unknown_tools(
        &self,
        client: &Client,
        server: &str,
        request: &ToolCallRequest,
        reason: &str,
    ) -> Message {
        let message = GatewayMessage::unknown_tools(&request.name, reason);
        self.reject_before_check(client, server, None, request, &message).await
    }

    /// Rejects a call because too many calls are running.
    pub(crate) async fn reject_as_busy(
        &self,
        client: &Client,
        server: &str,
        upstream: Option<&Upstream>,
        request: &ToolCallRequest,
    ) -> Message {
        let message = GatewayMessage::busy(&request.name, self.settings.most_calls);
        self.reject_before_check(client, server, upstream, request, &message).await
    }

    async fn reject_before_check(
        &self,
        client: &Client,
        server: &str,
        upstream: Option<&Upstream>,
        request: &ToolCallRequest,
        message: &GatewayMessage,
    ) -> Message {
        match ReplyBuilder::new(self, client, server, upstream, request) {
            Ok(replies) => {
                let hide =
                    upstream.and_then(|upstream| upstream.tools.secret_schema(&request.name));
                reject_unchecked(self, &replies, request, message, hide).await
            }
            Err(error) => without_call_id(request, &error),
        }
    }
}

/// Rejects a call without checking its arguments, and records the response.
pub(super) async fn reject_unchecked(
    gateway: &Gateway,
    replies: &ReplyBuilder,
    request: &ToolCallRequest,
    message: &GatewayMessage,
    hide: Option<MemberSchema<'_>>,
) -> Message {
    let reply = replies.reply(message);
    let Some(recorder) = &gateway.recorder else { return reply.into_message(None) };
    let append = || {
        let code = LeafToken::new(message.code()).into_iter();
        let draft = replies.facts.add_to(Draft::validation(1, 1)).with_codes(code);
        let mut parts = request_parts(recorder, request, None, hide)?;
        parts.extend(recorder.redacted_parts("delivered", reply.document(), None)?);
        recorder
            .store()
            .append(parts.into_iter().fold(with_outcome(draft, "refused"), Draft::with_part))
    };
    let written = match append() {
        Ok(ticket) => ticket.await.map(|committed| committed.value),
        Err(error) => Err(error),
    };
    match written {
        Ok(appended) => {
            let receipt = recorder.receipt(&appended, &replies.facts.id.to_string());
            reply.into_message(Some(&receipt))
        }
        Err(error) => match recorder.store().apply_failure_policy(error) {
            Ok(()) => reply.into_message(None),
            Err(error) => not_recorded(replies, error),
        },
    }
}

/// Returns the error for a call that gets no id, because the system has no randomness. Without an id the call
/// cannot be recorded.
pub(super) fn without_call_id(request: &ToolCallRequest, error: &std::io::Error) -> Message {
    tracing::error!(%error, "there is no randomness for the id of a call");
    let text = "there is no randomness for the id of the call";
    Message::error(Some(&request.id), code::INTERNAL_ERROR, text, None)
}

/// Returns the response to a call that was not run, because it could not be recorded.
pub(super) fn not_recorded(replies: &ReplyBuilder, reason: impl Into<RecordingFailure>) -> Message {
    let RecordingFailure { public, detail } = reason.into();
    tracing::warn!(tool_name = %display_name(replies.tool()), reason = %detail, "a call was not run, because it could not be recorded");
    replies.reply(&GatewayMessage::not_recorded(replies.tool(), &public)).into_message(None)
}

/// Returns the sentence for the model about the case that blocks its calls. It says that a person was asked only
/// if the client showed the question to its user. Otherwise the case waits in the inbox.
pub(crate) fn case_notice(
    case: &str,
    is_user_asked: bool,
    console: Option<&str>,
    commands: &RecordCommands,
) -> String {
    let command = commands.command(&format!("inbox show {case}"));
    let location = match console {
        Some(console) => format!("{console}/inbox/{case}, or {command}"),
        None => command,
    };
    if is_user_asked {
        format!("\n\nA person was asked: case {case} ({location}).")
    } else {
        format!("\n\nCase {case} waits for a person in the inbox ({location}).")
    }
}
