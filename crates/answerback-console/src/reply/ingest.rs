use std::sync::Arc;

use answerback::UuidV7;
use answerback::contract::{Contract, Profile};
use answerback::json::Limits;
use answerback::{UuidV4, ValidationError};
use answerback_ledger::{Draft, Id, Token};
use answerback_record::system::{now, random};
use answerback_record::{
    InForce, JudgedReply, RESPONSE, Recorded, Recording, ReplyError, parts, reply_id,
};
use answerback_store::{Store, StoreError, Transaction, entry_reference};

use crate::artifact::{ArtifactDocument, SubmittedArtifact, register};
use crate::case::{Asked, open};
use crate::files::Files;

/// How much one reply may lay before a person.
const MOST_ASKED: usize = 20;

/// The part that says what the files of a reply were when it came in.
pub(crate) const FILES: &str = "files";

/// A document on its way in.
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
    /// A document that this principal hands in; its contract is recognised, and judged strictly.
    pub fn new(bytes: impl Into<Vec<u8>>, principal: impl Into<String>) -> Self {
        let (contract, profile, limits) = (None, Profile::Strict, Limits::default());
        Self { bytes: bytes.into(), contract, profile, principal: principal.into(), limits }
    }

    /// Names the contract.
    pub const fn with_contract(mut self, contract: Option<Contract>) -> Self {
        self.contract = contract;
        self
    }

    /// How strictly it is judged.
    pub const fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }
}

/// A reply that was recorded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Taken {
    /// Its entry.
    pub index: u64,
    /// Its id.
    pub id: String,
    /// Its contract.
    pub contract: Contract,
    /// Whether it was rejected: it is in the record as such.
    pub is_rejected: bool,
    /// Whether it was in the record before.
    pub is_repeated: bool,
    /// All that was found.
    pub findings: Vec<ValidationError>,
    /// The cases that it opened.
    pub cases: Vec<UuidV7>,
    /// Its artifacts in the registry.
    pub artifacts: Vec<ArtifactDocument>,
}

/// Judges a reply and records it, with the cases that it lays before a person, in one transaction.
///
/// # Errors
///
/// When it is no reply at all, or cannot be recorded. One that breaks its contract is recorded as rejected.
pub async fn take_in(
    store: &Store,
    in_force: Option<Arc<InForce>>,
    handed_in: SubmittedReply,
) -> Result<Taken, TakeInError> {
    take_in_with(store, in_force, &Files::default(), handed_in).await
}

/// As [`ingest`], and notes what the files that the reply refers to are now.
pub(crate) async fn take_in_with(
    store: &Store,
    in_force: Option<Arc<InForce>>,
    files: &Files,
    handed_in: SubmittedReply,
) -> Result<Taken, TakeInError> {
    let (aside, files) = (store.clone(), files.clone());
    // Judging and hashing take as long as the document is large, and others are served meanwhile.
    let prepare = move || Prepared::new(&aside, in_force.as_deref(), &files, handed_in);
    let prepared = tokio::task::spawn_blocking(prepare).await;
    let prepared = prepared.map_err(|error| StoreError::unit(error.to_string()))??;
    let Prepared { contract, findings, is_rejected, id, recording, .. } = prepared;
    let Prepared { asked, brought, principal, weight, .. } = prepared;
    let (cases, told) = (asked.iter().map(|(id, _)| id.clone()).collect(), id.clone());
    let ticket = store.write_weighing(weight, move |transaction: &mut dyn Transaction| {
        let recorded = recording.append(transaction)?;
        let mut artifacts = Vec::new();
        if let Recorded::New(appended) = &recorded {
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
        Recorded::New(appended) => (appended.index, false),
        Recorded::Repeated(index) => (index, true),
        Recorded::Conflict { appended, first } => {
            return Err(TakeInError::Taken { id, first, index: appended.index });
        }
    };
    let cases = if is_repeated { Vec::new() } else { cases };
    Ok(Taken { index, id, contract, is_rejected, is_repeated, findings, cases, artifacts })
}

/// A reply that was judged, with all that its transaction writes.
struct Prepared {
    contract: Contract,
    findings: Vec<ValidationError>,
    is_rejected: bool,
    id: String,
    recording: Recording,
    asked: Vec<(UuidV7, Asked)>,
    brought: Vec<SubmittedArtifact>,
    principal: String,
    weight: usize,
}

impl Prepared {
    fn new(
        store: &Store,
        in_force: Option<&InForce>,
        files: &Files,
        handed_in: SubmittedReply,
    ) -> Result<Self, TakeInError> {
        let SubmittedReply { bytes, contract, profile, principal, limits } = handed_in;
        let judged = JudgedReply::read(bytes, contract, profile, limits, (in_force, None))?;
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
        let token = Token::new(&principal).ok();
        let request = Draft::request().with_request_id(request_id);
        let request = judged.told(request, token.as_ref(), None);
        let draft = judged.draft().with_request_id(request_id).with_reply_id(reply_id);
        let mut draft = judged.told(draft, token.as_ref(), None);
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
        let recording = Recording::new(&judged, (request, draft), token.as_ref(), None);
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

/// A new id for a request that nobody gave one: a UUID of version 4, as the documents have it.
fn fresh_id() -> Result<Id, StoreError> {
    let random = random().map_err(|error| StoreError::unit(error.to_string()))?;
    Id::try_from(&UuidV4::from_random(random)).map_err(StoreError::unit)
}

/// Why a document was not taken in as it is.
#[derive(Debug)]
#[non_exhaustive]
pub enum TakeInError {
    /// It is no reply.
    Reply(ReplyError),
    /// It lays more before a person than one reply may.
    TooMuchAsked(usize),
    /// Another reply has its id. That it came is recorded, as rejected.
    Taken {
        /// The id.
        id: String,
        /// The entry of the other.
        first: u64,
        /// The entry that says so.
        index: u64,
    },
    /// It could not be recorded.
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
            // Agents read it; the detail is the source.
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
