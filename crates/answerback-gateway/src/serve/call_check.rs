//! Checks a call for a program and counts its attempts in the store.

use answerback::checker::{CallReply, CallRequest, CheckedCall, ToolCatalog, check_call};
use answerback::finding::Severity;
use answerback::retry::{AttemptOutcome, Permit, Turn};
use answerback::{ToolResult, UuidV4};
use answerback_ledger::Part;
use answerback_store::StoreError;
use answerback_store::recording::MemberSchema;
use answerback_store::system;
use serde::Serialize;
use serde_json::{Value, json};

use crate::blocking;
use crate::call::{AttemptInput, AttemptTransaction, CorrectionClaim, case_notice};
use crate::call_facts::CallFacts;
use crate::client::stored_conversation_name;
use crate::{Gateway, Recorder};

/// The upstream name under which these calls are recorded. The configuration does not allow it for a server.
const UPSTREAM: &str = "api/calls/check";

/// The response: a line of `answerback replay`, and a person's decision if there is one.
#[derive(Debug, Serialize)]
pub(super) struct CallCheckResponse {
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

impl From<CallReply> for CallCheckResponse {
    fn from(line: CallReply) -> Self {
        Self { line, waived: false, arguments: None, guidance: None }
    }
}

/// A call that is being checked.
pub(super) struct CallCheck<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) catalogue: &'a ToolCatalog,
    /// The server whose tool is called, or `None` if the schema came with the call.
    pub(super) server: Option<&'a str>,
    /// The principal of the request.
    pub(super) principal: &'a str,
    pub(super) line: CallRequest,
}

impl CallCheck<'_> {
    /// Checks the call without counting it.
    pub(super) fn run(self) -> std::io::Result<CallCheckResponse> {
        let random = system::random()?;
        let judged = self.check(self.line.clone());
        // Building the message processes the arguments, so it may block like the check.
        Ok(blocking::run(self.text_size(), || {
            let outcome = judged.as_attempt(1, system::now(), random);
            judged.reply(outcome).into()
        }))
    }

    /// Checks the call as part of a conversation and counts the attempt in the store. All processes that share a
    /// store count together, and a restart loses nothing.
    pub(super) async fn run_and_count(
        mut self,
        conversation: &str,
    ) -> Result<CallCheckResponse, StoreError> {
        // The key has four members, so it never equals a key of a forwarded call.
        let conversation = stored_conversation_name(conversation);
        let key = json!([self.principal, UPSTREAM, self.server, conversation]).to_string();
        self.line = self.line.with_conversation(key);
        let Some(recorder) = &self.gateway.recorder else { return self.run_in_memory() };
        let judged = self.check(self.line.clone());
        let claim = match judged.arguments.value() {
            Some(sent) if judged.is_valid() => CorrectionClaim::of_arguments(sent),
            _ => Some(CorrectionClaim::Next),
        };
        if let Some(claim) = claim
            && let Some((permit, arguments)) = recorder.find_correction(claim, judged.key()).await
        {
            let mut line = self.line.clone();
            line.arguments = Some(arguments.clone());
            let corrected = self.check(line);
            // A correction that does not fit the schema of this call is not used up.
            if corrected.is_valid() {
                match self.count(recorder, corrected, Some(permit)).await {
                    Ok(mut response) => {
                        let runs = response.line.result.is_none();
                        response.arguments = runs.then_some(arguments);
                        return Ok(response);
                    }
                    // Another call used the correction first, so this one is checked unchanged.
                    Err(StoreError::Unit(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        self.count(recorder, judged, None).await
    }

    /// The number of bytes of text in the arguments.
    fn text_size(&self) -> usize {
        self.line.arguments.as_ref().map_or(0, blocking::text_bytes)
    }

    fn check(&self, line: CallRequest) -> CheckedCall<'_> {
        blocking::run(self.text_size(), || {
            check_call(self.catalogue, line, &self.gateway.validation, self.gateway.limits)
        })
    }

    fn run_in_memory(&self) -> Result<CallCheckResponse, StoreError> {
        let random = system::random().map_err(unit_error)?;
        let judged = self.check(self.line.clone());
        Ok(blocking::run(self.text_size(), || {
            let outcome = judged.track(&self.gateway.tracker, system::now(), random);
            response_of(judged, outcome)
        }))
    }

    async fn count(
        &self,
        recorder: &Recorder,
        judged: CheckedCall<'_>,
        permit: Option<Permit>,
    ) -> Result<CallCheckResponse, StoreError> {
        let random = system::random().map_err(unit_error)?;
        let correlation_id = system::uuid().map_err(unit_error)?;
        // A call that names no turn gets its own.
        let turn = judged.call(random).turn;
        let turn = turn.unwrap_or_else(|| Turn::from(correlation_id.to_string().as_str()));
        let attempt = blocking::run(self.text_size(), || {
            AttemptInput::of(&judged, turn, &correlation_id.to_string(), random)
        });
        let attempt = attempt.with_permit(permit);
        let transaction = AttemptTransaction {
            attempt: attempt.clone(),
            facts: self.call_facts(&judged, &correlation_id),
            parts: self.entry_parts(recorder)?,
            is_for_program: true,
            entry: AttemptInput::entry,
        };
        let wording = judged.message_inputs();
        let (console, commands) = (self.gateway.console.clone(), self.gateway.commands.clone());
        let answer = move |outcome: &AttemptOutcome| {
            let result = wording.result(outcome).map(|mut result| {
                if let AttemptOutcome::Blocked(blocked) = outcome {
                    let case = blocked.escalation.id.to_string();
                    // The gateway does not ask a user here. The calling program may do so.
                    let sentence = case_notice(&case, false, console.as_deref(), &commands);
                    result.content.push_str(&sentence);
                }
                result
            });
            (result.as_ref().and_then(|result| serde_json::to_string(result).ok()), result)
        };
        let counted = transaction.run(recorder, answer).await;
        let (outcome, result): (AttemptOutcome, Option<ToolResult>) = match counted {
            Ok(counted) => (counted.outcome, counted.answer),
            Err(error @ StoreError::Unit(_)) => return Err(error),
            Err(error) => {
                // The configuration allows unrecorded calls. The result of the check still applies.
                recorder.store().apply_failure_policy(error)?;
                return Ok(blocking::run(self.text_size(), || {
                    let outcome = judged.as_attempt(1, system::now(), random);
                    response_of(judged, outcome)
                }));
            }
        };
        self.gateway.observe(&attempt, &outcome);
        let mut response = blocking::run(self.text_size(), || response_of(judged, outcome));
        response.line.result = result;
        Ok(response)
    }

    fn call_facts(&self, judged: &CheckedCall<'_>, correlation_id: &UuidV4) -> CallFacts {
        let id = CallFacts::id_of(correlation_id);
        CallFacts {
            id,
            correlation: id,
            upstream: UPSTREAM.to_owned(),
            principal: self.principal.to_owned(),
            tool: judged.tool.clone(),
            is_known_tool: !judged.is_unknown_tool(),
        }
    }

    /// The parts of the entry: the call as it was received.
    fn entry_parts(&self, recorder: &Recorder) -> Result<Vec<Part>, StoreError> {
        let schema = self.catalogue.schema(&self.line.tool).and_then(Result::ok);
        let hide = schema.map(|schema| MemberSchema { member: "arguments", schema });
        let CallRequest { id, tool, arguments, .. } = &self.line;
        let received = json!({"id": id, "tool": tool, "arguments": arguments});
        recorder.redacted_parts("seen", &received.to_string(), hide)
    }
}

/// Builds the response from the outcome, with the person's decision.
fn response_of(judged: CheckedCall<'_>, outcome: AttemptOutcome) -> CallCheckResponse {
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
    CallCheckResponse { line, waived, arguments: None, guidance }
}

fn unit_error(error: std::io::Error) -> StoreError {
    StoreError::unit(error.to_string())
}
