use answerback::contract::governed::AgentIdentity;
use answerback::contract::{Contract, Profile, recognise};
use answerback::governance::Verification;
use answerback::json::{Limits, ReadError, read};
use answerback::{Timestamp, ValidationError};
use answerback_ledger::leaf::{Attestation, Outcome};
use answerback_ledger::{Draft, Id, Kind, Token};
use serde_json::Value;

use crate::system::now;
use crate::{InForce, identified};

/// The error code of a reply whose id belongs to another reply.
pub const TAKEN: &str = "RESPONSE_ID_TAKEN";

/// The outcome of a rejected reply, in the words that all contracts share.
const REFUSED: &str = "refused";

/// A parsed reply with the findings of its contract.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JudgedReply<'a> {
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
    pub verified: Option<&'a InForce>,
}

impl<'a> JudgedReply<'a> {
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
        (in_force, handoff): (Option<&'a InForce>, Option<&Value>),
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
    pub fn kind(&self) -> Kind {
        if self.is_rejected() { Kind::Rejected } else { Kind::Response }
    }

    /// Creates the draft of the reply's entry. It copies words of the document only if they are
    /// tokens.
    pub fn draft(&self) -> Draft {
        let codes =
            || self.errors().filter_map(|finding| Token::new(finding.error_code.as_ref()).ok());
        let mut draft = if self.is_rejected() {
            Draft::rejected().with_codes(codes())
        } else {
            Draft::response()
        };
        if let Some(id) = self.response_id() {
            draft = draft.with_response_id(id);
        }
        draft = self.described(draft, self.outcome());
        if self.contract == Contract::Governed {
            draft = match self.claimed() {
                Some(claimed) => draft.with_claimed(claimed),
                None => draft,
            };
            draft = draft.with_verdict(self.verdict(), codes());
        }
        if let Some(in_force) = self.verified {
            draft = in_force.name(draft);
        }
        match self.agent {
            Some(agent) => identified(draft, agent),
            None => draft,
        }
    }

    /// Creates the draft for a reply whose id belongs to another reply. It is always rejected, and
    /// does not contain the id.
    pub fn draft_of_conflict(&self) -> Draft {
        let code = || Token::new(TAKEN).ok();
        let draft = self.described(Draft::rejected().with_codes(code()), REFUSED);
        if self.contract != Contract::Governed {
            return draft;
        }
        draft.with_verdict(Outcome::Refused, code())
    }

    /// Adds the data that every entry of the reply contains: correlation id, status, time and
    /// outcome.
    fn described(&self, mut draft: Draft, outcome: &str) -> Draft {
        if let Some(id) = self.id("/audit/correlation_id") {
            draft = draft.with_correlation_id(id);
        }
        if let Some(status) = self.status().and_then(|status| Token::new(status).ok()) {
            draft = draft.with_status(&status);
        }
        if let Some(time) = self.time() {
            draft = draft.with_claimed_time(time);
        }
        match Token::new(outcome) {
            Ok(outcome) => draft.with_outcome(&outcome),
            Err(_) => draft,
        }
    }

    /// Adds the data that the entries of request and reply share: contract, principal and tool.
    pub fn told(&self, draft: Draft, principal: Option<&Token>, tool: Option<&str>) -> Draft {
        let mut draft = match Token::new(self.contract.as_str()) {
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
    pub fn request_id(&self) -> Option<Id> {
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

    fn verdict(&self) -> Outcome {
        match self.verified {
            _ if self.is_rejected() => Outcome::Refused,
            Some(_) => Outcome::Accepted,
            None => Outcome::Unverified,
        }
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.value.pointer(pointer).and_then(Value::as_str)
    }

    fn id(&self, pointer: &str) -> Option<Id> {
        self.text(pointer).and_then(|text| Id::parse(text).ok())
    }

    fn response_id(&self) -> Option<Id> {
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

    fn claimed(&self) -> Option<Attestation> {
        let flag = |name: &str| self.value.get("governance")?.get(name)?.as_bool();
        Some(Attestation {
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
