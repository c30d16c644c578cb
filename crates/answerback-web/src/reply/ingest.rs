use std::sync::Arc;

use answerback::UuidV7;
use answerback::contract::{Contract, Profile};
use answerback::json::Limits;
use answerback::{UuidV4, ValidationError};
use answerback_ledger::{Draft, LeafId, LeafToken};
use answerback_store::recording::{
    ActiveGovernance, RESPONSE, RecordingOutcome, ReplyError, ReplyRecording, ReviewedReply,
    redacted_parts, reply_id,
};
use answerback_store::system::{now, random};
use answerback_store::{Store, StoreError, Transaction, entry_reference};

use crate::artifact::{ArtifactDocument, SubmittedArtifact, register};
use crate::case::{CaseRequest, open_case};
use crate::files::Files;

/// The largest number of cases that one reply may open.
const MAX_CASES: usize = 20;

/// The name of the part with the state of the reply's files when it was recorded.
pub(crate) const FILES: &str = "files";

/// A submitted document.
#[derive(Clone, Debug)]
#[must_use]
pub struct SubmittedReply {
    bytes: Vec<u8>,
    contract: Option<Contract>,
    profile: Profile,
    principal: String,
    limits: Limits,
}

impl SubmittedReply {
    /// Creates a submission of this principal. By default the contract is recognized and checked strictly.
    pub fn new(bytes: impl Into<Vec<u8>>, principal: impl Into<String>) -> Self {
        let (contract, profile, limits) = (None, Profile::Strict, Limits::default());
        Self { bytes: bytes.into(), contract, profile, principal: principal.into(), limits }
    }

    /// Sets the contract instead of recognizing it.
    pub const fn with_contract(mut self, contract: Option<Contract>) -> Self {
        self.contract = contract;
        self
    }

    /// Sets how strictly the contract is checked.
    pub const fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }
}

/// A recorded reply.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IngestedReply {
    /// The index of its entry.
    pub index: u64,
    /// The reply's id.
    pub id: String,
    /// The reply's contract.
    pub contract: Contract,
    /// True if the reply broke its contract and was recorded as rejected.
    pub is_rejected: bool,
    /// True if the same reply was recorded before.
    pub is_repeated: bool,
    /// All findings.
    pub findings: Vec<ValidationError>,
    /// The cases that the reply opened.
    pub cases: Vec<UuidV7>,
    /// The reply's artifacts in the registry.
    pub artifacts: Vec<ArtifactDocument>,
}

/// Checks a reply and records it in one transaction, together with the cases that it opens.
///
/// # Errors
///
/// If the document is not a reply, or cannot be recorded. A reply that breaks its contract is recorded as rejected.
pub async fn ingest(
    store: &Store,
    governance: Option<Arc<ActiveGovernance>>,
    reply: SubmittedReply,
) -> Result<IngestedReply, IngestError> {
    ingest_with_files(store, governance, &Files::default(), reply).await
}

/// Records a reply like the public function, and also hashes the files that the reply refers to.
pub(crate) async fn ingest_with_files(
    store: &Store,
    governance: Option<Arc<ActiveGovernance>>,
    files: &Files,
    reply: SubmittedReply,
) -> Result<IngestedReply, IngestError> {
    let (reader, files) = (store.clone(), files.clone());
    // Checking and hashing a large document takes long, so it runs on a blocking thread.
    let prepare = move || PreparedReply::new(&reader, governance.as_deref(), &files, reply);
    let prepared = tokio::task::spawn_blocking(prepare).await;
    let prepared = prepared.map_err(|error| StoreError::unit(error.to_string()))??;
    let PreparedReply { contract, findings, is_rejected, id, recording, .. } = prepared;
    let PreparedReply { requests, submitted, principal, weight, .. } = prepared;
    let (cases, reply_id) = (requests.iter().map(|(id, _)| id.clone()).collect(), id.clone());
    let ticket = store.write_weighing(weight, move |transaction: &mut dyn Transaction| {
        let recorded = recording.append(transaction)?;
        let mut artifacts = Vec::new();
        if let RecordingOutcome::New(appended) = &recorded {
            artifacts = register(transaction, &submitted, (&reply_id, &principal), appended)?;
            for (case, request) in &requests {
                let reference = entry_reference(appended.index);
                open_case(transaction, case, request, (&reply_id, appended.index), &reference)?;
            }
        }
        Ok((recorded, artifacts))
    })?;
    let (recorded, artifacts) = ticket.await?.value;
    let (index, is_repeated) = match recorded {
        RecordingOutcome::New(appended) => (appended.index, false),
        RecordingOutcome::Repeated(index) => (index, true),
        RecordingOutcome::Conflict { appended, first } => {
            return Err(IngestError::IdTaken { id, first, index: appended.index });
        }
    };
    let cases = if is_repeated { Vec::new() } else { cases };
    Ok(IngestedReply { index, id, contract, is_rejected, is_repeated, findings, cases, artifacts })
}

/// A checked reply, with everything that its transaction writes.
struct PreparedReply {
    contract: Contract,
    findings: Vec<ValidationError>,
    is_rejected: bool,
    id: String,
    recording: ReplyRecording,
    requests: Vec<(UuidV7, CaseRequest)>,
    submitted: Vec<SubmittedArtifact>,
    principal: String,
    weight: usize,
}

impl PreparedReply {
    fn new(
        store: &Store,
        governance: Option<&ActiveGovernance>,
        files: &Files,
        reply: SubmittedReply,
    ) -> Result<Self, IngestError> {
        let SubmittedReply { bytes, contract, profile, principal, limits } = reply;
        let judged = ReviewedReply::read(bytes, contract, profile, limits, (governance, None))?;
        let (contract, is_rejected) = (judged.contract, judged.is_rejected());
        let requests =
            if is_rejected { Vec::new() } else { CaseRequest::all_of(&judged.value, contract) };
        if requests.len() > MAX_CASES {
            return Err(IngestError::TooManyCases(requests.len()));
        }
        let submitted = if is_rejected {
            Vec::new()
        } else {
            SubmittedArtifact::all_of(&judged.value, contract)
        };
        let unit = |error: std::io::Error| StoreError::unit(error.to_string());
        let reply_id = reply_id().map_err(unit)?;
        let request_id = judged.request_id().map_or_else(random_request_id, Ok)?;
        let token = LeafToken::new(&principal).ok();
        let request = Draft::request().with_request_id(request_id);
        let request = judged.add_caller_and_tool(request, token.as_ref(), None);
        let draft = judged.draft().with_request_id(request_id).with_reply_id(reply_id);
        let mut draft = judged.add_caller_and_tool(draft, token.as_ref(), None);
        let text = String::from_utf8_lossy(&judged.bytes);
        for part in redacted_parts(store, RESPONSE, &text, None)? {
            draft = draft.with_part(part);
        }
        let hashed = if is_rejected { Vec::new() } else { files.hash_files(&judged.value) };
        if !hashed.is_empty() {
            let hashed = serde_json::to_vec(&hashed).unwrap_or_default();
            draft = draft.with_part(store.part(FILES, hashed)?);
        }
        let requests: Vec<(UuidV7, CaseRequest)> = requests
            .into_iter()
            .map(|request| Ok((UuidV7::from_time(now(), random()?), request)))
            .collect::<std::io::Result<_>>()
            .map_err(unit)?;
        let id = draft.response_id().unwrap_or(reply_id).to_string();
        let weight = judged.bytes.len() + 16384 + 1024 * submitted.len();
        let recording = ReplyRecording::new(&judged, (request, draft), token.as_ref(), None);
        let recording = recording.map_err(unit)?;
        let findings = judged.findings;
        Ok(Self {
            contract,
            findings,
            is_rejected,
            id,
            recording,
            requests,
            submitted,
            principal,
            weight,
        })
    }
}

/// Creates an id for a request without one: a UUID of version 4, as the contracts require.
fn random_request_id() -> Result<LeafId, StoreError> {
    let random = random().map_err(|error| StoreError::unit(error.to_string()))?;
    LeafId::try_from(&UuidV4::from_random(random)).map_err(StoreError::unit)
}

/// The reason why a document was not recorded as a valid reply.
#[derive(Debug)]
#[non_exhaustive]
pub enum IngestError {
    /// The document is not a reply.
    Reply(ReplyError),
    /// The reply contains more questions and proposals than allowed.
    TooManyCases(usize),
    /// Another reply has the same id. The attempt is recorded as rejected.
    IdTaken {
        /// The id.
        id: String,
        /// The entry of the other reply.
        first: u64,
        /// The entry that records the attempt.
        index: u64,
    },
    /// The reply could not be recorded.
    Store(StoreError),
}

impl std::fmt::Display for IngestError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Reply(error) => error.fmt(formatter),
            Self::TooManyCases(count) => {
                write!(
                    formatter,
                    "a reply may contain at most {MAX_CASES} questions and proposals; this one has {count}"
                )
            }
            Self::IdTaken { id, first, index } => {
                write!(
                    formatter,
                    "another reply, entry {first}, already has the id {id}; this one was recorded as rejected, in entry {index}"
                )
            }
            // Agents read this text, so the details are only in the source.
            Self::Store(error) => formatter.write_str(&error.public_message()),
        }
    }
}

impl std::error::Error for IngestError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ReplyError> for IngestError {
    fn from(error: ReplyError) -> Self {
        Self::Reply(error)
    }
}

impl From<StoreError> for IngestError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
