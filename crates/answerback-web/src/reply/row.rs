use std::collections::BTreeMap;

use answerback::Timestamp;
use answerback_ledger::{Leaf, LeafKind};
use answerback_store::LedgerEntry;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::ReplyView;
use crate::text::shortened;

/// The longest summary in a list, in characters.
const SUMMARY: usize = 300;

/// A reply in a list.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[non_exhaustive]
pub struct ReplyRow {
    /// The reply's id, if it has one.
    pub id: Option<String>,
    /// The index of the reply's entry in the ledger.
    pub index: u64,
    /// The time when the reply was recorded.
    pub time: String,
    /// The kind of entry: `response`, `rejected`, `validation` or `escalation`.
    pub kind: String,
    /// The reply's contract.
    pub contract: Option<String>,
    /// The recorded outcome.
    pub outcome: Option<String>,
    /// The tool that was called.
    pub tool: Option<String>,
    /// The agent that was verified against manifest and lock.
    pub agent: Option<String>,
    /// The server that the call was forwarded to.
    pub server: Option<String>,
    /// The principal that submitted the reply or made the call.
    pub principal: Option<String>,
    /// A summary of one or two lines.
    pub summary: String,
    /// The number of artifacts of each type.
    pub artifacts: BTreeMap<String, usize>,
    /// The live stream of the reply.
    pub live_stream_id: Option<String>,
    /// True if some of the content was erased.
    pub erased: bool,
}

impl ReplyRow {
    pub(crate) fn of(entry: &LedgerEntry, view: &ReplyView) -> Self {
        let leaf = &entry.leaf;
        let text = |name: &str| leaf.text(name).map(ToOwned::to_owned);
        let ui = view.ui.as_ref();
        let mut artifacts = BTreeMap::new();
        for artifact in
            ui.and_then(|ui| ui.get("artifacts")).and_then(Value::as_array).into_iter().flatten()
        {
            let kind = artifact.get("artifact_type").and_then(Value::as_str).unwrap_or("unknown");
            *artifacts.entry(shortened(kind, 40)).or_default() += 1;
        }
        let stream = ui.and_then(|ui| ui.get("live_stream_id")).and_then(Value::as_str);
        let id = leaf.id("response_id").or_else(|| leaf.id("reply_id"));
        let id = id.or_else(|| leaf.id("request_id"));
        Self {
            id: id.map(|id| id.to_string()),
            index: entry.index,
            time: time_of(leaf),
            kind: leaf.kind().as_str().to_owned(),
            contract: text("contract"),
            outcome: text("outcome"),
            tool: text("tool"),
            agent: text("agent_id"),
            server: text("upstream"),
            principal: text("principal"),
            summary: summary(leaf, view),
            artifacts,
            live_stream_id: stream.map(ToOwned::to_owned),
            erased: entry.parts.len() < leaf.commitments().len(),
        }
    }
}

impl ReplyRow {
    /// Estimates the size of the row's texts in bytes.
    pub(crate) fn size(&self) -> usize {
        let texts = [
            &self.id,
            &self.contract,
            &self.outcome,
            &self.tool,
            &self.agent,
            &self.server,
            &self.principal,
            &self.live_stream_id,
        ];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
        let artifacts: usize =
            self.artifacts.keys().map(|kind| kind.len() + size_of::<usize>()).sum();
        texts + artifacts + self.time.len() + self.kind.len() + self.summary.len()
    }
}

/// Returns the time when an entry was recorded.
pub(crate) fn time_of(leaf: &Leaf) -> String {
    Timestamp::from_unix_micros(leaf.micros()).to_offset_micros()
}

/// True if a call that a client had checked may run.
pub(crate) fn is_passed(outcome: &str) -> bool {
    matches!(outcome, "ok" | "waived" | "corrected")
}

fn summary(leaf: &Leaf, view: &ReplyView) -> String {
    if let Some(summary) = view.summary() {
        return shortened(summary, SUMMARY);
    }
    let tool = leaf.text("tool").unwrap_or("an unknown tool");
    let codes = || -> String {
        let codes = leaf.member("codes").and_then(Value::as_array).into_iter().flatten();
        codes.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    };
    let outcome = leaf.text("outcome").unwrap_or("answered");
    match leaf.kind() {
        LeafKind::Validation if outcome == "refused" => format!("{tool}: not run ({})", codes()),
        LeafKind::Validation if outcome == "stopped" => {
            format!("{tool}: not run, because a person stopped its calls")
        }
        // The findings belong to the call that opened the case, not to this one.
        LeafKind::Validation if outcome == "blocked" && codes().is_empty() => {
            format!("{tool}: not run, waiting for a person's decision")
        }
        LeafKind::Validation if is_passed(outcome) => match outcome {
            "waived" => format!("{tool}: allowed by a person although the check failed"),
            "corrected" => format!("{tool}: corrected by a person"),
            _ => format!("{tool}: checked, the arguments match the schema"),
        },
        LeafKind::Validation => {
            let count = |name| leaf.member(name).and_then(Value::as_u64).unwrap_or_default();
            let (attempt, most) = (count("attempt"), count("max_attempts"));
            format!("{tool}: attempt {attempt} of {most} does not match the schema ({})", codes())
        }
        LeafKind::Escalation => match (leaf.text("tool"), outcome) {
            (_, "released") => "a blocked call was released without a decision".to_owned(),
            (Some(tool), _) => format!("{tool}: escalated to a person"),
            (None, _) => "escalated to a person".to_owned(),
        },
        LeafKind::Rejected => format!("rejected: {}", codes()),
        _ => format!("{tool}: {outcome}"),
    }
}
