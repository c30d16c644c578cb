use std::sync::Arc;

use answerback::UuidV7;
use answerback::contract::{Contract, Profile};
use answerback::json::Limits;
use answerback::{UuidV4, ValidationError};
use answerback_ledger::{Draft, LeafId, LeafToken};
use answerback_store::recording::{
    ActiveGovernance, RESPONSE, RecordingOutcome, ReplyError, ReplyRecording, ReviewedReply, parts,
    reply_id,
};
use answerback_store::system::{now, random};
use answerback_store::{Store, StoreError, Transaction, entry_reference};

use crate::artifact::{ArtifactDocument, SubmittedArtifact, register};
use crate::case::{Asked, open};
use crate::files::Files;

/// The largest number of cases that one reply may open.
const MOST_ASKED: usize = 20;

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
pub struct Taken {
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
pub async fn take_in(
    store: &Store,
    in_force: Option<Arc<ActiveGovernance>>,
    handed_in: SubmittedReply,
) -> Result<Taken, TakeInError> {
    take_in_with(store, in_force, &Files::default(), handed_in).await
}

/// Records a reply like the public function, and also hashes the files that the reply refers to.
pub(crate) async fn take_in_with(
    store: &Store,
    in_force: Option<Arc<ActiveGovernance>>,
    files: &Files,
    handed_in: SubmittedReply,
) -> Result<Taken, TakeInError> {
    let (aside, files) = (store.clone(), files.clone());
    // Checking and hashing a large document takes long, so it runs on a blocking thread.
    let prepare = move || Prepared::new(&aside, in_force.as_deref(), &files, handed_in);
    let prepared = tokio::task::spawn_blocking(prepare).await;
    let prepared = prepared.map_err(|error| StoreError::unit(error.to_string()))??;
    let Prepared { contract, findings, is_rejected, id, recording, .. } = prepared;
    let Prepared { asked, brought, principal, weight, .. } = prepared;
    let (cases, told) = (asked.iter().map(|(id, _)| id.clone()).collect(), id.clone());
    let ticket = store.write_weighing(weight, move |transaction: &mut dyn Transaction| {
        let recorded = recording.append(transaction)?;
        let mut artifacts = Vec::new();
        if let RecordingOutcome::New(appended) = &recorded {
            artifacts = register(transaction, &brought, (&told, &principal), appended)?;
            for (case, asked) in &asked {
                let reference = entry_reference(appended.index);
                open(transaction, case, asked, (&told, appended.index), &reference)?;
            }
        }
        Ok((recorded, artifacts))
    })?;
    let (recorded, artifacts) = ticket.await?.value;
    let (index, is_repeated) = match recorded {
        RecordingOutcome::New(appended) => (appended.index, false),
        RecordingOutcome::Repeated(index) => (index, true),
        RecordingOutcome::Conflict { appended, first } => {
            return Err(TakeInError::Taken { id, first, index: appended.index });
        }
    };
    let cases = if is_repeated { Vec::new() } else { cases };
    Ok(Taken { index, id, contract, is_rejected, is_repeated, findings, cases, artifacts })
}

/// A checked reply, with everything that its transaction writes.
struct Prepared {
    contract: Contract,
    findings: Vec<ValidationError>,
    is_rejected: bool,
    id: String,
    recording: ReplyRecording,
    asked: Vec<(UuidV7, Asked)>,
    brought: Vec<SubmittedArtifact>,
    principal: String,
    weight: usize,
}

impl Prepared {
    fn new(
        store: &Store,
        in_force: Option<&ActiveGovernance>,
        files: &Files,
        handed_in: SubmittedReply,
    ) -> Result<Self, TakeInError> {
        let SubmittedReply { bytes, contract, profile, principal, limits } = handed_in;
        let judged = ReviewedReply::read(bytes, contract, profile, limits, (in_force, None))?;
        let (contract, is_rejected) = (judged.contract, judged.is_rejected());
        let asked = if is_rejected { Vec::new() } else { Asked::all_of(&judged.value, contract) };
        if asked.len() > MOST_ASKED {
            return Err(TakeInError::TooMuchAsked(asked.len()));
        }
        let brought = if is_rejected {
            Vec::new()
        } else {
            SubmittedArtifact::all_of(&judged.value, contract)
        };
        let unit = |error: std::io::Error| StoreError::unit(error.to_string());
        let reply_id = reply_id().map_err(unit)?;
        let request_id = judged.request_id().map_or_else(fresh_id, Ok)?;
        let token = LeafToken::new(&principal).ok();
        let request = Draft::request().with_request_id(request_id);
        let request = judged.add_caller_and_tool(request, token.as_ref(), None);
        let draft = judged.draft().with_request_id(request_id).with_reply_id(reply_id);
        let mut draft = judged.add_caller_and_tool(draft, token.as_ref(), None);
        let text = String::from_utf8_lossy(&judged.bytes);
        for part in parts(store, RESPONSE, &text, None)? {
            draft = draft.with_part(part);
        }
        let noted = if is_rejected { Vec::new() } else { files.note(&judged.value) };
        if !noted.is_empty() {
            let noted = serde_json::to_vec(&noted).unwrap_or_default();
            draft = draft.with_part(store.part(FILES, noted)?);
        }
        let asked: Vec<(UuidV7, Asked)> = asked
            .into_iter()
            .map(|asked| Ok((UuidV7::from_time(now(), random()?), asked)))
            .collect::<std::io::Result<_>>()
            .map_err(unit)?;
        let id = draft.response_id().unwrap_or(reply_id).to_string();
        let weight = judged.bytes.len() + 16384 + 1024 * brought.len();
        let recording = ReplyRecording::new(&judged, (request, draft), token.as_ref(), None);
        let recording = recording.map_err(unit)?;
        let findings = judged.findings;
        Ok(Self {
            contract,
            findings,
            is_rejected,
            id,
            recording,
            asked,
            brought,
            principal,
            weight,
        })
    }
}

/// Creates an id for a request without one: a UUID of version 4, as the contracts require.
fn fresh_id() -> Result<LeafId, StoreError> {
    let random = random().map_err(|error| StoreError::unit(error.to_string()))?;
    LeafId::try_from(&UuidV4::from_random(random)).map_err(StoreError::unit)
}

/// The reason why a document was not recorded as a valid reply.
#[derive(Debug)]
#[non_exhaustive]
pub enum TakeInError {
    /// The document is not a reply.
    Reply(ReplyError),
    /// The reply contains more questions and proposals than allowed.
    TooMuchAsked(usize),
    /// Another reply has the same id. The attempt is recorded as rejected.
    Taken {
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

impl std::fmt::Display for TakeInError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Reply(error) => error.fmt(formatter),
            Self::TooMuchAsked(count) => {
                write!(
                    formatter,
                    "a reply asks a person at most {MOST_ASKED} things; this one asks {count}"
                )
            }
            Self::Taken { id, first, index } => {
                write!(
                    formatter,
                    "entry {first} is another reply with the id {id}; this one is recorded as rejected, as entry {index}"
                )
            }
            // Agents read this text, so the details are only in the source.
            Self::Store(error) => formatter.write_str(&error.public_message()),
        }
    }
}

impl std::error::Error for TakeInError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ReplyError> for TakeInError {
    fn from(error: ReplyError) -> Self {
        Self::Reply(error)
    }
}

impl From<StoreError> for TakeInError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
