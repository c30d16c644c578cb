//! Checks a call for a program and counts its attempts in the store.

use answerback::checker::{CallReply, CallRequest, CheckedCall, ToolCatalog, check_call};
use answerback::finding::Severity;
use answerback::retry::{AttemptOutcome, Permit, Turn};
use answerback::{ToolResult, UuidV4};
use answerback_ledger::Part;
use answerback_record::{Hide, system};
use answerback_store::StoreError;
use serde::Serialize;
use serde_json::{Value, json};

use crate::approved_correction::CorrectionClaim;
use crate::attempt::AttemptInput;
use crate::blocking;
use crate::client::conversation_name;
use crate::counting::Counting;
use crate::record::About;
use crate::rejection::waiting;
use crate::{Gateway, Recorder};

/// The upstream name under which these calls are recorded. The configuration does not allow it for a server.
const UPSTREAM: &str = "api/calls/check";

/// Holds the response: a line of `answerback replay`, and a person's decision if there is one.
#[derive(Debug, Serialize)]
pub(super) struct Checked {
    #[serde(flatten)]
    pub(super) line: CallReply,
    /// True if a person let this call run although the check failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    waived: bool,
    /// The complete arguments that replace those of the call, because a person corrected them for this one call.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Value>,
    /// A person's message for the model, to send with the call's result.
    #[serde(skip_serializing_if = "Option::is_none")]
    guidance: Option<String>,
}

impl From<CallReply> for Checked {
    fn from(line: CallReply) -> Self {
        Self { line, waived: false, arguments: None, guidance: None }
    }
}

/// Holds a call that is being checked.
pub(super) struct Checking<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) catalogue: &'a ToolCatalog,
    /// The server whose tool is called, or `None` if the schema came with the call.
    pub(super) server: Option<&'a str>,
    /// The principal of the request.
    pub(super) principal: &'a str,
    pub(super) line: CallRequest,
}

impl Checking<'_> {
    /// Checks the call without counting it.
    pub(super) fn alone(self) -> std::io::Result<Checked> {
        let random = system::random()?;
        let judged = self.judged(self.line.clone());
        // Building the message processes the arguments, so it may block like the check.
        Ok(blocking::work(self.much(), || {
            let outcome = judged.as_attempt(1, system::now(), random);
            judged.reply(outcome).into()
        }))
    }

    /// Checks the call as part of a conversation and counts the attempt in the store. All processes that share a
    /// store count together, and a restart loses nothing.
    pub(super) async fn counted(mut self, conversation: &str) -> Result<Checked, StoreError> {
        // The key has four members, so it never equals a key of a forwarded call.
        let conversation = conversation_name(conversation);
        let key = json!([self.principal, UPSTREAM, self.server, conversation]).to_string();
        self.line = self.line.with_conversation(key);
        let Some(recorder) = &self.gateway.recorder else { return self.in_memory() };
        let judged = self.judged(self.line.clone());
        let claim = match judged.arguments.value() {
            Some(sent) if judged.is_valid() => CorrectionClaim::of_told(sent),
            _ => Some(CorrectionClaim::Next),
        };
        if let Some(claim) = claim
            && let Some((permit, arguments)) = recorder.permitted(claim, judged.key()).await
        {
            let mut line = self.line.clone();
            line.arguments = Some(arguments.clone());
            let corrected = self.judged(line);
            // A correction that does not fit the schema of this call is not used up.
            if corrected.is_valid() {
                match self.count(recorder, corrected, Some(permit)).await {
                    Ok(mut checked) => {
                        let runs = checked.line.result.is_none();
                        checked.arguments = runs.then_some(arguments);
                        return Ok(checked);
                    }
                    // Another call used the correction first, so this one is checked unchanged.
                    Err(StoreError::Unit(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        self.count(recorder, judged, None).await
    }

    /// Returns the number of bytes of text in the arguments.
    fn much(&self) -> usize {
        self.line.arguments.as_ref().map_or(0, blocking::text_in)
    }

    fn judged(&self, line: CallRequest) -> CheckedCall<'_> {
        blocking::work(self.much(), || {
            check_call(self.catalogue, line, &self.gateway.validation, self.gateway.limits)
        })
    }

    fn in_memory(&self) -> Result<Checked, StoreError> {
        let random = system::random().map_err(unit)?;
        let judged = self.judged(self.line.clone());
        Ok(blocking::work(self.much(), || {
            let outcome = judged.track(&self.gateway.tracker, system::now(), random);
            answered(judged, outcome)
        }))
    }

    async fn count(
        &self,
        recorder: &Recorder,
        judged: CheckedCall<'_>,
        permit: Option<Permit>,
    ) -> Result<Checked, StoreError> {
        let random = system::random().map_err(unit)?;
        let correlation_id = system::uuid().map_err(unit)?;
        // A call that names no turn gets its own.
        let turn = judged.call(random).turn;
        let turn = turn.unwrap_or_else(|| Turn::from(correlation_id.to_string().as_str()));
        let attempt = blocking::work(self.much(), || {
            AttemptInput::of(&judged, turn, &correlation_id.to_string(), random)
        });
        let attempt = attempt.with_permit(permit);
        let counting = Counting {
            attempt: attempt.clone(),
            about: self.about(&judged, &correlation_id),
            parts: self.parts(recorder)?,
            is_awaited: true,
            entry: AttemptInput::entry,
        };
        let wording = judged.message_inputs();
        let (console, commands) = (self.gateway.console.clone(), self.gateway.commands.clone());
        let answer = move |outcome: &AttemptOutcome| {
            let told = wording.result(outcome).map(|mut told| {
                if let AttemptOutcome::Blocked(blocked) = outcome {
                    let case = blocked.escalation.id.to_string();
                    // The gateway does not ask a user here. The calling program may do so.
                    let sentence = waiting(&case, false, console.as_deref(), &commands);
                    told.content.push_str(&sentence);
                }
                told
            });
            (told.as_ref().and_then(|told| serde_json::to_string(told).ok()), told)
        };
        let counted = counting.count(recorder, answer).await;
        let (outcome, told): (AttemptOutcome, Option<ToolResult>) = match counted {
            Ok(counted) => (counted.outcome, counted.answer),
            Err(error @ StoreError::Unit(_)) => return Err(error),
            Err(error) => {
                // The configuration allows unrecorded calls. The result of the check still applies.
                recorder.store().excuse(error)?;
                return Ok(blocking::work(self.much(), || {
                    let outcome = judged.as_attempt(1, system::now(), random);
                    answered(judged, outcome)
                }));
            }
        };
        self.gateway.observe(&attempt, &outcome);
        let mut checked = blocking::work(self.much(), || answered(judged, outcome));
        checked.line.result = told;
        Ok(checked)
    }

    fn about(&self, judged: &CheckedCall<'_>, correlation_id: &UuidV4) -> About {
        let id = About::id_of(correlation_id);
        About {
            id,
            correlation: id,
            upstream: UPSTREAM.to_owned(),
            principal: self.principal.to_owned(),
            tool: (judged.tool.clone(), !judged.is_unknown_tool()),
        }
    }

    /// Returns the parts of the entry: the call as it was received.
    fn parts(&self, recorder: &Recorder) -> Result<Vec<Part>, StoreError> {
        let schema = self.catalogue.schema(&self.line.tool).and_then(Result::ok);
        let hide = schema.map(|schema| Hide { member: "arguments", schema });
        let CallRequest { id, tool, arguments, .. } = &self.line;
        let seen = json!({"id": id, "tool": tool, "arguments": arguments});
        recorder.parts("seen", &seen.to_string(), hide)
    }
}

/// Builds the response from the outcome, with the person's decision.
fn answered(judged: CheckedCall<'_>, outcome: AttemptOutcome) -> Checked {
    let (waived, guidance) = match &outcome {
        AttemptOutcome::Proceed(proceed) => {
            (proceed.waived, proceed.guidance.clone().or_else(|| proceed.correction.clone()))
        }
        _ => (false, None),
    };
    let mut line = judged.reply(outcome);
    if waived {
        // The findings are still reported, but only as warnings.
        line.valid = true;
        for finding in &mut line.errors {
            finding.severity = finding.severity.max(Severity::Warning);
        }
    }
    Checked { line, waived, arguments: None, guidance }
}

fn unit(error: std::io::Error) -> StoreError {
    StoreError::unit(error.to_string())
}
