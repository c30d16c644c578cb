//! The registry of artifacts, with the versions of each and their status.
//!
//! The history of each artifact is an internal stream of events. The content stays in the entries of the replies, so
//! erasing an entry also erases the title. The rules are those of the library's registry.

use answerback::Timestamp;
use answerback::contract::Contract;
use answerback::contract::ui::{ArtifactId, ArtifactStatus};
use answerback::finding::secrets;
use answerback_ledger::Hash;
use answerback_store::{
    AppendedEntry, LedgerEntry, Store, StoreError, StoredEvent, Transaction, entry_reference,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::text::shortened;

/// The name prefix of the streams that store artifact histories.
pub(crate) const ARTIFACT_STREAMS: &str = "answerback/artifact/";
/// The kind of the event that adds a version. Other events have the name of the latest version's new status.
const VERSION: &str = "version";
/// The largest number of artifacts that are registered per reply.
const MAX_PER_REPLY: usize = 256;
/// The largest number of versions of an artifact. A further version becomes a new artifact.
const MAX_VERSIONS: usize = 1000;
/// The largest number of events that are read from a history: versions and status changes.
const MAX_EVENTS: usize = 2 * MAX_VERSIONS;
/// The longest title in the registry, in characters.
const TITLE: usize = 300;
/// The longest kind, in characters.
const KIND: usize = 40;

/// A version of an artifact in the form that clients receive.
#[derive(Clone, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ArtifactDocument {
    /// The artifact's id, which all its versions share.
    pub id: String,
    /// The version's number, starting at 1.
    pub version: usize,
    /// The status: `draft`, `final`, `deprecated` or `superseded`.
    #[schemars(with = "String")]
    pub status: ArtifactStatus,
    /// The artifact type, or null if the content was erased.
    pub kind: Option<String>,
    /// The title, or null if the content was erased.
    pub title: Option<String>,
    /// The id of the reply that contains the version.
    pub reply: Option<String>,
    /// The index of that reply's entry.
    pub index: u64,
    /// The position among the reply's artifacts.
    pub position: Option<usize>,
    /// The principal that submitted the reply.
    pub by: Option<String>,
    /// The time when the version was recorded.
    pub created: String,
    /// The latest status change by a person, or null if there was none.
    pub settled: Option<StatusChange>,
}

/// A change of an artifact's status by a person.
#[derive(Clone, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StatusChange {
    /// The person who changed the status.
    pub by: Option<String>,
    /// The time of the change.
    pub at: String,
}

/// The versions of an artifact, oldest first. Never empty.
#[derive(Clone, Debug)]
pub(crate) struct VersionHistory(Vec<ArtifactDocument>);

impl VersionHistory {
    /// Reads the history of the artifact with this id.
    pub(crate) fn read(store: &Store, id: &ArtifactId) -> Result<Option<Self>, StoreError> {
        Ok(Self::of(id, store.newest_events(&stream_of(id), MAX_EVENTS)?))
    }

    fn read_in(
        transaction: &mut dyn Transaction,
        id: &ArtifactId,
    ) -> Result<Option<Self>, StoreError> {
        Ok(Self::of(id, transaction.newest_events(&stream_of(id), MAX_EVENTS)?))
    }

    /// Builds the history from its events, which are sorted newest first.
    fn of(id: &ArtifactId, newest_first: Vec<StoredEvent>) -> Option<Self> {
        let mut versions: Vec<ArtifactDocument> = Vec::new();
        for event in newest_first.into_iter().rev() {
            let body = body_of(&event);
            if event.kind == VERSION {
                let version = version(id, &event, &body, versions.last_mut())?;
                versions.push(version);
            } else if let (Some(latest), Some(status)) = (versions.last_mut(), status(&event.kind))
            {
                let by = text(&body, "by");
                latest.status = status;
                latest.settled = Some(StatusChange { by, at: event.time.to_offset_micros() });
            }
        }
        (!versions.is_empty()).then_some(Self(versions))
    }

    pub(crate) fn latest(&self) -> &ArtifactDocument {
        &self.0[self.0.len() - 1]
    }

    pub(crate) fn version(&self, number: usize) -> Option<&ArtifactDocument> {
        self.0.get(number.checked_sub(1)?)
    }

    pub(crate) fn versions(&self) -> &[ArtifactDocument] {
        &self.0
    }

    fn accepts_version_of(&self, principal: &str) -> bool {
        let latest = self.latest();
        latest.status.is_open()
            && latest.by.as_deref() == Some(principal)
            && self.0.len() < MAX_VERSIONS
    }
}

/// Builds the next version from an event. It takes over the status of the version before, which becomes superseded.
fn version(
    id: &ArtifactId,
    event: &StoredEvent,
    body: &Value,
    before: Option<&mut ArtifactDocument>,
) -> Option<ArtifactDocument> {
    let number = before.as_ref().map_or(1, |before| before.version + 1);
    let status = before.map_or(ArtifactStatus::Draft, |before| {
        std::mem::replace(&mut before.status, ArtifactStatus::Superseded)
    });
    Some(ArtifactDocument {
        id: id.to_string(),
        version: number,
        status,
        kind: text(body, "kind"),
        title: text(body, "title"),
        reply: text(body, "reply"),
        index: event.reference.as_deref()?.strip_prefix("entry/")?.parse().ok()?,
        position: body["position"].as_u64().and_then(|position| usize::try_from(position).ok()),
        by: text(body, "by"),
        created: event.time.to_offset_micros(),
        settled: None,
    })
}

fn text(body: &Value, name: &str) -> Option<String> {
    body[name].as_str().map(ToOwned::to_owned)
}

fn body_of(event: &StoredEvent) -> Value {
    event.body.as_deref().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default()
}

fn stream_of(id: &ArtifactId) -> String {
    format!("{ARTIFACT_STREAMS}{id}")
}

/// Parses a status that a person may set.
pub(crate) fn status(word: &str) -> Option<ArtifactStatus> {
    [ArtifactStatus::Final, ArtifactStatus::Deprecated]
        .into_iter()
        .find(|status| status.as_str() == word)
}

/// Returns the live message for an event of a history.
pub(crate) fn live_message(event: &StoredEvent) -> Option<Value> {
    let id = event.stream.strip_prefix(ARTIFACT_STREAMS)?;
    let body = body_of(event);
    Some(json!({
        "seq": event.seq, "time": event.time.to_offset_micros(), "artifact": id, "change": event.kind,
        "version": body["version"], "kind": body["kind"], "title": body["title"], "reply": body["reply"],
        "position": body["position"],
    }))
}

/// Derives the id of an artifact that declares none. The id follows from the artifact's entry, so it can be computed
/// again without a table.
fn id_at(entry: &Hash, micros: i64, position: usize) -> ArtifactId {
    let digest = Sha256::new_with_prefix(ARTIFACT_STREAMS)
        .chain_update(entry.as_bytes())
        .chain_update((position as u64).to_be_bytes())
        .finalize();
    let mut random = [0; 10];
    random.copy_from_slice(&digest[..10]);
    ArtifactId::new(Timestamp::from_unix_micros(micros), random)
}

/// An artifact of a submitted reply.
#[derive(Clone, Debug)]
pub(crate) struct SubmittedArtifact {
    position: usize,
    kind: String,
    title: String,
    /// The existing artifact that this one declares itself a version of.
    declared_id: Option<ArtifactId>,
}

impl SubmittedArtifact {
    /// Returns the artifacts of a reply that are to be registered.
    pub(crate) fn all_of(document: &Value, contract: Contract) -> Vec<Self> {
        if contract != Contract::Ui {
            return Vec::new();
        }
        let artifacts = document.get("artifacts").and_then(Value::as_array).into_iter().flatten();
        let submitted = artifacts.enumerate().map(|(position, artifact)| {
            let text = |name: &str| artifact[name].as_str().unwrap_or_default();
            let declared = artifact.pointer("/metadata/artifact_id").and_then(Value::as_str);
            Self {
                position,
                kind: shortened(text("artifact_type"), KIND),
                title: shortened(&secrets::redact(text("title")), TITLE),
                declared_id: declared.and_then(|text| ArtifactId::try_from(text).ok()),
            }
        });
        submitted.take(MAX_PER_REPLY).collect()
    }
}

/// Registers the artifacts of a reply in the transaction that records it. An artifact that names an existing one of the
/// same principal becomes its next version. Every other one is new.
pub(crate) fn register(
    transaction: &mut dyn Transaction,
    submitted: &[SubmittedArtifact],
    (reply, principal): (&str, &str),
    appended: &AppendedEntry,
) -> Result<Vec<ArtifactDocument>, StoreError> {
    let reference = entry_reference(appended.index);
    let mut registered = Vec::with_capacity(submitted.len());
    for artifact in submitted {
        let existing = match &artifact.declared_id {
            Some(id) => {
                VersionHistory::read_in(transaction, id)?.map(|history| (id.clone(), history))
            }
            None => None,
        };
        let existing = existing.filter(|(_, history)| history.accepts_version_of(principal));
        let (id, version, status) = match existing {
            Some((id, history)) => (id, history.latest().version + 1, history.latest().status),
            None => {
                let id = id_at(&appended.leaf_hash, appended.micros, artifact.position);
                (id, 1, ArtifactStatus::Draft)
            }
        };
        let body = json!({
            "version": version, "kind": artifact.kind, "title": artifact.title, "reply": reply,
            "position": artifact.position, "by": principal,
        });
        let body = body.to_string();
        transaction.append_event(&stream_of(&id), VERSION, Some(&reference), body.as_bytes())?;
        registered.push(ArtifactDocument {
            id: id.to_string(),
            version,
            status,
            kind: Some(artifact.kind.clone()),
            title: Some(artifact.title.clone()),
            reply: Some(reply.to_owned()),
            index: appended.index,
            position: Some(artifact.position),
            by: Some(principal.to_owned()),
            created: transaction.now().to_offset_micros(),
            settled: None,
        });
    }
    Ok(registered)
}

/// Returns the artifacts of an entry in their present state.
pub(crate) fn of_entry(
    store: &Store,
    entry: &LedgerEntry,
    document: &Value,
    contract: Contract,
) -> Result<Vec<ArtifactDocument>, StoreError> {
    let mut found = Vec::new();
    for artifact in SubmittedArtifact::all_of(document, contract) {
        let own = id_at(&entry.hash, entry.leaf.micros(), artifact.position);
        for id in artifact.declared_id.into_iter().chain([own]) {
            let history = VersionHistory::read(store, &id)?;
            let versions = history.iter().flat_map(VersionHistory::versions);
            let mut here = versions.filter(|version| {
                version.index == entry.index && version.position == Some(artifact.position)
            });
            if let Some(version) = here.next() {
                found.push(version.clone());
                break;
            }
        }
    }
    Ok(found)
}

/// Sets the status of the latest version, unless the person saw an older version. Does nothing if the status is the
/// same.
pub(crate) fn set_status(
    transaction: &mut dyn Transaction,
    id: &ArtifactId,
    seen_version: usize,
    status: ArtifactStatus,
    by: &str,
) -> Result<StatusChangeOutcome, StoreError> {
    let Some(history) = VersionHistory::read_in(transaction, id)? else {
        return Ok(StatusChangeOutcome::Unknown);
    };
    let latest = history.latest();
    if latest.version != seen_version {
        return Ok(StatusChangeOutcome::Stale(latest.version));
    }
    if latest.status == status {
        return Ok(StatusChangeOutcome::Unchanged);
    }
    if !latest.status.is_open() {
        return Ok(StatusChangeOutcome::Closed(latest.status));
    }
    let body = json!({"version": seen_version, "by": by}).to_string();
    transaction.append_event(&stream_of(id), status.as_str(), None, body.as_bytes())?;
    Ok(StatusChangeOutcome::Done)
}

/// The result of a status change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum StatusChangeOutcome {
    Done,
    /// The artifact had this status already.
    Unchanged,
    Unknown,
    /// There is a newer version, with this number.
    Stale(usize),
    /// The artifact is deprecated or superseded, so its status cannot change any more.
    Closed(ArtifactStatus),
}
