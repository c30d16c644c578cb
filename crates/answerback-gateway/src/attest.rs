//! Builds governed responses from results and verifies them against manifest and lock.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use answerback::contract::governed::{
    AgentIdentity, Attestation, Content, Flag, GovernedBuilder, GovernedFailure, GovernedResponse,
    Refusal, RequestContext, RequestType,
};
use answerback::finding::display_name;
use answerback::governance::{Authority, AuthorityError, Verification};
use answerback::json::{Limits, ReadError};
use answerback::{Timestamp, UuidV4, ValidationError};
use answerback_ledger::leaf::{ClaimedFlags, GovernanceVerdict};
use answerback_ledger::{Draft, LeafId, LeafToken, Part};
use answerback_store::recording::{ActiveGovernance, GovernanceDocument, add_agent_and_prompt};
use answerback_store::{Store, StoreError};
use serde_json::{Value, json};

use crate::Recorder;
use crate::envelope::{finding_code, meaning};

/// Builds governed responses for one agent. The agent's identity is the one in the lock when the attestor was
/// opened. Responses are verified against the current files.
#[derive(Debug)]
pub struct Attestor {
    files: [PathBuf; 2],
    identity: AgentIdentity,
    snapshot: Mutex<GovernanceSnapshot>,
}

/// Holds the files that were read last and their stamps at that time.
#[derive(Debug)]
struct GovernanceSnapshot {
    stamps: [FileStamp; 2],
    /// The governance of these files, or `None` if they cannot be used.
    governance: Option<Arc<ActiveGovernance>>,
}

/// The modification time and length of a file, or `None` if it does not exist.
type FileStamp = Option<(SystemTime, u64)>;

impl Attestor {
    /// Opens the manifest and lock of an agent.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be read, or if manifest and lock do not confirm the agent.
    pub fn open(
        manifest: impl Into<PathBuf>,
        lock: impl Into<PathBuf>,
        agent: &str,
    ) -> Result<Self, AttestError> {
        let files = [manifest.into(), lock.into()];
        let stamps = stamps(&files);
        let governance = read_governance(&files)?;
        let identity = governance.authority().speaker(agent)?.identity().clone();
        let snapshot =
            Mutex::new(GovernanceSnapshot { stamps, governance: Some(Arc::new(governance)) });
        Ok(Self { files, identity, snapshot })
    }

    /// Records manifest and lock in the ledger if they differ from the active ones. It blocks until the store has
    /// written them.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read or written.
    pub fn log(&self, store: &Store) -> Result<(), StoreError> {
        let governance = self.snapshot().governance.clone();
        governance.map_or(Ok(()), |governance| governance.log(store))
    }

    fn snapshot(&self) -> MutexGuard<'_, GovernanceSnapshot> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current governance, or `None` if the files cannot be used.
    async fn governance(self: &Arc<Self>, store: &Store) -> Option<Arc<ActiveGovernance>> {
        {
            let snapshot = self.snapshot();
            if snapshot.stamps == stamps(&self.files) {
                return snapshot.governance.clone();
            }
        }
        let (attestor, store) = (Arc::clone(self), store.clone());
        tokio::task::spawn_blocking(move || attestor.reload(&store)).await.ok().flatten()
    }

    /// Reads the files again. Changed files are recorded before any response uses them.
    fn reload(&self, store: &Store) -> Option<Arc<ActiveGovernance>> {
        let mut snapshot = self.snapshot();
        let stamps = stamps(&self.files);
        let is_same = |fresh: &ActiveGovernance| {
            snapshot.governance.as_ref().is_some_and(|it| it.is_same(fresh))
        };
        let governance = match read_governance(&self.files) {
            Ok(fresh) if is_same(&fresh) => snapshot.governance.clone(),
            Ok(fresh) if fresh.authority().is_sound() => {
                if let Err(error) = fresh.log(store) {
                    tracing::warn!(%error, "manifest and lock changed, and could not be recorded");
                    return None;
                }
                tracing::warn!("manifest and lock changed");
                Some(Arc::new(fresh))
            }
            Ok(_) => {
                tracing::error!("manifest and lock changed, and do not agree");
                None
            }
            Err(error) => {
                tracing::error!(%error, "manifest and lock changed, and cannot be read");
                None
            }
        };
        *snapshot = GovernanceSnapshot { stamps, governance: governance.clone() };
        governance
    }

    /// Builds a governed response from a result and verifies it.
    pub(crate) async fn attest(
        self: &Arc<Self>,
        recorder: &Recorder,
        input: AttestationInput<'_>,
    ) -> std::io::Result<AttestedResponse> {
        let response_id = match &input.response_id {
            Some(id) => id.clone(),
            None => answerback_store::system::uuid()?,
        };
        let audit = format!("ledger:{}#{}", recorder.origin(), input.correlation_id);
        let attestation = attestation(&input.doubts).with_audit_trail(audit);
        let now = answerback_store::system::now();
        let built = input.response(response_id.clone(), self.identity.clone(), attestation, now);
        let response = match built {
            Ok(response) => response,
            Err(invalid) => {
                return Ok(AttestedResponse::not_buildable(response_id, &invalid.findings));
            }
        };
        let governance = self.governance(recorder.store()).await;
        Ok(AttestedResponse::verify(response, governance))
    }
}

fn stamps(files: &[PathBuf; 2]) -> [FileStamp; 2] {
    let stamp = |file: &PathBuf| {
        let metadata = std::fs::metadata(file).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    [stamp(&files[0]), stamp(&files[1])]
}

fn read_governance([manifest, lock]: &[PathBuf; 2]) -> Result<ActiveGovernance, AttestError> {
    let bytes = |file: &Path| {
        std::fs::read(file).map_err(|source| AttestError::File { file: file.to_owned(), source })
    };
    let unread = |file: &Path| {
        let file = file.to_owned();
        move |source| AttestError::Document { file, source }
    };
    let limits = Limits::default();
    Ok(ActiveGovernance::new(
        GovernanceDocument::manifest(bytes(manifest)?, limits).map_err(unread(manifest))?,
        GovernanceDocument::lock(bytes(lock)?, limits).map_err(unread(lock))?,
    ))
}

/// Holds a tool's result with the facts for its attestation.
pub(crate) struct AttestationInput<'a> {
    pub(crate) tool: &'a str,
    pub(crate) correlation_id: &'a UuidV4,
    /// The id of the response, if it is derived from a task.
    pub(crate) response_id: Option<UuidV4>,
    /// The tool envelope that contains the result, or the result itself if no envelope can be built.
    pub(crate) content: Value,
    /// The error code and message, if the tool failed.
    pub(crate) failure: Option<(String, String)>,
    /// The reasons that prevent flags from being attested.
    pub(crate) doubts: Vec<Doubt>,
}

impl AttestationInput<'_> {
    fn response(
        self,
        response_id: UuidV4,
        agent: AgentIdentity,
        attestation: Attestation,
        now: Timestamp,
    ) -> Result<GovernedResponse, answerback::contract::Invalid> {
        let summary = format!("Call the tool {}", display_name(self.tool));
        let request = RequestContext::new(RequestType::Task, summary)
            .with_request_id(self.correlation_id.clone());
        let builder = match self.failure {
            Some((code, message)) => {
                let failure = GovernedFailure::new(code, message).with_details(self.content);
                GovernedBuilder::failure(response_id, agent, request, &failure).attest(attestation)
            }
            None => {
                let members = self.content.as_object().cloned().unwrap_or_default();
                let content = Content::structured(members);
                GovernedBuilder::answer(response_id, agent, request, content, attestation)
            }
        };
        builder.build(now)
    }
}

/// Names a flag that is not attested, with the reason.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Doubt {
    flag: Flag,
    reason: &'static str,
}

impl Doubt {
    /// The arguments were not checked.
    pub(crate) const INPUT: Self =
        Self { flag: Flag::ConstraintsFollowed, reason: "the arguments were not checked" };
    /// The result was not checked.
    pub(crate) const OUTPUT: Self =
        Self { flag: Flag::QualityStandardsMet, reason: "the result was not checked" };
    /// The tool's definition was not compared.
    pub(crate) const DEFINITION: Self =
        Self { flag: Flag::BoundariesRespected, reason: "the tool's definition was not compared" };

    /// Returns the doubt that a finding with this code raises, if any.
    pub(crate) fn of(code: &str) -> Option<Self> {
        let flag = match code {
            finding_code::DEFINITION_CHANGED => Flag::BoundariesRespected,
            finding_code::INPUT_UNCHECKED
            | finding_code::INVALID_PARAMETER
            | finding_code::CHECK_WAIVED
            | finding_code::NOT_RECORDED => Flag::ConstraintsFollowed,
            // The repaired arguments that ran were valid.
            finding_code::REPAIR_APPLIED => return None,
            _ => Flag::QualityStandardsMet,
        };
        Some(Self { flag, reason: meaning(code).unwrap_or("something was found") })
    }
}

/// Attests every flag without a doubt. Denied tools cannot be called, so every call is within the scope that the
/// operator configured.
fn attestation(doubts: &[Doubt]) -> Attestation {
    let attestation = doubts
        .iter()
        .fold(Attestation::upheld(), |attestation, doubt| attestation.without(doubt.flag));
    if doubts.is_empty() {
        return attestation;
    }
    let mut reasons: Vec<String> = Vec::new();
    for doubt in doubts {
        let reason = format!("{}: {}", doubt.flag, doubt.reason);
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    attestation.with_explanation(reasons.join("; "))
}

/// Holds a verified governed response, or its refusal.
#[derive(Debug)]
pub(crate) struct AttestedResponse {
    pub(crate) response_id: UuidV4,
    response: Option<GovernedResponse>,
    /// The governance that the response was verified against.
    governance: Option<Arc<ActiveGovernance>>,
    /// The reason why the response is withheld.
    pub(crate) refusal: Option<Refusal>,
    codes: Vec<LeafToken>,
}

impl AttestedResponse {
    fn verify(response: GovernedResponse, governance: Option<Arc<ActiveGovernance>>) -> Self {
        let document = response.to_document();
        let (refusal, codes) = match &governance {
            Some(governance) => verify_document(governance.authority(), &document),
            // Without governance every response is refused. Verifying against an empty authority produces that
            // refusal.
            None => verify_document(&Authority::new(&Value::Null, &Value::Null), &document),
        };
        let (response_id, response) = (response.response_id.clone(), Some(response));
        Self { response_id, response, governance, refusal, codes }
    }

    /// Creates the refusal of a result that does not fit the contract.
    fn not_buildable(response_id: UuidV4, findings: &[ValidationError]) -> Self {
        use answerback::contract::governed::RefusalReason::QualityCannotBeMet;
        let explanation = "The result cannot be made a governed response.";
        let refusal = Some(Refusal::new(QualityCannotBeMet, explanation));
        let codes = codes(findings);
        Self { response_id, response: None, governance: None, refusal, codes }
    }

    /// Builds the ledger entry: a response, or a rejected one.
    pub(crate) fn draft(&self) -> Draft {
        let mut draft = match &self.refusal {
            None => Draft::response().with_verdict(GovernanceVerdict::Accepted, []),
            Some(_) => {
                let codes = self.codes.iter().cloned();
                Draft::rejected()
                    .with_codes(codes.clone())
                    .with_verdict(GovernanceVerdict::Refused, codes)
            }
        };
        if let Ok(id) = LeafId::try_from(&self.response_id) {
            draft = draft.with_response_id(id);
        }
        if let Ok(contract) = LeafToken::new("governed") {
            draft = draft.with_contract(&contract);
        }
        if let Some(governance) = &self.governance {
            draft = governance.add_digests(draft);
        }
        let Some(response) = &self.response else { return draft };
        if let Ok(status) = LeafToken::new(response.status().as_str()) {
            draft = draft.with_status(&status);
        }
        if let Ok((time, _)) = Timestamp::parse(&response.timestamp) {
            draft = draft.with_claimed_time(time);
        }
        let claimed = &response.governance;
        draft = draft.with_claimed(ClaimedFlags {
            within_scope: claimed.within_scope,
            boundaries_respected: claimed.boundaries_respected,
            quality_standards_met: claimed.quality_standards_met,
            constraints_followed: claimed.constraints_followed,
        });
        match self.refusal {
            None => add_agent_and_prompt(draft, &response.agent),
            // The agent's identity is not confirmed, so the entry does not name it.
            Some(_) => draft,
        }
    }

    /// Returns the entry's parts: the response and the refusal.
    pub(crate) fn parts(&self, store: &Store) -> Result<Vec<Part>, StoreError> {
        let mut parts = Vec::new();
        if let Some(response) = &self.response {
            let text = response.to_document().to_string();
            parts.push(store.part("response", text.into_bytes())?);
        }
        if let Some(refusal) = &self.refusal {
            parts.push(store.part("refusal", json!(refusal).to_string().into_bytes())?);
        }
        Ok(parts)
    }
}

/// Verifies a document. Returns the refusal with the codes of its findings, or `None` if it is accepted.
fn verify_document(authority: &Authority, document: &Value) -> (Option<Refusal>, Vec<LeafToken>) {
    match authority.verify(document, None) {
        Verification::Accepted(_) => (None, Vec::new()),
        Verification::Refused(failure) => (Some(failure.refusal), codes(&failure.findings)),
    }
}

fn codes(findings: &[ValidationError]) -> Vec<LeafToken> {
    let errors = findings.iter().filter(|finding| finding.is_error());
    errors.filter_map(|finding| LeafToken::new(finding.error_code.as_ref()).ok()).collect()
}

/// Reports why an attestor cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttestError {
    /// A file cannot be read.
    #[error("cannot read {}", .file.display())]
    File {
        /// The path of the file.
        file: PathBuf,
        /// The cause of the failure.
        source: std::io::Error,
    },
    /// A file is not a JSON document.
    #[error("{} is not a JSON document", .file.display())]
    Document {
        /// The path of the file.
        file: PathBuf,
        /// The cause of the failure.
        source: ReadError,
    },
    /// Manifest and lock do not confirm the agent.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_with_a_doubt_is_not_attested() {
        let text = |doubts: &[Doubt]| json!(attestation(doubts)).to_string();
        insta::assert_snapshot!(text(&[]), @r#"{"within_scope":true,"boundaries_respected":true,"quality_standards_met":true,"constraints_followed":true}"#);
        let codes = [
            finding_code::EMPTY_RESULT,
            finding_code::REPAIR_APPLIED,
            finding_code::INVALID_PARAMETER,
        ];
        let doubts = codes.into_iter().filter_map(Doubt::of);
        let doubts: Vec<Doubt> = doubts.chain([Doubt::DEFINITION, Doubt::DEFINITION]).collect();
        insta::assert_snapshot!(text(&doubts), @r#"{"within_scope":true,"boundaries_respected":false,"quality_standards_met":false,"constraints_followed":false,"explanation":"quality_standards_met: the tool succeeded and said nothing; constraints_followed: something was found in the arguments; boundaries_respected: the tool's definition was not compared"}"#);
    }

    #[test]
    fn every_finding_code_has_its_doubt() {
        for (code, flag) in [
            (finding_code::TOOL_FAILED, "quality_standards_met"),
            (finding_code::OUTPUT_MISMATCH, "quality_standards_met"),
            (finding_code::OUTPUT_UNCHECKED, "quality_standards_met"),
            (finding_code::ERROR_IN_SUCCESS, "quality_standards_met"),
            (finding_code::INPUT_UNCHECKED, "constraints_followed"),
            (finding_code::CHECK_WAIVED, "constraints_followed"),
            (finding_code::NOT_RECORDED, "constraints_followed"),
            (finding_code::DEFINITION_CHANGED, "boundaries_respected"),
        ] {
            let doubt = Doubt::of(code).unwrap();
            assert_eq!(doubt.flag.as_str(), flag, "{code}");
            assert_ne!(doubt.reason, "something was found", "{code}");
        }
        assert_eq!(Doubt::of(finding_code::REPAIR_APPLIED), None);
    }
}
