use answerback::case::{Case, CaseKind};
use answerback::contract::Contract;
use answerback::finding::secrets;
use answerback::{Digest, Timestamp, UuidV7};
use answerback_store::{NewCase, StoreError, Transaction};
use serde_json::{Map, Value, json};

/// The default time until a proposal or a question expires.
const DEFAULT_LIFETIME_SECONDS: i64 = 24 * 60 * 60;
/// The longest time until a case expires.
const MAX_LIFETIME_SECONDS: i64 = 30 * 24 * 60 * 60;

/// A question or proposal in a reply that needs a decision.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CaseRequest {
    pub(crate) kind: CaseKind,
    pub(crate) content: Map<String, Value>,
    pub(crate) lifetime_seconds: i64,
}

impl CaseRequest {
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
        let clarification = document.pointer("/metadata/clarification");
        let member = |name: &str| clarification.and_then(|clarification| clarification.get(name));
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
        let lifetime_seconds = lifetime_seconds(clarification);
        Some(Self { kind: CaseKind::Question, content, lifetime_seconds })
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
        if let (None, Some(objective)) =
            (content.get("description"), draft.get("objective_description"))
        {
            content.insert("description".into(), objective.clone());
        }
        if let Some(actions) = document.pointer("/ui_hints/suggested_actions") {
            content.insert("suggested_actions".into(), actions.clone());
        }
        Self { kind: CaseKind::Proposal, content, lifetime_seconds: lifetime_seconds(Some(draft)) }
    }
}

fn lifetime_seconds(source: Option<&Value>) -> i64 {
    let seconds =
        source.and_then(|source| source.get("expires_in_seconds")).and_then(Value::as_i64);
    seconds.unwrap_or(DEFAULT_LIFETIME_SECONDS).clamp(1, MAX_LIFETIME_SECONDS)
}

/// Opens the case for a question or proposal of a reply.
pub(crate) fn open_case(
    transaction: &mut dyn Transaction,
    id: &UuidV7,
    request: &CaseRequest,
    (reply, index): (&str, u64),
    reference: &str,
) -> Result<(), StoreError> {
    let mut content = request.content.clone();
    content.insert("reply".into(), json!({"id": reply, "index": index}));
    // The content is redacted before it is stored or shown. The digest is that of the redacted content.
    let content = secrets::redact_value(&Value::Object(content));
    let now = transaction.now();
    let expires = Timestamp::from_unix_millis(now.unix_millis() + request.lifetime_seconds * 1000);
    let case = Case::new(id.clone(), request.kind, Digest::of(&content), expires);
    let new = NewCase::new(case, content.to_string()).with_reference(reference);
    transaction.put_case(&new).map(|_| ())
}
