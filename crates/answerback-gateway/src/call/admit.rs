//! Checks calls before they are forwarded: parses the arguments, checks them, and has the attempt counted.

use std::sync::Arc;

use answerback::call::Schema;
use answerback::checker::{CheckedCall, check_call};
use answerback::contract::tool::ErrorObject;
use answerback::finding::display_text;
use answerback::retry::{AttemptOutcome, Escalation, Proceed};
use answerback_mcp::wire::Message;

use super::CallContext;
use super::approve::{CheckedCorrection, CorrectionClaim, correction_note};
use super::count::{AttemptResult, CountStep};
use super::record::record_request;
use super::reject::{not_recorded, reject_unchecked, without_call_id};
use crate::blocking;
use crate::envelope::{error_of_findings, finding_code};
use crate::gateway_message::GatewayMessage;
use crate::gateway_reply::ReplyBuilder;
use crate::gateway_settings::CheckMode;
use crate::recording_failure::RecordingFailure;
use crate::tool_call_request::ToolCallRequest;
use crate::tool_metrics::CallDisposition;
use crate::{Client, Gateway, Upstream};

/// Describes how the gateway proceeds with a call.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "these are all possible decisions about a call")]
pub enum Admission {
    /// The call is forwarded.
    Forward(ForwardedCall),
    /// The call does not run, and this is the response.
    Answer(Message),
    /// The call does not run and opened a case. The client may ask its user at once.
    Ask(Box<BlockedCall>),
}

impl Admission {
    const fn disposition(&self) -> CallDisposition {
        match self {
            Self::Forward(_) => CallDisposition::Forwarded,
            Self::Answer(_) => CallDisposition::Answered,
            Self::Ask(_) => CallDisposition::Asked,
        }
    }
}

/// Holds a blocked call that a person must decide about.
#[derive(Debug)]
#[non_exhaustive]
pub struct BlockedCall {
    /// The response to the model if the user is not asked at once.
    pub answer: Message,
    /// The request of the blocked call.
    pub request: ToolCallRequest,
    /// The content of the question to the person.
    pub escalation: Box<Escalation>,
}

/// Holds a call that is forwarded.
#[derive(Debug)]
#[non_exhaustive]
pub struct ForwardedCall {
    /// The message for the server.
    pub message: Message,
    /// The state that is needed when the response arrives.
    pub context: Box<CallContext>,
}

impl Gateway {
    /// Checks a call before it is forwarded: its arguments are checked, and the attempt is counted and recorded.
    /// The entry is durable before the call is forwarded.
    pub async fn admit(
        &self,
        client: &Client,
        upstream: &Upstream,
        request: impl Into<Box<ToolCallRequest>>,
    ) -> Admission {
        let request = request.into();
        let metrics = upstream.metrics.tool(&request.name);
        let replies = ReplyBuilder::new(self, client, &upstream.name, Some(upstream), &request);
        let admission = match replies {
            Ok(replies) => {
                let context = CallContext::new(request, replies, upstream, Arc::clone(&metrics));
                let step = AdmitStep { gateway: self, client, upstream };
                step.admit(Box::new(context)).await
            }
            Err(error) => Admission::Answer(without_call_id(&request, &error)),
        };
        metrics.count_call(admission.disposition());
        admission
    }
}

/// Checks one call before it is forwarded.
#[derive(Clone, Copy)]
struct AdmitStep<'a> {
    gateway: &'a Gateway,
    client: &'a Client,
    upstream: &'a Upstream,
}

impl AdmitStep<'_> {
    async fn admit(self, context: Box<CallContext>) -> Admission {
        let settings = &self.gateway.settings;
        let mode = if context.replies.facts.is_known_tool {
            settings.of(context.tool()).input
        } else {
            // The call cannot be forwarded, so it is always checked.
            CheckMode::Enforce
        };
        if self.has_definition_changed(&context) && settings.pinning == CheckMode::Enforce {
            let message = GatewayMessage::definition_changed(context.tool());
            return Box::pin(self.reject(&context, message)).await;
        }
        if mode == CheckMode::Off {
            return self.forward_uncounted(context).await;
        }
        Box::pin(self.check(context, mode)).await
    }

    async fn reject(self, context: &CallContext, message: GatewayMessage) -> Admission {
        let hide = self.upstream.tools.secret_schema(context.tool());
        let (gateway, request) = (self.gateway, &context.request);
        let answer = reject_unchecked(gateway, &context.replies, request, &message, hide);
        Admission::Answer(answer.await)
    }

    async fn check(self, mut context: Box<CallContext>, mode: CheckMode) -> Admission {
        let (gateway, request) = (self.gateway, &context.request);
        let line = match request.call_line(gateway.limits) {
            Ok(line) => line,
            Err(error) => {
                let message =
                    GatewayMessage::unreadable_arguments(context.tool(), &error.to_string());
                return self.reject(&context, message).await;
            }
        };
        let conversation =
            self.client.conversation(&self.upstream.name, request.conversation.as_deref());
        let line = line.with_conversation(conversation.clone());
        let recorder = gateway.recorder.as_ref().filter(|_| mode != CheckMode::Warn);
        let claim = recorder.and_then(|_| CorrectionClaim::of(request, line.arguments.as_ref()));
        let validation = if mode == CheckMode::Warn {
            &gateway.reported_validation
        } else {
            &gateway.applied_validation
        };
        let argument_bytes = request.arguments.as_deref().map_or(0, str::len);
        let judged = blocking::run(argument_bytes, || {
            check_call(self.upstream.tools.inputs(), line, validation, gateway.limits)
        });
        if mode == CheckMode::Warn {
            (context.warnings, context.notes) = remarks_on(&judged);
            return self.forward_uncounted(context).await;
        }
        let random = match answerback_store::system::random() {
            Ok(random) => random,
            Err(error) => return could_not_record(&context, error),
        };
        let Self { client, upstream, .. } = self;
        let step = CountStep { gateway, client, upstream, context: &context, random };
        // Corrected arguments are checked like any other arguments. A valid call uses up the correction.
        let corrected = match recorder.zip(claim) {
            Some((recorder, claim)) => {
                let correction =
                    step.check_correction(recorder, claim, judged.key(), conversation).await;
                match correction {
                    Some(CheckedCorrection { judged, permit }) => {
                        match step.count_correction(recorder, &judged, permit).await {
                            Ok(result) => result.map(|result| (judged, result)),
                            Err(answer) => return Admission::Answer(answer),
                        }
                    }
                    None => None,
                }
            }
            None => None,
        };
        let is_corrected = corrected.is_some();
        let (judged, result) = match corrected {
            Some(corrected) => corrected,
            None => match step.count(&judged).await {
                Ok(result) => (judged, result),
                Err(answer) => return Admission::Answer(answer),
            },
        };
        self.conclude(context, &judged, result, is_corrected)
    }

    /// Turns the outcome of a counted attempt into the decision about the call.
    fn conclude(
        self,
        mut context: Box<CallContext>,
        judged: &CheckedCall<'_>,
        result: AttemptResult,
        is_corrected: bool,
    ) -> Admission {
        let AttemptResult { attempt, changed_message, outcome, reply, receipt } = result;
        let gateway = self.gateway;
        // The tracker in memory logs and counts by itself.
        if gateway.recorder.is_some() {
            gateway.observe(&attempt, &outcome);
        }
        if let Some(reply) = reply {
            let answer = reply.into_message(receipt.as_ref());
            return match outcome {
                AttemptOutcome::Blocked(blocked) if blocked.is_new && receipt.is_some() => {
                    let (request, escalation) = (*context.request, blocked.escalation);
                    Admission::Ask(Box::new(BlockedCall { answer, request, escalation }))
                }
                _ => Admission::Answer(answer),
            };
        }
        let AttemptOutcome::Proceed(proceed) = &outcome else {
            // Only deliveries and decisions have an outcome without a response.
            return could_not_record(&context, "the call was not judged");
        };
        if let Some(recorder) = gateway.recorder.as_ref().filter(|_| proceed.resolved.is_some()) {
            // Open questions about the resolved case are withdrawn at once.
            recorder.notify_decided();
        }
        (context.warnings, context.notes) = remarks_on(judged);
        add_decision(&mut context, judged, proceed, is_corrected);
        let message = changed_message.unwrap_or_else(|| context.request.message.clone());
        self.forward(context, message, receipt.is_some())
    }

    /// Forwards a call that is not counted.
    async fn forward_uncounted(self, context: Box<CallContext>) -> Admission {
        let recorded = match &self.gateway.recorder {
            None => Ok(false),
            Some(recorder) => {
                let hide = self.upstream.tools.secret_schema(context.tool());
                Box::pin(record_request(recorder, &context, hide)).await
            }
        };
        match recorded {
            Ok(is_recorded) => {
                let message = context.request.message.clone();
                self.forward(context, message, is_recorded)
            }
            Err(error) => could_not_record(&context, error),
        }
    }

    fn forward(
        self,
        mut context: Box<CallContext>,
        message: Message,
        is_recorded: bool,
    ) -> Admission {
        if self.has_definition_changed(&context) && self.gateway.settings.pinning == CheckMode::Warn
        {
            context.warnings.push(ErrorObject::new(
                finding_code::DEFINITION_CHANGED,
                "The tool's definition is not the one that was first seen.",
            ));
        }
        if self.gateway.recorder.is_some() && !is_recorded {
            let text = "The request could not be recorded.";
            context.warnings.push(ErrorObject::new(finding_code::NOT_RECORDED, text));
        }
        Admission::Forward(ForwardedCall { message, context })
    }

    fn has_definition_changed(self, context: &CallContext) -> bool {
        self.upstream.has_changed(context.tool())
    }
}

fn could_not_record(context: &CallContext, reason: impl Into<RecordingFailure>) -> Admission {
    Admission::Answer(not_recorded(&context.replies, reason))
}

/// Adds a person's decision about earlier calls to the warnings and notes of a call that runs.
fn add_decision(
    context: &mut CallContext,
    judged: &CheckedCall<'_>,
    proceed: &Proceed,
    is_corrected: bool,
) {
    if proceed.waived {
        let text = "A person waived the check of these arguments.";
        let warning = error_of_findings(finding_code::CHECK_WAIVED, text, &judged.findings);
        context.warnings.push(warning);
    }
    if is_corrected && context.request.decided_case.is_some() {
        // The corrected call has already run, so the model must not send it again.
        context.notes.push(correction_note(judged));
    } else {
        let guidance = proceed.guidance.as_ref();
        context.notes.extend(guidance.map(|words| format!("A person answered: {words}")));
        context.notes.extend(proceed.correction.clone());
    }
}

/// Returns the warnings and notes for the result of a call that runs despite findings.
fn remarks_on(judged: &CheckedCall<'_>) -> (Vec<ErrorObject>, Vec<String>) {
    let mut warnings = Vec::new();
    if let Some(fault) = &judged.unchecked {
        let text = format!(
            "The tool's input schema cannot be used, so the arguments were not checked: {fault}"
        );
        warnings.push(ErrorObject::new(finding_code::INPUT_UNCHECKED, display_text(&text, 500)));
    }
    let problems = judged.schema().map(Schema::problems).unwrap_or_default();
    if let Some(first) = problems.first() {
        let more = match problems.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let text = format!(
            "A part of the tool's input schema is not checked as it is written: {first}{more}"
        );
        warnings.push(ErrorObject::new(finding_code::INPUT_UNCHECKED, display_text(&text, 500)));
    }
    if !judged.findings.is_empty() {
        let (code, text) = if judged.is_valid() && judged.repair.is_some() {
            (finding_code::REPAIR_APPLIED, "The arguments were repaired before the call.")
        } else {
            (finding_code::INVALID_PARAMETER, "Something was found in the arguments.")
        };
        warnings.push(error_of_findings(code, text, &judged.findings));
    }
    let mut notes: Vec<String> = judged.notes().into_iter().collect();
    if let Some(repair) = judged.repair.as_ref().filter(|_| judged.is_valid()) {
        notes.push(format!("The arguments were repaired before the call: {}.", repair.words()));
    }
    (warnings, notes)
}
