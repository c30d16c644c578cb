//! Records a handoff as the request that a response answers.

use answerback::Timestamp;
use answerback::ValidationError;
use answerback::contract::{Contract, Profile};
use answerback::governance::Handoff;
use answerback::json::{Limits, read};

use answerback_ledger::{Draft, LeafId, LeafKind, LeafToken};
use answerback_store::recording::{ActiveGovernance, add_agent, parts_of_bytes, redacted};
use answerback_store::{EntryFilter, Store};
use anyhow::{Context, bail};
use serde_json::Value;

use super::record::Arguments;
use crate::governance_inputs::recognised;
use crate::input::InputSource;

/// The name of the part with the handoff.
const PART: &str = "handoff";

/// A parsed handoff. It is verified later, together with its response.
pub(super) struct RecordedHandoff {
    name: String,
    bytes: Vec<u8>,
    pub(super) value: Value,
    pub(super) id: LeafId,
    /// The handoff with its source agent, if it is valid under manifest and lock.
    source: Option<Handoff>,
}

impl RecordedHandoff {
    pub(super) fn read(
        input: &InputSource,
        limits: Limits,
        in_force: &ActiveGovernance,
    ) -> anyhow::Result<Self> {
        let (name, bytes) = (input.name(), input.bytes(limits)?);
        let document = read(&bytes, limits).with_context(|| name.clone())?;
        let value = recognised(document, &name, Contract::Handoff)?;
        let id = value.get("handoff_id").and_then(Value::as_str);
        let id = id.and_then(|id| LeafId::parse(id).ok());
        let id = id.with_context(|| format!("{name} has no handoff_id that is a UUID"))?;
        let found = in_force.authority().check_handoff(&value, Profile::Strict);
        let is_sound = !found.iter().any(ValidationError::is_error);
        let source = Handoff::from_document(&value).ok().filter(|_| is_sound);
        Ok(Self { name, bytes, value, id, source })
    }

    /// Rejects the handoff if the log has a different one with the same id.
    pub(super) fn check_recorded(&self, store: &Store) -> anyhow::Result<()> {
        let filter = EntryFilter::default()
            .with_kind(LeafKind::Request)
            .with_request_id(self.id)
            .newest_first();
        let page = store.entries(&filter, None, 1)?;
        let Some(index) = page.entries.first().map(|entry| entry.index) else { return Ok(()) };
        let parts = store.entry(index)?.map(|entry| entry.parts).unwrap_or_default();
        let kept = parts.iter().find(|part| part.name().as_str() == PART);
        let shown = redacted(std::str::from_utf8(&self.bytes)?, None);
        if kept.is_some_and(|part| **part.bytes() != *shown.as_bytes()) {
            bail!("{}: entry {index} of the log is another handoff with this id", self.name);
        }
        Ok(())
    }

    /// Drafts the request entry that the response answers.
    pub(super) fn request(&self, store: &Store, arguments: &Arguments) -> anyhow::Result<Draft> {
        let mut draft = Draft::request()
            .with_request_id(self.id)
            .with_contract(&LeafToken::new(Contract::Handoff.as_str())?);
        for part in parts_of_bytes(store, PART, &self.bytes)? {
            draft = draft.with_part(part);
        }
        if let Some(principal) = &arguments.principal {
            draft = draft.with_principal(principal);
        }
        let time = self.value.get("timestamp").and_then(Value::as_str);
        if let Some((time, _)) = time.and_then(|time| Timestamp::parse(time).ok()) {
            draft = draft.with_claimed_time(time);
        }
        Ok(match &self.source {
            Some(handoff) => add_agent(draft, &handoff.source_agent),
            None => draft,
        })
    }
}
