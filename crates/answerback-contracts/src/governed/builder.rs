use answerback_json::UuidV4;
use answerback_json::time::Timestamp;
use serde_json::{Map, Value};

use super::{
    AgentIdentity, Attestation, Confidence, Content, GovernedCheckOptions, GovernedFailure,
    GovernedResponse, GovernedStatus, NextActions, ProtocolVersion, Refusal, RequestContext,
    Response, SuggestedHandoff, check,
};
use crate::Invalid;

/// Builds a governed response. The result passes the strict check.
///
/// The builder makes nothing up. The caller passes in the id, the identity, the request and an answer's
/// attestation. The status follows from the kind of response: an answer, a failure or a refusal.
///
/// ```
/// use answerback_contracts::governed::{AgentIdentity, AgentType, Attestation, Confidence, Content, GovernedBuilder, RequestContext, RequestType, GovernedStatus};
/// use answerback_json::{Timestamp, UuidV4};
///
/// let agent = AgentIdentity::new(
///     AgentType::Domain,
///     "domain-02-analysis".try_into()?,
///     "1.0.0".try_into()?,
///     "e7b34ef33d23d41e67ba23c640b26cbc4179840cc2be1278703e89fd74aefd9c".try_into()?,
/// );
/// let request = RequestContext::new(RequestType::Query, "Did sales rise?");
/// let attestation = Attestation::upheld().with_audit_trail("ledger:42");
/// let now = Timestamp::from_unix_millis(1_767_362_220_000);
///
/// let content = Content::markdown("They rose by **12 %**.");
///
/// let response = GovernedBuilder::answer(UuidV4::from_random([7; 16]), agent, request, content, attestation)
///     .confidence(Confidence::High)
///     .build(now)?;
/// assert_eq!(response.status(), GovernedStatus::Success);
/// assert_eq!(response.timestamp, "2026-01-02T13:57:00Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct GovernedBuilder {
    response_id: UuidV4,
    agent: AgentIdentity,
    request: RequestContext,
    response: Response,
    attestation: Attestation,
    next: Option<NextActions>,
    meta: Map<String, Value>,
    options: GovernedCheckOptions,
}

impl GovernedBuilder {
    /// Starts an answer with its attestation. The status is `success`, or `partial` after
    /// [`partial`](Self::partial).
    pub fn answer(
        response_id: UuidV4,
        agent: AgentIdentity,
        request: RequestContext,
        content: Content,
        attestation: Attestation,
    ) -> Self {
        let response = Response::new(GovernedStatus::Success, content, Confidence::NotApplicable);
        Self::new(response_id, agent, request, response, attestation)
    }

    /// Starts a response that reports a failure. It attests everything but quality, unless
    /// [`attest`](Self::attest) replaces the attestation.
    pub fn failure(
        response_id: UuidV4,
        agent: AgentIdentity,
        request: RequestContext,
        failure: &GovernedFailure,
    ) -> Self {
        let content = Content::of(failure);
        let response = Response::new(GovernedStatus::Error, content, Confidence::NotApplicable);
        Self::new(response_id, agent, request, response, GovernedFailure::attestation())
    }

    /// Starts a refusal. The status and the attestation follow from the reason. A security reason attests nothing.
    pub fn refusal(
        response_id: UuidV4,
        agent: AgentIdentity,
        request: RequestContext,
        refusal: &Refusal,
    ) -> Self {
        let reason = refusal.refusal_reason;
        let response = Response::new(reason.status(), Content::of(refusal), Confidence::High);
        Self::new(response_id, agent, request, response, reason.attestation())
    }

    fn new(
        response_id: UuidV4,
        agent: AgentIdentity,
        request: RequestContext,
        response: Response,
        attestation: Attestation,
    ) -> Self {
        Self {
            response_id,
            agent,
            request,
            response,
            attestation,
            next: None,
            meta: Map::new(),
            options: GovernedCheckOptions::default(),
        }
    }

    /// Marks an answer as covering only part of the request. A failure or refusal keeps its status.
    pub fn partial(mut self) -> Self {
        if self.response.status == GovernedStatus::Success {
            self.response.status = GovernedStatus::Partial;
        }
        self
    }

    /// Sets the confidence of the agent in its response.
    pub fn confidence(mut self, confidence: Confidence) -> Self {
        self.response.confidence = confidence;
        self
    }

    /// Replaces the attestation.
    pub fn attest(mut self, attestation: Attestation) -> Self {
        self.attestation = attestation;
        self
    }

    /// Adds a reference to the record of this response.
    pub fn audit_trail(mut self, reference: impl Into<Value>) -> Self {
        self.attestation = self.attestation.with_audit_trail(reference);
        self
    }

    /// Suggests a handoff to another agent.
    pub fn handoff(mut self, handoff: SuggestedHandoff) -> Self {
        self.next_mut().suggested_handoffs.get_or_insert_default().push(handoff);
        self
    }

    /// Adds a question to the caller.
    pub fn followup_question(mut self, question: impl Into<String>) -> Self {
        self.next_mut().followup_questions.get_or_insert_default().push(question.into());
        self
    }

    /// Adds information that the agent needs for a better answer.
    pub fn additional_context(mut self, needed: impl Into<String>) -> Self {
        self.next_mut().additional_context_needed.get_or_insert_default().push(needed.into());
        self
    }

    /// Adds a member to the extension slot.
    pub fn meta(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(name.into(), value.into());
        self
    }

    /// Sets the options with which [`build`](Self::build) checks the response, such as an observed
    /// identity.
    pub fn with_check_options(mut self, options: impl Into<GovernedCheckOptions>) -> Self {
        self.options = options.into();
        self
    }

    /// Finishes the response, dated `now`.
    ///
    /// # Errors
    ///
    /// Returns [`Invalid`] with every finding if the response does not pass the check, or is nested too deep.
    pub fn build(self, now: Timestamp) -> Result<GovernedResponse, Invalid> {
        let response = GovernedResponse {
            response_id: self.response_id,
            timestamp: now.to_utc_seconds(),
            protocol_version: ProtocolVersion::default(),
            agent: self.agent,
            response: self.response,
            request_context: self.request,
            governance: self.attestation,
            next_actions: self.next,
            meta: self.meta,
            extra: Map::new(),
        };
        let document = response.to_document();
        Invalid::unless_emittable(&document, check(&document, self.options))?;
        Ok(response)
    }

    fn next_mut(&mut self) -> &mut NextActions {
        self.next.get_or_insert_default()
    }
}

/// Builds sample responses of every kind for the tests of this module.
#[cfg(test)]
pub(super) mod samples {
    use super::*;
    use crate::governed::{AgentType, RefusalReason, RequestType};

    pub(in crate::governed) fn now() -> Timestamp {
        Timestamp::from_unix_millis(1_767_362_220_000)
    }

    pub(in crate::governed) fn agent() -> AgentIdentity {
        AgentIdentity::new(
            AgentType::Domain,
            "domain-02-analysis".try_into().unwrap(),
            "1.2.0".try_into().unwrap(),
            "0123456789abcdef".repeat(4).try_into().unwrap(),
        )
    }

    pub(in crate::governed) fn id() -> UuidV4 {
        UuidV4::from_random([9; 16])
    }

    pub(in crate::governed) fn request() -> RequestContext {
        RequestContext::new(RequestType::Analysis, "Did sales rise?")
    }

    pub(in crate::governed) fn answer() -> GovernedResponse {
        let content = Content::markdown("They rose.");
        GovernedBuilder::answer(id(), agent(), request(), content, Attestation::upheld())
            .audit_trail("ledger:7")
            .build(now())
            .unwrap()
    }

    pub(in crate::governed) fn failure() -> GovernedResponse {
        let failure = GovernedFailure::new("SOURCE_DOWN", "The sales table could not be read.")
            .with_details("connection refused")
            .with_recovery("Try again in a minute.");
        GovernedBuilder::failure(id(), agent(), request(), &failure)
            .audit_trail(["ledger:8"].as_slice())
            .build(now())
            .unwrap()
    }

    pub(in crate::governed) fn refusal(reason: RefusalReason) -> GovernedResponse {
        let other: crate::governed::AgentId = "domain-05-product".try_into().unwrap();
        let refusal = Refusal::new(reason, "It would not be right.")
            .with_suggested_agent(other.clone())
            .with_governance_rule("rules/3");
        GovernedBuilder::refusal(id(), agent(), request(), &refusal)
            .audit_trail("ledger:9")
            .handoff(SuggestedHandoff::required(other, "It knows."))
            .build(now())
            .unwrap()
    }

    pub(in crate::governed) fn full() -> GovernedResponse {
        let content = Content::mixed("They rose by 12 %.", [("rise", 12)]);
        let attestation = Attestation::upheld()
            .without(crate::governed::Flag::QualityStandardsMet)
            .with_explanation("One region is missing.")
            .with_audit_trail("ledger:10");
        let request = request().with_request_id(UuidV4::from_random([5; 16]));
        GovernedBuilder::answer(id(), agent(), request, content, attestation)
            .partial()
            .confidence(Confidence::Medium)
            .handoff(SuggestedHandoff::optional("domain-05-product".try_into().unwrap(), "Plan."))
            .followup_question("Which regions?")
            .additional_context("The sales of May.")
            .meta("trace", "t-1")
            .build(now())
            .unwrap()
    }

    pub(in crate::governed) fn all() -> Vec<GovernedResponse> {
        let refusals = RefusalReason::ALL.iter().map(|reason| refusal(*reason));
        [answer(), failure(), full()].into_iter().chain(refusals).collect()
    }
}

#[cfg(test)]
mod tests {
    use answerback_findings::Profile;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::governed::{Flag, RefusalReason};

    #[test]
    fn keys_stand_in_the_documents_order_and_empty_ones_are_left_out() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&samples::full()).unwrap(), @r#"
        {
          "response_id": "09090909-0909-4909-8909-090909090909",
          "timestamp": "2026-01-02T13:57:00Z",
          "protocol_version": "1.0.0",
          "agent": {
            "agent_type": "domain",
            "agent_id": "domain-02-analysis",
            "agent_version": "1.2.0",
            "prompt_hash": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
          },
          "response": {
            "status": "partial",
            "content": {
              "type": "mixed",
              "data": {
                "narrative": "They rose by 12 %.",
                "rise": 12
              },
              "format": "json"
            },
            "confidence": "medium"
          },
          "request_context": {
            "request_id": "05050505-0505-4505-8505-050505050505",
            "request_type": "analysis",
            "request_summary": "Did sales rise?"
          },
          "governance": {
            "within_scope": true,
            "boundaries_respected": true,
            "quality_standards_met": false,
            "constraints_followed": true,
            "explanation": "One region is missing.",
            "audit_trail": "ledger:10"
          },
          "next_actions": {
            "suggested_handoffs": [
              {
                "target_agent": "domain-05-product",
                "reason": "Plan.",
                "required": false
              }
            ],
            "followup_questions": [
              "Which regions?"
            ],
            "additional_context_needed": [
              "The sales of May."
            ]
          },
          "_meta": {
            "trace": "t-1"
          }
        }
        "#);
        let least = samples::answer().to_document();
        let names: Vec<&String> = least.as_object().unwrap().keys().collect();
        assert_eq!(
            names,
            [
                "response_id",
                "timestamp",
                "protocol_version",
                "agent",
                "response",
                "request_context",
                "governance"
            ]
        );
    }

    #[test]
    fn everything_built_is_clean_and_comes_back() {
        for response in samples::all() {
            let document = response.to_document();
            assert_eq!(check(&document, Profile::Strict), [], "{document:#}");
            assert_eq!(GovernedResponse::from_document(&document).unwrap(), response);
        }
    }

    #[test]
    fn forms_are_read_back() {
        let failure = samples::failure();
        assert_eq!(failure.failure().unwrap().error_code, "SOURCE_DOWN");
        assert_eq!(failure.refusal(), None);
        for reason in RefusalReason::ALL {
            let refusal = samples::refusal(*reason);
            assert_eq!(refusal.status(), reason.status());
            assert_eq!(refusal.refusal().unwrap().security_flag, reason.is_security());
            assert_eq!(refusal.failure(), None);
        }
        assert_eq!(samples::full().refusal(), None);
    }

    #[test]
    fn a_bad_response_is_refused_with_every_reason() {
        let request = RequestContext::new(crate::governed::RequestType::Task, " ");
        let attestation = Attestation::upheld().without(Flag::WithinScope);
        let content = Content::plain("");
        let (id, agent) = (samples::id(), samples::agent());
        let refused = GovernedBuilder::answer(id, agent, request, content, attestation)
            .build(samples::now())
            .unwrap_err();
        let errors: Vec<&str> = refused
            .findings
            .iter()
            .filter(|finding| finding.is_error())
            .map(|finding| finding.field_path.as_str())
            .collect();
        assert_eq!(
            errors,
            [
                "/response/content/data",
                "/request_context/request_summary",
                "/governance/explanation"
            ]
        );
    }

    #[test]
    fn unknown_members_are_kept_in_every_group() {
        let mut document = samples::full().to_document();
        for group in ["", "/agent", "/response", "/response/content", "/request_context"] {
            document.pointer_mut(group).unwrap()["later"] = json!(1);
        }
        for group in ["/governance", "/next_actions", "/next_actions/suggested_handoffs/0"] {
            document.pointer_mut(group).unwrap()["later"] = json!([null]);
        }
        document["next_actions"]["followup_questions"] = json!([]);
        let response = GovernedResponse::from_document(&document).unwrap();
        assert_eq!(response.to_document(), document);
    }

    fn text() -> impl Strategy<Value = String> {
        "[ -~é\n]{0,20}[a-z]"
    }

    fn values() -> impl Strategy<Value = Map<String, Value>> {
        let value = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            text().prop_map(Value::from),
        ];
        proptest::collection::vec((text(), value), 1..4)
            .prop_map(|members| members.into_iter().collect())
    }

    fn content() -> impl Strategy<Value = Content> {
        prop_oneof![
            text().prop_map(Content::markdown),
            text().prop_map(Content::plain),
            values().prop_map(Content::structured),
            (text(), values()).prop_map(|(narrative, data)| Content::mixed(narrative, data)),
        ]
    }

    fn attestation() -> impl Strategy<Value = Attestation> {
        let withdrawn = proptest::sample::subsequence(Flag::ALL.to_vec(), 0..=4);
        (withdrawn, text()).prop_map(|(withdrawn, explanation)| {
            let explained = Attestation::upheld().with_explanation(explanation);
            withdrawn.into_iter().fold(explained, Attestation::without)
        })
    }

    fn builder() -> impl Strategy<Value = GovernedBuilder> {
        let reason = proptest::sample::select(RefusalReason::ALL);
        let start = prop_oneof![
            (content(), attestation(), any::<bool>()).prop_map(|(content, attestation, whole)| {
                let (id, agent, request) = (samples::id(), samples::agent(), samples::request());
                let answer = GovernedBuilder::answer(id, agent, request, content, attestation);
                if whole { answer } else { answer.partial() }
            }),
            (text(), text()).prop_map(|(code, message)| {
                let failure = GovernedFailure::new(code, message);
                let (id, agent) = (samples::id(), samples::agent());
                GovernedBuilder::failure(id, agent, samples::request(), &failure)
            }),
            (reason, text()).prop_map(|(reason, explanation)| {
                let refusal = Refusal::new(reason, explanation);
                let (id, agent) = (samples::id(), samples::agent());
                GovernedBuilder::refusal(id, agent, samples::request(), &refusal)
            }),
        ];
        let questions = proptest::collection::vec(text(), 0..3);
        (start, questions, values()).prop_map(|(start, questions, meta)| {
            let asked = questions.into_iter().fold(start, GovernedBuilder::followup_question);
            meta.into_iter().fold(asked, |builder, (name, value)| builder.meta(name, value))
        })
    }

    proptest! {
        #[test]
        fn whatever_is_built_passes_and_comes_back(builder in builder()) {
            let response = builder.build(samples::now()).unwrap();
            let document = response.to_document();
            prop_assert_eq!(GovernedResponse::from_document(&document).unwrap(), response);
        }
    }
}
