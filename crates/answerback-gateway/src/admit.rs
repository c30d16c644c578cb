//! Before a call is forwarded.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use answerback::contract::tool::ErrorObject;
use answerback::finding::shown_text;
use answerback::judge::{CallLine, Judged, judge};
use answerback::retry::{Escalation, Outcome};
use answerback::{Timestamp, UuidV4};
use answerback_ledger::{Draft, Part, Token};
use answerback_record::Hide;
use answerback_store::{Appended, StoreError, entry_reference};
use serde_json::{Map, json};

use crate::attempt::Attempt;
use crate::call::ToolCall;
use crate::envelope::{Enveloped, found, of_findings};
use crate::figures::ToolFigures;
use crate::opening::Opening;
use crate::record::{About, outcome as with_outcome};
use crate::settings::{CheckMode, EnvelopeMode, UnknownTool};
use crate::told::{self, Class, Retry, meta, name};
use crate::{Client, Gateway, Recorder, Upstream};
use answerback_mcp::wire::Message;

/// What becomes of a call.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a call runs or it does not")]
pub enum Admission {
    /// It runs.
    Forward(Box<Forwarded>),
    /// It does not; this is its answer.
    Answer(Message),
    /// It does not, and with this call a case was opened. The client may ask the person at once.
    Ask(Box<Asked>),
}

/// A call that a person has to decide about.
#[derive(Debug)]
#[non_exhaustive]
pub struct Asked {
    /// What the model is told where nobody is asked at once.
    pub answer: Message,
    /// The call.
    pub call: ToolCall,
    /// What the person is asked.
    pub escalation: Box<Escalation>,
}

/// A call that runs.
#[derive(Debug)]
#[non_exhaustive]
pub struct Forwarded {
    /// What the server gets.
    pub message: Message,
    /// What has to be known when its answer comes.
    pub running: Running,
}

/// A call that is under way.
#[derive(Debug)]
pub struct Running {
    pub(crate) call: ToolCall,
    pub(crate) about: About,
    pub(crate) correlation_id: UuidV4,
    pub(crate) started: Instant,
    /// What the envelope of its result warns of.
    pub(crate) warnings: Vec<ErrorObject>,
    /// What the model is told beside its result.
    pub(crate) notes: Vec<String>,
    /// Where its result is counted.
    pub(crate) figures: Arc<ToolFigures>,
}

impl Running {
    /// The id of the client's request.
    pub fn id(&self) -> &answerback_mcp::wire::Id {
        &self.call.id
    }
}

impl Gateway {
    /// Looks at a call before it is forwarded: checks its arguments, counts the attempt, and writes it down. The
    /// call is durable when this says that it runs.
    pub async fn admit(&self, client: &Client, upstream: &Upstream, call: ToolCall) -> Admission {
        let started = Instant::now();
        let Ok(correlation_id) = answerback_record::surroundings::uuid() else {
            return Admission::Answer(told::unavailable(
                &call,
                "",
                "there is no randomness for an id",
            ));
        };
        let tool = (call.name.clone(), upstream.tools.contains(&call.name));
        let about = About {
            id: About::id_of(&correlation_id),
            upstream: upstream.name.clone(),
            principal: client.principal().to_owned(),
            tool,
        };
        let figures = upstream.figures.tool(&call.name);
        let desk = Desk { gateway: self, client, upstream, correlation_id, about, started };
        let admission = desk.admit(call).await;
        figures.call(&admission);
        admission
    }
}

/// One call on its way in.
struct Desk<'a> {
    gateway: &'a Gateway,
    client: &'a Client,
    upstream: &'a Upstream,
    correlation_id: UuidV4,
    about: About,
    started: Instant,
}

impl Desk<'_> {
    async fn admit(self, call: ToolCall) -> Admission {
        let gateway = self.gateway;
        let mode = if self.about.tool.1 {
            gateway.settings.of(&call.name).input
        } else {
            // There is nothing to forward the call to.
            CheckMode::Enforce
        };
        if self.is_changed(&call) && gateway.settings.pinning == CheckMode::Enforce {
            return Box::pin(self.refuse_changed(&call)).await;
        }
        if mode == CheckMode::Off {
            return self.forward(call, None, Vec::new(), Vec::new()).await;
        }
        Box::pin(self.check(call, mode)).await
    }

    async fn check(self, call: ToolCall, mode: CheckMode) -> Admission {
        let gateway = self.gateway;
        let line = match call.line(gateway.limits) {
            Ok(line) => line,
            Err(error) => {
                return Admission::Answer(told::error(&call, &error.to_string(), Map::new()));
            }
        };
        let conversation =
            self.client.conversation(&self.upstream.name, call.conversation.as_deref());
        let line = line.with_conversation(conversation.clone());
        let judged = judge(self.upstream.tools.inputs(), line, &gateway.validation, gateway.limits);
        if mode == CheckMode::Warn {
            let (warnings, notes) = warned(&judged);
            return self.forward(call, None, warnings, notes).await;
        }
        let random = match answerback_record::surroundings::random() {
            Ok(random) => random,
            Err(error) => return self.could_not_record(&call, &error.to_string()),
        };
        // What a person corrected is judged like any other call.
        let (judged, permit) = match gateway.permitted(&call, judged.key()).await {
            Some((permit, arguments)) => {
                let line = CallLine::new(&call.name, arguments).with_id(call.id.as_json());
                let line = line.with_conversation(conversation);
                let inputs = self.upstream.tools.inputs();
                (judge(inputs, line, &gateway.validation, gateway.limits), Some(permit))
            }
            None => (judged, None),
        };
        let correlation_id = self.correlation_id.to_string();
        let attempt = Attempt::of(
            &judged,
            self.client.turn(call.arrived.unwrap_or_else(|| self.client.answers())),
            &correlation_id,
            random,
        );
        let attempt = attempt.with_permit(permit.clone());
        let is_changed = judged.is_valid() && judged.repair.is_some() || permit.is_some();
        let changed = judged.arguments.value().filter(|_| is_changed);
        let forwarded = match changed.map(|arguments| call.with_arguments(arguments)).transpose() {
            Ok(forwarded) => forwarded,
            Err(error) => {
                return Admission::Answer(told::error(&call, &error.to_string(), Map::new()));
            }
        };
        let counted = match &gateway.recorder {
            Some(recorder) => {
                let hide = judged.schema().map(|schema| Hide { member: "arguments", schema });
                self.count(recorder, &attempt, &call, forwarded.as_ref(), hide).await
            }
            None => {
                let outcome = gateway.tracker.call(
                    &attempt.key,
                    &attempt.call(None),
                    answerback_record::surroundings::now(),
                );
                Ok((outcome, None))
            }
        };
        let (outcome, is_recorded) = match counted {
            Ok((outcome, appended)) => (outcome, appended.is_some()),
            Err(error) => {
                match gateway.recorder.as_ref().map(|recorder| recorder.store().excuse(error)) {
                    // What a person allowed once would run again.
                    Some(Ok(())) if permit.is_some() => {
                        return self.could_not_record(&call, "what a person corrected runs once");
                    }
                    // Unrecorded, by configuration: what the check says still holds.
                    Some(Ok(())) => (
                        judged.as_attempt(1, answerback_record::surroundings::now(), random),
                        false,
                    ),
                    Some(Err(error)) => return self.could_not_record(&call, &error.to_string()),
                    None => return self.could_not_record(&call, "there is no record"),
                }
            }
        };
        // The tracker in memory tells operators itself.
        if gateway.recorder.is_some() {
            gateway.observe(&attempt, &outcome);
        }
        let asked = match &outcome {
            Outcome::Blocked(blocked) if blocked.is_new && is_recorded => {
                Some(blocked.escalation.clone())
            }
            _ => None,
        };
        let Outcome::Proceed(proceed) = &outcome else {
            let answer = self.answer(&call, judged, outcome);
            return match asked {
                Some(escalation) => Admission::Ask(Box::new(Asked { answer, call, escalation })),
                None => Admission::Answer(answer),
            };
        };
        let (mut warnings, mut notes) = warned(&judged);
        if proceed.waived {
            let text = "A person waived the check of these arguments.";
            warnings.push(of_findings(found::CHECK_WAIVED, text, &judged.findings));
        }
        notes.extend(proceed.guidance.as_ref().map(|words| format!("A person answered: {words}")));
        let message = forwarded.unwrap_or_else(|| call.message.clone());
        Admission::Forward(Box::new(self.run(call, message, warnings, notes, is_recorded)))
    }

    /// Counts the attempt and writes it down, in one transaction.
    async fn count(
        &self,
        recorder: &Recorder,
        attempt: &Attempt,
        call: &ToolCall,
        sent: Option<&Message>,
        hide: Option<Hide<'_>>,
    ) -> Result<(Outcome, Option<Appended>), StoreError> {
        let parts = Self::parts(recorder, call, sent, hide)?;
        let weight = parts.iter().map(|part| part.bytes().len()).sum::<usize>() + 4096;
        let (about, attempt, seal) = (self.about.clone(), attempt.clone(), recorder.seal());
        let ticket = recorder.store().write_weighing(weight, move |transaction| {
            attempt.count(transaction, |transaction, outcome| {
                let draft = about.on(entry(outcome, &attempt));
                let draft = parts.iter().cloned().fold(draft, Draft::with_part);
                let appended = transaction.append(&draft)?;
                let reference = entry_reference(appended.index);
                let case = Opening { attempt: &attempt, about: &about, seal: seal.as_deref() };
                case.open(transaction, outcome, &reference)?;
                Ok((appended, reference))
            })
        })?;
        let (outcome, appended) = ticket.await?.value;
        Ok((outcome, Some(appended)))
    }

    /// Forwards a call that is not counted.
    async fn forward(
        self,
        call: ToolCall,
        hide: Option<Hide<'_>>,
        warnings: Vec<ErrorObject>,
        notes: Vec<String>,
    ) -> Admission {
        let recorded = match &self.gateway.recorder {
            None => Ok(false),
            Some(recorder) => match self.append_request(recorder, &call, hide).await {
                Ok(()) => Ok(true),
                Err(error) => recorder.store().excuse(error).map(|()| false),
            },
        };
        match recorded {
            Ok(is_recorded) => {
                let message = call.message.clone();
                Admission::Forward(Box::new(self.run(call, message, warnings, notes, is_recorded)))
            }
            Err(error) => self.could_not_record(&call, &error.to_string()),
        }
    }

    async fn append_request(
        &self,
        recorder: &Recorder,
        call: &ToolCall,
        hide: Option<Hide<'_>>,
    ) -> Result<(), StoreError> {
        let draft = with_outcome(self.about.on(Draft::request()), "forwarded");
        let parts = Self::parts(recorder, call, None, hide)?;
        let draft = parts.into_iter().fold(draft, Draft::with_part);
        recorder.store().append(draft)?.await.map(|_| ())
    }

    fn parts(
        recorder: &Recorder,
        call: &ToolCall,
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

    fn run(
        self,
        call: ToolCall,
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
        let (about, correlation_id, started) = (self.about, self.correlation_id, self.started);
        let figures = self.upstream.figures.tool(&call.name);
        let running = Running { call, about, correlation_id, started, warnings, notes, figures };
        Forwarded { message, running }
    }

    fn is_changed(&self, call: &ToolCall) -> bool {
        self.upstream.has_changed(&call.name)
    }

    /// A tool that is not the one somebody allowed does not run.
    async fn refuse_changed(self, call: &ToolCall) -> Admission {
        if let Some(recorder) = &self.gateway.recorder {
            let code = Token::new(found::DEFINITION_CHANGED).into_iter();
            let draft = self.about.on(Draft::validation(1, 1)).with_codes(code);
            let draft = with_outcome(draft, "blocked");
            let written = match Self::parts(recorder, call, None, None) {
                Ok(parts) => {
                    let draft = parts.into_iter().fold(draft, Draft::with_part);
                    match recorder.store().append(draft) {
                        Ok(ticket) => ticket.await.map(|_| ()),
                        Err(error) => Err(error),
                    }
                }
                Err(error) => Err(error),
            };
            if let Err(error) = written.or_else(|error| recorder.store().excuse(error)) {
                return self.could_not_record(call, &error.to_string());
            }
        }
        let correlation_id = self.correlation_id.to_string();
        let code = found::DEFINITION_CHANGED;
        let retry =
            Retry { class: Class::Stop, code, attempt: None, correlation_id: &correlation_id };
        let text = format!(
            "The tool {} was not run: its definition is not the one that was first seen. A person has to look at \
             the change and accept it. Do not call it again for this task.",
            name(&call.name)
        );
        Admission::Answer(told::result(call, text, told::facts(&retry)))
    }

    fn could_not_record(&self, call: &ToolCall, reason: &str) -> Admission {
        tracing::warn!(tool_name = %name(&call.name), reason, "a call was not run, because it could not be recorded");
        let correlation_id = self.correlation_id.to_string();
        Admission::Answer(told::unavailable(call, &correlation_id, reason))
    }

    /// What the model is told of a call that does not run.
    fn answer(&self, call: &ToolCall, judged: Judged<'_>, outcome: Outcome) -> Message {
        let is_retry = matches!(outcome, Outcome::Retry(_));
        let answer = judged.answer(outcome);
        let errors = answer.errors;
        let code = errors.first().map_or("VAL-003", |finding| finding.error_code.as_ref());
        let correlation_id = self.correlation_id.to_string();
        let retry = Retry {
            class: if is_retry { Class::Arguments } else { Class::Stop },
            code,
            attempt: Some((answer.attempt, answer.max_attempts)),
            correlation_id: &correlation_id,
        };
        let mut added = told::facts(&retry);
        let mut content = answer.result.map(|result| result.content).unwrap_or_default();
        if let Some(escalation) = &answer.escalation
            && self.gateway.recorder.is_some()
        {
            let case = &escalation.id;
            // Writing to a String cannot fail.
            let _ = write!(
                content,
                "\n\nA person was asked: case {case}. Do not call {} again until they have answered (answerback inbox \
                 show {case}).",
                name(&call.name)
            );
        }
        if self.gateway.settings.envelope != EnvelopeMode::Off {
            let (code, text) = if self.about.tool.1 {
                let text = "The arguments do not fit the tool's input schema.";
                (found::INVALID_PARAMETER, text)
            } else {
                (found::UNKNOWN_TOOL, "There is no such tool.")
            };
            let error = of_findings(code, text, &errors);
            let envelope = self.enveloped(&call.name, &correlation_id).envelope(
                vec![error],
                Vec::new(),
                now(),
            );
            if let Some(envelope) = envelope {
                added.insert(meta::ENVELOPE.to_owned(), envelope.to_document());
            }
        }
        if !self.about.tool.1
            && is_retry
            && self.gateway.settings.unknown_tool == UnknownTool::Error
        {
            return told::error(call, &content, added);
        }
        told::result(call, content, added)
    }

    fn enveloped<'e>(&'e self, tool: &'e str, correlation_id: &'e str) -> Enveloped<'e> {
        Enveloped {
            tool,
            version: &self.upstream.version,
            upstream: &self.upstream.name,
            host: self.gateway.host,
            correlation_id,
            took: self.started.elapsed(),
            data: json!({}),
        }
    }
}

fn now() -> Timestamp {
    answerback_record::surroundings::now()
}

/// The entry about a call, by what became of it.
fn entry(outcome: &Outcome, attempt: &Attempt) -> Draft {
    let codes = attempt.findings.iter().filter(|finding| finding.is_error());
    let codes = codes.filter_map(|finding| Token::new(&finding.error_code).ok());
    match outcome {
        Outcome::Proceed(proceed) => {
            with_outcome(Draft::request(), if proceed.waived { "waived" } else { "forwarded" })
        }
        Outcome::Retry(retry) => with_outcome(
            Draft::validation(retry.attempt, retry.max_attempts).with_codes(codes),
            "retry",
        ),
        Outcome::Blocked(blocked) => {
            let draft = Draft::validation(blocked.attempt, blocked.max_attempts);
            with_outcome(draft.with_codes(codes), "blocked")
        }
        _ => {
            let most = attempt.policy.max_attempts();
            with_outcome(Draft::validation(most, most).with_codes(codes), "stopped")
        }
    }
}

/// What goes with the result of a call that runs though something was found.
fn warned(judged: &Judged<'_>) -> (Vec<ErrorObject>, Vec<String>) {
    let mut warnings = Vec::new();
    if let Some(fault) = &judged.unchecked {
        let text = format!(
            "The tool's input schema cannot be used, so the arguments were not checked: {fault}"
        );
        warnings.push(ErrorObject::new(found::INPUT_UNCHECKED, shown_text(&text, 500)));
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
