//! Opens cases from the proposals and questions in replies, and converts cases for clients.

use std::sync::Arc;

use answerback::case::{Case, CaseKind, CaseState};
use answerback::contract::Contract;
use answerback::contract::ui::{Artifact, ArtifactContent, ResponseBuilder, ResponseType, UiHints};
use answerback::finding::secrets;
use answerback::{Digest, Timestamp, UuidV7};
use answerback_http::{Principal, Scope};
use answerback_store::recording::{ACKNOWLEDGED, case_stream};
use answerback_store::system::now;
use answerback_store::{CaseRecord, NewCase, Store, StoreError, Transaction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::Console;
use crate::reply::{SubmittedReply, TakeInError, take_in_with};

/// The default time until a proposal or a question expires.
const LIFE_SECONDS: i64 = 24 * 60 * 60;
/// The longest time until a case expires.
const LONGEST_LIFE_SECONDS: i64 = 30 * 24 * 60 * 60;

/// A case as programs are shown it: without what only we can read.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[non_exhaustive]
pub struct CaseDocument {
    /// The case.
    #[schemars(with = "Value")]
    pub case: Case,
    /// When it came in.
    pub created: String,
    /// What the person is shown.
    pub content: Value,
    /// The entry that it belongs to.
    pub reference: Option<String>,
    /// Whether it lapsed undecided.
    pub is_expired: bool,
    /// That the agent has seen the decision.
    pub acknowledged: Option<Value>,
}

impl CaseDocument {
    /// Creates the document of a case, with the agent's acknowledgement.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn of(record: CaseRecord, store: &Store, now: Timestamp) -> Result<Self, StoreError> {
        let acknowledged = match &record.case.state {
            CaseState::Decided { .. } => acknowledgement(store, &record.case.id)?,
            _ => None,
        };
        Ok(Self {
            is_expired: record.case.is_expired(now),
            created: record.created.to_offset_micros(),
            content: serde_json::from_slice(&record.content).unwrap_or_default(),
            reference: record.reference,
            case: record.case,
            acknowledged,
        })
    }
}

fn acknowledgement(store: &Store, case: &UuidV7) -> Result<Option<Value>, StoreError> {
    let newest = store.newest_events(&case_stream(case), 2)?;
    let event = newest.into_iter().find(|event| event.kind == ACKNOWLEDGED);
    Ok(event.map(|event| {
        let body: Value =
            serde_json::from_slice(&event.body.unwrap_or_default()).unwrap_or_default();
        let at = event.time.to_offset_micros();
        json!({"by": body["by"], "outcome": body["outcome"], "note": body["note"], "at": at})
    }))
}

/// A mission that an agent proposes.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Proposal {
    /// What it is about, in a line.
    #[schemars(regex(pattern = r"\S"))]
    pub title: String,
    /// What kind of mission it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective_type: Option<String>,
    /// What is to happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// With what.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// What changed arguments have to fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<Value>,
    /// `low` or `high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
    /// What it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<String>,
    /// How long it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maximum" = u32::MAX))]
    pub expires_in_seconds: Option<u32>,
}

/// A question that an agent has.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Question {
    /// The question.
    #[schemars(regex(pattern = r"\S"))]
    pub question: String,
    /// Answers to choose from.
    #[serde(default)]
    pub options: Vec<String>,
    /// Whether another answer is welcome.
    #[serde(default = "yes")]
    pub allow_free_text: bool,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    /// How long it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maximum" = u32::MAX))]
    pub expires_in_seconds: Option<u32>,
}

const fn yes() -> bool {
    true
}

impl Proposal {
    /// Returns the proposal as a reply.
    ///
    /// # Errors
    ///
    /// If the title is blank.
    pub fn reply(&self, now: Timestamp) -> Result<Value, answerback::contract::Invalid> {
        let content = serde_json::to_value(self).unwrap_or_default();
        let draft = Artifact::new(self.title.clone(), ArtifactContent::MissionDraft(content));
        let hints = UiHints::default()
            .with_priority(if self.risk.as_deref() == Some("high") { "urgent" } else { "normal" })
            .with_color_scheme("info")
            .with_icon("clipboard")
            .with_actions(["Review", "Approve", "Modify", "Reject"]);
        let envelope = ResponseBuilder::new()
            .response_type(ResponseType::ArtifactBundle)
            .summary(self.title.clone())
            .add_artifact(draft)
            .hints(hints)
            .metadata("awaiting_approval", true)
            .build(now)?;
        Ok(envelope.to_document())
    }
}

impl Question {
    /// Returns the question as a reply.
    ///
    /// # Errors
    ///
    /// If the question is blank.
    pub fn reply(&self, now: Timestamp) -> Result<Value, answerback::contract::Invalid> {
        let options = self.options.clone();
        let asked = answerback::contract::ui::clarification_response(
            self.question.clone(),
            options,
            self.context.clone(),
            now,
        )?;
        let mut document = asked.to_document();
        document["metadata"]["clarification"]["allow_free_text"] = self.allow_free_text.into();
        if let Some(seconds) = self.expires_in_seconds {
            document["metadata"]["clarification"]["expires_in_seconds"] = seconds.into();
        }
        Ok(document)
    }
}

/// A question or proposal in a reply that needs a decision.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) kind: CaseKind,
    pub(crate) content: Map<String, Value>,
    pub(crate) life_seconds: i64,
}

impl Asked {
    /// Returns everything in a reply that needs a decision: its question, and its missions that await approval.
    pub(crate) fn all_of(document: &Value, contract: Contract) -> Vec<Self> {
        if contract != Contract::Ui {
            return Vec::new();
        }
        let question = Self::question(document);
        let awaits =
            |at: &Value| at.pointer("/metadata/awaiting_approval") == Some(&Value::Bool(true));
        let artifacts = document.get("artifacts").and_then(Value::as_array).into_iter().flatten();
        let drafts = artifacts
            .filter(|artifact| artifact["artifact_type"] == "mission_draft")
            .filter(|artifact| awaits(artifact) || awaits(document))
            .map(|artifact| Self::proposal(document, artifact));
        question.into_iter().chain(drafts).collect()
    }

    fn question(document: &Value) -> Option<Self> {
        if document["response_type"] != "clarification_request" {
            return None;
        }
        let asked = document.pointer("/metadata/clarification");
        let member = |name: &str| asked.and_then(|asked| asked.get(name));
        let question = member("question").unwrap_or(&document["summary"]);
        let options = member("options").and_then(Value::as_array).into_iter().flatten();
        let options: Vec<Value> = options
            .enumerate()
            .map(|(number, option)| match option {
                Value::Object(_) => option.clone(),
                other => {
                    let label = other.as_str().map_or_else(|| other.to_string(), ToOwned::to_owned);
                    json!({"id": number.to_string(), "label": label})
                }
            })
            .collect();
        let is_free = member("allow_free_text").and_then(Value::as_bool);
        let mut content = Map::new();
        content.insert("question".into(), question.clone());
        content.insert("allow_free_text".into(), is_free.unwrap_or(true).into());
        content.insert("options".into(), options.into());
        if let Some(context) = member("context") {
            content.insert("context".into(), context.clone());
        }
        let life_seconds = life(asked);
        Some(Self { kind: CaseKind::Question, content, life_seconds })
    }

    fn proposal(document: &Value, artifact: &Value) -> Self {
        let draft = &artifact["content"];
        let mut content = Map::new();
        content.insert("title".into(), artifact["title"].clone());
        match draft {
            Value::Object(members) => {
                for (name, value) in members.iter().filter(|(name, _)| *name != "title") {
                    content.insert(name.clone(), value.clone());
                }
            }
            other => {
                content.insert("description".into(), other.clone());
            }
        }
        // A mission reference has an objective in place of a description.
        if let (None, Some(said)) = (content.get("description"), draft.get("objective_description"))
        {
            content.insert("description".into(), said.clone());
        }
        if let Some(actions) = document.pointer("/ui_hints/suggested_actions") {
            content.insert("suggested_actions".into(), actions.clone());
        }
        Self { kind: CaseKind::Proposal, content, life_seconds: life(Some(draft)) }
    }
}

fn life(said: Option<&Value>) -> i64 {
    let seconds = said.and_then(|said| said.get("expires_in_seconds")).and_then(Value::as_i64);
    seconds.unwrap_or(LIFE_SECONDS).clamp(1, LONGEST_LIFE_SECONDS)
}

impl Console {
    /// Records a reply with a question or proposal, and returns the id of its case.
    pub(crate) async fn ask(&self, reply: &Value, principal: &str) -> Result<UuidV7, AskError> {
        let handed_in = SubmittedReply::new(reply.to_string(), principal);
        let mut taken = take_in_with(&self.store, None, &self.files, handed_in).await?;
        self.live.nudge();
        if taken.cases.is_empty() { Err(AskError::Nothing) } else { Ok(taken.cases.remove(0)) }
    }

    /// Waits until the case is decided or expired, or until the deadline, and returns it. Returns `None` if the case
    /// does not exist. The principal who asked gets the decision as submitted; all others get the recorded one, which
    /// is redacted.
    pub(crate) async fn decided(
        self: &Arc<Self>,
        id: &UuidV7,
        principal: &str,
        until: Instant,
    ) -> Result<Option<CaseDocument>, StoreError> {
        let mut level = self.live.subscribe().await?;
        loop {
            level.mark_unchanged();
            let (console, asked, principal) = (Arc::clone(self), id.clone(), principal.to_owned());
            let read = move || {
                let record = console.store.case(&asked)?;
                record.map(|record| console.told_to(&principal, record)).transpose()
            };
            let read = tokio::task::spawn_blocking(read).await;
            let found = read.unwrap_or_else(|error| Err(StoreError::unit(error.to_string())))?;
            let Some(case) = found else { return Ok(None) };
            if case.case.decision().is_some() || case.is_expired || Instant::now() >= until {
                return Ok(Some(case));
            }
            tokio::select! {
                _ = level.changed() => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
    }

    fn told_to(&self, principal: &str, record: CaseRecord) -> Result<CaseDocument, StoreError> {
        let is_hidden = record.private.is_some() && record.case.decision().is_some();
        let given = if is_hidden && self.was_asked_by(&record, principal)? {
            self.behind.as_given(&record)
        } else {
            None
        };
        let mut document = CaseDocument::of(record, &self.store, now())?;
        if let (CaseState::Decided { submission, .. }, Some(given)) =
            (&mut document.case.state, given)
        {
            submission.decision = given;
        }
        Ok(document)
    }

    /// True if the principal may see the case: it submitted the reply, or it has the scope `read`.
    pub(crate) fn hears(
        &self,
        record: &CaseRecord,
        principal: &Principal,
    ) -> Result<bool, StoreError> {
        if principal.has(Scope::Read) {
            return Ok(true);
        }
        self.was_asked_by(record, principal.name())
    }

    /// True if the case belongs to a reply or call of this principal.
    pub(crate) fn was_asked_by(
        &self,
        record: &CaseRecord,
        principal: &str,
    ) -> Result<bool, StoreError> {
        let index =
            record.reference.as_deref().and_then(|it| it.strip_prefix("entry/")?.parse().ok());
        let Some(index) = index else { return Ok(false) };
        let entry = self.store.entry(index)?;
        Ok(entry.is_some_and(|entry| entry.leaf.text("principal") == Some(principal)))
    }
}

/// The reason why no case was opened.
#[derive(Debug)]
pub(crate) enum AskError {
    /// The reply contains no question and no proposal.
    Nothing,
    /// The reply was not recorded.
    Reply(TakeInError),
}

impl std::fmt::Display for AskError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => formatter.write_str("nothing is asked"),
            Self::Reply(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for AskError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Reply(error) => error.source(),
            Self::Nothing => None,
        }
    }
}

impl From<TakeInError> for AskError {
    fn from(error: TakeInError) -> Self {
        Self::Reply(error)
    }
}

/// Opens the case for a question or proposal of a reply.
pub(crate) fn open(
    transaction: &mut dyn Transaction,
    id: &UuidV7,
    asked: &Asked,
    (reply, index): (&str, u64),
    reference: &str,
) -> Result<(), StoreError> {
    let mut content = asked.content.clone();
    content.insert("reply".into(), json!({"id": reply, "index": index}));
    // The content is redacted before it is stored or shown. The digest is that of the redacted content.
    let content = secrets::redact_value(&Value::Object(content));
    let now = transaction.now();
    let expires = Timestamp::from_unix_millis(now.unix_millis() + asked.life_seconds * 1000);
    let case = Case::new(id.clone(), asked.kind, Digest::of(&content), expires);
    let new = NewCase::new(case, content.to_string()).with_reference(reference);
    transaction.put_case(&new).map(|_| ())
}
