//! Checks calls before they are forwarded.

use std::sync::Arc;

use answerback::call::Schema;
use answerback::checker::{CallRequest, CheckedCall, check_call};
use answerback::contract::tool::ErrorObject;
use answerback::finding::{display_text, secrets};
use answerback::retry::{AttemptOutcome, Escalation, Permit};
use answerback_ledger::{Draft, Part, Token};
use answerback_mcp::wire::{Message, code};
use answerback_record::Hide;
use answerback_store::StoreError;
use serde_json::Value;

use crate::approved_correction::CorrectionClaim;
use crate::attempt::AttemptInput;
use crate::blocking;
use crate::call::ToolCallRequest;
use crate::counting::Counting;
use crate::envelope::{found, of_findings};
use crate::figures::ToolCounters;
use crate::gateway_reply::{GatewayMessage, ReplyBuilder, Told, name, no_call};
use crate::record::outcome as with_outcome;
use crate::rejection::Rejection;
use crate::settings::CheckMode;
use crate::task_notes::TaskScope;
use crate::tasks::TaskRole;
use crate::unrecorded::Unrecorded;
use crate::{Client, Gateway, Recorder, Upstream};

/// The size limit for corrected arguments that are repeated to the model, in bytes.
const CORRECTED_BYTES: usize = 1024;

/// Tells how the gateway proceeds with a call.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "these are all possible decisions about a call")]
pub enum Admission {
    /// The call is forwarded.
    Forward(Box<Forwarded>),
    /// The call does not run, and this is the response.
    Answer(Message),
    /// The call does not run and opened a case. The client may ask its user at once.
    Ask(Box<Asked>),
}

/// Holds a blocked call that a person must decide about.
#[derive(Debug)]
#[non_exhaustive]
pub struct Asked {
    /// The response to the model if the user is not asked at once.
    pub answer: Message,
    /// The blocked call.
    pub call: ToolCallRequest,
    /// The content of the question to the person.
    pub escalation: Box<Escalation>,
}

/// Holds a call that is forwarded.
#[derive(Debug)]
#[non_exhaustive]
pub struct Forwarded {
    /// The message for the server.
    pub message: Message,
    /// The state that is needed when the response arrives.
    pub running: Running,
}

/// Holds a call in progress.
#[derive(Debug)]
pub struct Running {
    /// The call is boxed because it is large and moved often.
    pub(crate) call: Box<ToolCallRequest>,
    pub(crate) teller: ReplyBuilder,
    /// True if the tool is annotated as read-only or idempotent, so that repeating the call is safe.
    pub(crate) may_run_twice: bool,
    /// The warnings for the result's envelope.
    pub(crate) warnings: Vec<ErrorObject>,
    /// The notes for the model that are added to the result.
    pub(crate) notes: Vec<String>,
    /// The counters for the result.
    pub(crate) figures: Arc<ToolCounters>,
    /// The call's relation to a task, if it has one.
    pub(crate) task: Option<Box<TaskRole>>,
    /// Tells which connection's tasks the call can see.
    pub(crate) door: TaskScope,
}

impl Running {
    /// Returns the id of the client's request.
    pub fn id(&self) -> &answerback_mcp::wire::Id {
        &self.call.id
    }
}

impl Gateway {
    /// Checks a call before it is forwarded: its arguments are checked, and the attempt is counted and recorded.
    /// The entry is durable before the call is forwarded.
    pub async fn admit(
        &self,
        client: &Client,
        upstream: &Upstream,
        call: impl Into<Box<ToolCallRequest>>,
    ) -> Admission {
        let call = call.into();
        let figures = upstream.figures.tool(&call.name);
        let admission = match ReplyBuilder::new(self, client, &upstream.name, Some(upstream), &call)
        {
            Ok(teller) => {
                Box::new(CallAdmission { gateway: self, client, upstream, teller })
                    .admit(call)
                    .await
            }
            Err(error) => Admission::Answer(without_id(&call, &error)),
        };
        figures.call(&admission);
        admission
    }

    /// Rejects a call that cannot be checked, because the server does not list its tools.
    pub(crate) async fn refuse_unlisted(
        &self,
        client: &Client,
        server: &str,
        call: &ToolCallRequest,
        reason: &str,
    ) -> Message {
        let said = GatewayMessage::unlisted(&call.name, reason);
        self.turn_away(client, server, None, call, &said).await
    }

    /// Rejects a call because too many calls are running.
    pub(crate) async fn refuse_busy(
        &self,
        client: &Client,
        server: &str,
        upstream: Option<&Upstream>,
        call: &ToolCallRequest,
    ) -> Message {
        let said = GatewayMessage::busy(&call.name, self.settings.most_calls);
        self.turn_away(client, server, upstream, call, &said).await
    }

    async fn turn_away(
        &self,
        client: &Client,
        server: &str,
        upstream: Option<&Upstream>,
        call: &ToolCallRequest,
        said: &GatewayMessage,
    ) -> Message {
        match ReplyBuilder::new(self, client, server, upstream, call) {
            Ok(teller) => {
                let hide = upstream.and_then(|upstream| upstream.tools.hide(&call.name));
                refuse(self, &teller, call, said, hide).await
            }
            Err(error) => without_id(call, &error),
        }
    }
}

/// Returns the error for a call that gets no id, because the system has no randomness. Without an id the call
/// cannot be recorded.
fn without_id(call: &ToolCallRequest, error: &std::io::Error) -> Message {
    tracing::error!(%error, "there is no randomness for the id of a call");
    let text = "there is no randomness for the id of the call";
    Message::error(Some(&call.id), code::INTERNAL_ERROR, text, None)
}

/// Rejects a call without checking it and records the response.
async fn refuse(
    gateway: &Gateway,
    teller: &ReplyBuilder,
    call: &ToolCallRequest,
    said: &GatewayMessage,
    hide: Option<Hide<'_>>,
) -> Message {
    let told = teller.says(said);
    let Some(recorder) = &gateway.recorder else { return told.message(None) };
    let write = || {
        let code = Token::new(said.code()).into_iter();
        let draft = teller.about.on(Draft::validation(1, 1)).with_codes(code);
        let mut parts = parts(recorder, call, None, hide)?;
        parts.extend(recorder.parts("delivered", &told.document(), None)?);
        recorder
            .store()
            .append(parts.into_iter().fold(with_outcome(draft, "refused"), Draft::with_part))
    };
    let written = match write() {
        Ok(ticket) => ticket.await.map(|committed| committed.value),
        Err(error) => Err(error),
    };
    match written {
        Ok(appended) => {
            told.message(Some(recorder.receipt(&appended, &teller.about.id.to_string())))
        }
        Err(error) => match recorder.store().excuse(error) {
            Ok(()) => told.message(None),
            Err(error) => could_not_record(teller, error),
        },
    }
}

fn could_not_record(teller: &ReplyBuilder, reason: impl Into<Unrecorded>) -> Message {
    let Unrecorded { public, detail } = reason.into();
    tracing::warn!(tool_name = %name(teller.tool()), reason = %detail, "a call was not run, because it could not be recorded");
    teller.says(&GatewayMessage::unavailable(teller.tool(), &public)).message(None)
}

/// Checks one call before it is forwarded.
struct CallAdmission<'a> {
    gateway: &'a Gateway,
    client: &'a Client,
    upstream: &'a Upstream,
    teller: ReplyBuilder,
}

/// Holds the outcome of a counted call.
struct CountedCall {
    outcome: AttemptOutcome,
    /// The response to the client, if the call does not run.
    told: Option<Told>,
    /// The receipt of the entry, if there is one.
    receipt: Option<Value>,
}

/// Holds a counted call. The message is present if repaired or corrected arguments replace the original ones.
type Weighed = (AttemptInput, Option<Message>, CountedCall);

/// Holds a call that is ready to be counted.
struct Ready {
    attempt: AttemptInput,
    /// The message with repaired or corrected arguments, if there is one.
    forwarded: Option<Message>,
    own_answer: Arc<Rejection>,
}

impl CallAdmission<'_> {
    async fn admit(self: Box<Self>, call: Box<ToolCallRequest>) -> Admission {
        let gateway = self.gateway;
        let mode = if self.teller.about.tool.1 {
            gateway.settings.of(&call.name).input
        } else {
            // The call cannot be forwarded, so it is always checked.
            CheckMode::Enforce
        };
        if self.is_changed(&call) && gateway.settings.pinning == CheckMode::Enforce {
            return Box::pin(self.refuse(&call, GatewayMessage::changed(&call.name))).await;
        }
        if mode == CheckMode::Off {
            return self.forward(call, Vec::new(), Vec::new()).await;
        }
        Box::pin(self.check(call, mode)).await
    }

    async fn refuse(&self, call: &ToolCallRequest, said: GatewayMessage) -> Admission {
        let hide = self.upstream.tools.hide(&call.name);
        Admission::Answer(refuse(self.gateway, &self.teller, call, &said, hide).await)
    }

    async fn check(self: Box<Self>, call: Box<ToolCallRequest>, mode: CheckMode) -> Admission {
        let gateway = self.gateway;
        let line = match call.line(gateway.limits) {
            Ok(line) => line,
            Err(error) => {
                let said = GatewayMessage::unread_arguments(&call.name, &error.to_string());
                return self.refuse(&call, said).await;
            }
        };
        let conversation =
            self.client.conversation(&self.upstream.name, call.conversation.as_deref());
        let line = line.with_conversation(conversation.clone());
        let much = call.arguments.as_deref().map_or(0, str::len);
        let inputs = self.upstream.tools.inputs();
        let validation = if mode == CheckMode::Warn {
            &gateway.reported_validation
        } else {
            &gateway.applied_validation
        };
        let judged = blocking::work(much, || check_call(inputs, line, validation, gateway.limits));
        if mode == CheckMode::Warn {
            let (warnings, notes) = warned(&judged);
            return self.forward(call, warnings, notes).await;
        }
        let random = match answerback_record::system::random() {
            Ok(random) => random,
            Err(error) => return self.could_not_record(error),
        };
        // Corrected arguments are checked like any other arguments. A valid call uses up the correction.
        let permitted = match gateway.recorder.as_ref().zip(CorrectionClaim::of(&call)) {
            Some((recorder, claim)) => {
                let permitted = recorder.permitted(claim, judged.key()).await;
                permitted.map(|(permit, arguments)| (recorder, permit, arguments))
            }
            None => None,
        };
        let fitting = permitted.and_then(|(recorder, permit, arguments)| {
            let line = CallRequest::new(&call.name, arguments).with_id(call.id.as_json());
            let line = line.with_conversation(conversation);
            let much = line.arguments.as_ref().map_or(0, blocking::text_in);
            let corrected = blocking::work(much, || {
                check_call(inputs, line, &gateway.validation, gateway.limits)
            });
            corrected.is_valid().then_some((recorder, corrected, permit))
        });
        let permitted = match fitting {
            Some((recorder, corrected, permit)) => {
                match self.weigh_permitted(recorder, &call, &corrected, permit, random).await {
                    Ok(weighed) => weighed.map(|weighed| (corrected, weighed)),
                    Err(admission) => return admission,
                }
            }
            None => None,
        };
        let is_permitted = permitted.is_some();
        let (judged, weighed) = match permitted {
            Some(permitted) => permitted,
            None => match self.weigh(&call, &judged, random).await {
                Ok(weighed) => (judged, weighed),
                Err(admission) => return admission,
            },
        };
        let (attempt, forwarded, counted) = weighed;
        let CountedCall { outcome, told, receipt } = counted;
        let is_recorded = receipt.is_some();
        // The tracker in memory logs and counts by itself.
        if gateway.recorder.is_some() {
            gateway.observe(&attempt, &outcome);
        }
        if let Some(told) = told {
            let answer = told.message(receipt);
            return match outcome {
                AttemptOutcome::Blocked(blocked) if blocked.is_new && is_recorded => {
                    let escalation = blocked.escalation;
                    Admission::Ask(Box::new(Asked { answer, call: *call, escalation }))
                }
                _ => Admission::Answer(answer),
            };
        }
        let AttemptOutcome::Proceed(proceed) = &outcome else {
            // Only deliveries and decisions have an outcome without a response.
            return self.could_not_record("the call was not judged");
        };
        if let Some(recorder) = gateway.recorder.as_ref().filter(|_| proceed.resolved.is_some()) {
            // Open questions about the resolved case are withdrawn at once.
            recorder.tell_decided();
        }
        let (mut warnings, mut notes) = warned(&judged);
        if proceed.waived {
            let text = "A person waived the check of these arguments.";
            warnings.push(of_findings(found::CHECK_WAIVED, text, &judged.findings));
        }
        if is_permitted && call.waited_for.is_some() {
            // The corrected call has already run, so the model must not send it again.
            notes.push(corrected(&judged));
        } else {
            let guidance = proceed.guidance.as_ref();
            notes.extend(guidance.map(|words| format!("A person answered: {words}")));
            notes.extend(proceed.correction.clone());
        }
        let message = forwarded.unwrap_or_else(|| call.message.clone());
        Admission::Forward(Box::new(self.run(call, message, warnings, notes, is_recorded)))
    }

    /// Prepares the attempt to count and the message to forward.
    fn ready(
        &self,
        call: &ToolCallRequest,
        judged: &CheckedCall<'_>,
        permit: Option<Permit>,
        random: [u8; 10],
    ) -> Result<Ready, Admission> {
        let correlation_id = self.teller.correlation_id.to_string();
        let attempt = AttemptInput::of(
            judged,
            self.client.turn(call.arrived.unwrap_or_else(|| self.client.answers())),
            &correlation_id,
            random,
        );
        let is_changed = judged.is_valid() && judged.repair.is_some() || permit.is_some();
        let attempt = attempt.with_permit(permit);
        let changed = judged.arguments.value().filter(|_| is_changed);
        let forwarded = changed.map(|arguments| call.with_arguments(arguments)).transpose();
        let forwarded =
            forwarded.map_err(|error| Admission::Answer(no_call(call, &error.to_string())))?;
        let own_answer = Arc::new(Rejection::new(self.gateway, &self.teller, call, judged));
        Ok(Ready { attempt, forwarded, own_answer })
    }

    /// Counts a call with a person's permit. Returns `None` if another call used the permit first.
    async fn weigh_permitted(
        &self,
        recorder: &Recorder,
        call: &ToolCallRequest,
        judged: &CheckedCall<'_>,
        permit: Permit,
        random: [u8; 10],
    ) -> Result<Option<Weighed>, Admission> {
        let ready = self.ready(call, judged, Some(permit), random)?;
        match self.count(recorder, &ready, call).await {
            Ok(counted) => Ok(Some((ready.attempt, ready.forwarded, counted))),
            Err(StoreError::Unit(_)) => Ok(None),
            Err(error) => Err(match recorder.store().excuse(error) {
                // Without a record, arguments that a person allowed once could run again.
                Ok(()) => self.could_not_record("what a person corrected runs once"),
                Err(error) => self.could_not_record(error),
            }),
        }
    }

    /// Counts a call as it was received.
    async fn weigh(
        &self,
        call: &ToolCallRequest,
        judged: &CheckedCall<'_>,
        random: [u8; 10],
    ) -> Result<Weighed, Admission> {
        let ready = self.ready(call, judged, None, random)?;
        let unrecorded = |outcome: AttemptOutcome| CountedCall {
            told: ready.own_answer.told(&outcome, false),
            outcome,
            receipt: None,
        };
        let counted = match &self.gateway.recorder {
            None => {
                let (attempt, now) = (&ready.attempt, answerback_record::system::now());
                unrecorded(self.gateway.tracker.call(&attempt.key, &attempt.call(None), now))
            }
            Some(recorder) => match self.count(recorder, &ready, call).await {
                Ok(counted) => counted,
                Err(error) => match recorder.store().excuse(error) {
                    // The configuration allows unrecorded calls. The result of the check still applies.
                    Ok(()) => {
                        let now = answerback_record::system::now();
                        unrecorded(judged.as_attempt(1, now, random))
                    }
                    Err(error) => return Err(self.could_not_record(error)),
                },
            },
        };
        Ok((ready.attempt, ready.forwarded, counted))
    }

    /// Counts the attempt and records it with its response, in one transaction.
    async fn count(
        &self,
        recorder: &Recorder,
        ready: &Ready,
        call: &ToolCallRequest,
    ) -> Result<CountedCall, StoreError> {
        let hide = self.upstream.tools.hide(&call.name);
        let parts = parts(recorder, call, ready.forwarded.as_ref(), hide)?;
        let (attempt, about) = (ready.attempt.clone(), self.teller.about.clone());
        let counting = Counting { attempt, about, parts, is_awaited: false, entry };
        let own_answer = Arc::clone(&ready.own_answer);
        let answer = move |outcome: &AttemptOutcome| {
            let told = own_answer.told(outcome, true);
            (told.as_ref().map(Told::document), told)
        };
        let counted = counting.count(recorder, answer).await?;
        let receipt = recorder.receipt(&counted.appended, &self.teller.about.id.to_string());
        Ok(CountedCall { outcome: counted.outcome, told: counted.answer, receipt: Some(receipt) })
    }

    /// Forwards a call that is not counted.
    async fn forward(
        self: Box<Self>,
        call: Box<ToolCallRequest>,
        warnings: Vec<ErrorObject>,
        notes: Vec<String>,
    ) -> Admission {
        let recorded = match &self.gateway.recorder {
            None => Ok(false),
            Some(recorder) => {
                let hide = self.upstream.tools.hide(&call.name);
                Box::pin(append_request(recorder, &self.teller, &call, hide)).await
            }
        };
        match recorded {
            Ok(is_recorded) => {
                let message = call.message.clone();
                Admission::Forward(Box::new(self.run(call, message, warnings, notes, is_recorded)))
            }
            Err(error) => self.could_not_record(error),
        }
    }

    fn run(
        self: Box<Self>,
        call: Box<ToolCallRequest>,
        message: Message,
        mut warnings: Vec<ErrorObject>,
        notes: Vec<String>,
        is_recorded: bool,
    ) -> Forwarded {
        if self.is_changed(&call) && self.gateway.settings.pinning == CheckMode::Warn {
            warnings.push(ErrorObject::new(
                found::DEFINITION_CHANGED,
                "The tool's definition is not the one that was first seen.",
            ));
        }
        if self.gateway.recorder.is_some() && !is_recorded {
            warnings
                .push(ErrorObject::new(found::NOT_RECORDED, "The request could not be recorded."));
        }
        let may_run_twice = self.upstream.tools.may_run_twice(&call.name);
        let figures = self.upstream.figures.tool(&call.name);
        let running = Running {
            call,
            teller: self.teller,
            may_run_twice,
            warnings,
            notes,
            figures,
            task: None,
            door: TaskScope::default(),
        };
        Forwarded { message, running }
    }

    fn is_changed(&self, call: &ToolCallRequest) -> bool {
        self.upstream.has_changed(&call.name)
    }

    fn could_not_record(&self, reason: impl Into<Unrecorded>) -> Admission {
        Admission::Answer(could_not_record(&self.teller, reason))
    }
}

/// Records a forwarded call. Returns false if that failed and the configuration tolerates it.
async fn append_request(
    recorder: &Recorder,
    teller: &ReplyBuilder,
    call: &ToolCallRequest,
    hide: Option<Hide<'_>>,
) -> Result<bool, StoreError> {
    let draft = with_outcome(teller.about.on(Draft::request()), "forwarded");
    let parts = parts(recorder, call, None, hide);
    let written = match parts
        .and_then(|parts| recorder.store().append(parts.into_iter().fold(draft, Draft::with_part)))
    {
        Ok(ticket) => ticket.await.map(|_| true),
        Err(error) => Err(error),
    };
    written.or_else(|error| recorder.store().excuse(error).map(|()| false))
}

/// Returns the parts of an entry about a call: the received request, and the sent one if it differs.
pub(crate) fn parts(
    recorder: &Recorder,
    call: &ToolCallRequest,
    sent: Option<&Message>,
    hide: Option<Hide<'_>>,
) -> Result<Vec<Part>, StoreError> {
    let mut parts = recorder.parts("seen", &call.params, hide)?;
    if let Some(sent) = sent {
        let params = answerback_mcp::wire::Object::read(sent.text())
            .ok()
            .and_then(|message| message.get("params"))
            .unwrap_or("null");
        parts.extend(recorder.parts("sent", params, hide)?);
    }
    Ok(parts)
}

/// Builds the entry of a call from its outcome.
fn entry(attempt: &AttemptInput, outcome: &AttemptOutcome) -> Draft {
    match outcome {
        AttemptOutcome::Proceed(proceed) => {
            with_outcome(Draft::request(), if proceed.waived { "waived" } else { "forwarded" })
        }
        _ => attempt.entry(outcome),
    }
}

/// Returns the note for the model about a call that ran with corrected arguments while it was open.
fn corrected(judged: &CheckedCall<'_>) -> String {
    let text = "A person corrected the arguments of this call before it ran";
    let arguments = judged.arguments.value().map(|arguments| {
        blocking::work(blocking::text_in(arguments), || {
            let shown = judged.schema().map(|schema| schema.without_secrets(arguments));
            secrets::redact_value(shown.as_deref().unwrap_or(arguments)).to_string()
        })
    });
    match arguments.filter(|arguments| arguments.len() <= CORRECTED_BYTES) {
        Some(arguments) => format!("{text}: {arguments}"),
        None => format!("{text}."),
    }
}

/// Returns the warnings and notes for the result of a call that runs despite findings.
fn warned(judged: &CheckedCall<'_>) -> (Vec<ErrorObject>, Vec<String>) {
    let mut warnings = Vec::new();
    if let Some(fault) = &judged.unchecked {
        let text = format!(
            "The tool's input schema cannot be used, so the arguments were not checked: {fault}"
        );
        warnings.push(ErrorObject::new(found::INPUT_UNCHECKED, display_text(&text, 500)));
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
        warnings.push(ErrorObject::new(found::INPUT_UNCHECKED, display_text(&text, 500)));
    }
    if !judged.findings.is_empty() {
        let (code, text) = if judged.is_valid() && judged.repair.is_some() {
            (found::REPAIR_APPLIED, "The arguments were repaired before the call.")
        } else {
            (found::INVALID_PARAMETER, "Something was found in the arguments.")
        };
        warnings.push(of_findings(code, text, &judged.findings));
    }
    let mut notes: Vec<String> = judged.notes().into_iter().collect();
    if let Some(repair) = judged.repair.as_ref().filter(|_| judged.is_valid()) {
        notes.push(format!("The arguments were repaired before the call: {}.", repair.words()));
    }
    (warnings, notes)
}
