use answerback::contract::governed::AgentIdentity;
use answerback::contract::{Contract, Profile, recognise};
use answerback::governance::Verification;
use answerback::json::{Limits, ReadError, read};
use answerback::{Timestamp, ValidationError};
use answerback_ledger::leaf::{ClaimedFlags, GovernanceVerdict};
use answerback_ledger::{Draft, LeafId, LeafKind, LeafToken};
use serde_json::Value;

use super::active_governance::{ActiveGovernance, add_agent_and_prompt};
use crate::system::now;

/// The error code of a reply whose id belongs to another reply.
pub const RESPONSE_ID_TAKEN: &str = "RESPONSE_ID_TAKEN";

/// The outcome of a rejected reply, in the words that all contracts share.
const REFUSED: &str = "refused";

/// A parsed reply with the findings of its contract.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReviewedReply<'a> {
    /// The original bytes.
    pub bytes: Vec<u8>,
    /// The parsed document.
    pub value: Value,
    /// The contract of the reply.
    pub contract: Contract,
    /// All findings, including warnings.
    pub findings: Vec<ValidationError>,
    /// The responding agent, if manifest and lock vouch for it.
    pub agent: Option<&'a AgentIdentity>,
    /// The manifest and lock that the reply was verified against.
    pub verified: Option<&'a ActiveGovernance>,
}

impl<'a> ReviewedReply<'a> {
    /// Parses and checks a document. If `contract` is `None`, it is detected. A governed response
    /// is verified against the manifest and lock in force, and against the handoff that it answers
    /// if there is one.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not JSON within the limits, or not a reply.
    pub fn read(
        bytes: Vec<u8>,
        contract: Option<Contract>,
        profile: Profile,
        limits: Limits,
        (in_force, handoff): (Option<&'a ActiveGovernance>, Option<&Value>),
    ) -> Result<Self, ReplyError> {
        let document = read(&bytes, limits)?;
        let contract = match contract {
            Some(contract) => contract,
            None => recognise(&document.value).ok_or(ReplyError::Unrecognised)?.contract,
        };
        if !Contract::REPLIES.contains(&contract) {
            return Err(ReplyError::NotAReply(contract));
        }
        let verified = in_force.filter(|_| contract == Contract::Governed);
        let (findings, agent) = match verified {
            Some(in_force) => {
                match in_force.authority().verify_document(&document, handoff, profile) {
                    Verification::Accepted(accepted) => (accepted.findings, Some(accepted.agent)),
                    Verification::Refused(refused) => (refused.findings, None),
                }
            }
            None => {
                let found = contract.check(&document.value, profile);
                (document.findings.into_iter().chain(found).collect(), None)
            }
        };
        let value = document.value;
        let mut findings = findings;
        findings.extend(contract.check_time(&value, now()));
        Ok(Self { bytes, value, contract, findings, agent, verified })
    }

    /// Returns the findings that are errors, including failed verifications of the agent.
    pub fn errors(&self) -> impl Iterator<Item = &ValidationError> {
        self.findings.iter().filter(|finding| finding.is_error())
    }

    /// True if the reply has an error, or was verified and not accepted. A doubtful reply is
    /// rejected.
    pub fn is_rejected(&self) -> bool {
        self.errors().next().is_some() || self.verified.is_some() && self.agent.is_none()
    }

    /// Returns the kind of the reply's entry.
    pub fn kind(&self) -> LeafKind {
        if self.is_rejected() { LeafKind::Rejected } else { LeafKind::Response }
    }

    /// Creates the draft of the reply's entry. It copies words of the document only if they are
    /// tokens.
    pub fn draft(&self) -> Draft {
        let codes =
            || self.errors().filter_map(|finding| LeafToken::new(finding.error_code.as_ref()).ok());
        let mut draft = if self.is_rejected() {
            Draft::rejected().with_codes(codes())
        } else {
            Draft::response()
        };
        if let Some(id) = self.response_id() {
            draft = draft.with_response_id(id);
        }
        draft = self.add_common_members(draft, self.outcome());
        if self.contract == Contract::Governed {
            draft = match self.claimed() {
                Some(claimed) => draft.with_claimed(claimed),
                None => draft,
            };
            draft = draft.with_verdict(self.verdict(), codes());
        }
        if let Some(in_force) = self.verified {
            draft = in_force.add_digests(draft);
        }
        match self.agent {
            Some(agent) => add_agent_and_prompt(draft, agent),
            None => draft,
        }
    }

    /// Creates the draft for a reply whose id belongs to another reply. It is always rejected, and
    /// does not contain the id.
    pub fn draft_of_conflict(&self) -> Draft {
        let code = || LeafToken::new(RESPONSE_ID_TAKEN).ok();
        let draft = self.add_common_members(Draft::rejected().with_codes(code()), REFUSED);
        if self.contract != Contract::Governed {
            return draft;
        }
        draft.with_verdict(GovernanceVerdict::Refused, code())
    }

    /// Adds the correlation id, the status, the time and the outcome, which every entry of the reply
    /// has.
    fn add_common_members(&self, mut draft: Draft, outcome: &str) -> Draft {
        if let Some(id) = self.id("/audit/correlation_id") {
            draft = draft.with_correlation_id(id);
        }
        if let Some(status) = self.status().and_then(|status| LeafToken::new(status).ok()) {
            draft = draft.with_status(&status);
        }
        if let Some(time) = self.time() {
            draft = draft.with_claimed_time(time);
        }
        match LeafToken::new(outcome) {
            Ok(outcome) => draft.with_outcome(&outcome),
            Err(_) => draft,
        }
    }

    /// Adds the contract, the principal and the tool. The entries of request and reply share them.
    pub fn add_caller_and_tool(
        &self,
        draft: Draft,
        principal: Option<&LeafToken>,
        tool: Option<&str>,
    ) -> Draft {
        let mut draft = match LeafToken::new(self.contract.as_str()) {
            Ok(contract) => draft.with_contract(&contract),
            Err(_) => draft,
        };
        if let Some(principal) = principal {
            draft = draft.with_principal(principal);
        }
        // A tool name that occurs only in the document is stored as its digest.
        match (tool, self.text("/tool")) {
            (Some(tool), _) => draft.with_tool(tool),
            (None, Some(tool)) if self.contract == Contract::Tool => draft.with_unknown_tool(tool),
            _ => draft,
        }
    }

    /// Returns the id of the request that the document claims to answer.
    pub fn request_id(&self) -> Option<LeafId> {
        self.id("/request_context/request_id")
    }

    /// Returns the outcome of the reply, in the words that all contracts share.
    pub fn outcome(&self) -> &str {
        if self.is_rejected() {
            return REFUSED;
        }
        let is_ui_error = self.value.pointer("/metadata/error") == Some(&Value::Bool(true));
        match (self.contract, self.status()) {
            (Contract::Ui, _) if is_ui_error => "error",
            (Contract::Ui, _) | (_, Some("success")) => "ok",
            (_, Some(word @ ("ok" | "warning" | "partial" | "error" | "refused"))) => word,
            _ => "error",
        }
    }

    fn verdict(&self) -> GovernanceVerdict {
        match self.verified {
            _ if self.is_rejected() => GovernanceVerdict::Refused,
            Some(_) => GovernanceVerdict::Accepted,
            None => GovernanceVerdict::Unverified,
        }
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.value.pointer(pointer).and_then(Value::as_str)
    }

    fn id(&self, pointer: &str) -> Option<LeafId> {
        self.text(pointer).and_then(|text| LeafId::parse(text).ok())
    }

    fn response_id(&self) -> Option<LeafId> {
        self.id("/response_id").filter(|_| self.contract == Contract::Governed)
    }

    /// Returns the status in the contract's own word.
    fn status(&self) -> Option<&str> {
        match self.contract {
            Contract::Governed => self.text("/response/status"),
            Contract::Ui => self.text("/response_type"),
            _ => self.text("/status"),
        }
    }

    fn time(&self) -> Option<Timestamp> {
        let pointer = match self.contract {
            Contract::Atdf => "/meta/timestamp",
            Contract::Tool => "/audit/timestamp",
            _ => "/timestamp",
        };
        Timestamp::parse(self.text(pointer)?).ok().map(|(time, _)| time)
    }

    fn claimed(&self) -> Option<ClaimedFlags> {
        let flag = |name: &str| self.value.get("governance")?.get(name)?.as_bool();
        Some(ClaimedFlags {
            within_scope: flag("within_scope")?,
            boundaries_respected: flag("boundaries_respected")?,
            quality_standards_met: flag("quality_standards_met")?,
            constraints_followed: flag("constraints_followed")?,
        })
    }
}

/// Explains why a document cannot be checked as a reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The document is not JSON, or exceeds the limits.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The document matches none of the contracts.
    #[error("not recognised as any contract")]
    Unrecognised,
    /// The document is not a reply.
    #[error("a {} is no reply", .0.title().trim_start_matches("ATDF "))]
    NotAReply(Contract),
}
