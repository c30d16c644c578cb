use std::collections::BTreeMap;

use answerback::Timestamp;
use answerback_ledger::{Leaf, LeafKind};
use answerback_store::LedgerEntry;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::ReplyView;

/// The longest summary in a list, in characters.
const SUMMARY: usize = 300;

/// A reply in a list.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// Its id, where it has one.
    pub id: Option<String>,
    /// Its place in the ledger.
    pub index: u64,
    /// When it was recorded.
    pub time: String,
    /// `response`, `rejected`, `validation` or `escalation`.
    pub kind: String,
    /// The contract that it is in.
    pub contract: Option<String>,
    /// What became of it.
    pub outcome: Option<String>,
    /// The tool that answered.
    pub tool: Option<String>,
    /// The agent that manifest and lock vouch for.
    pub agent: Option<String>,
    /// The server behind the gateway.
    pub server: Option<String>,
    /// On whose behalf.
    pub principal: Option<String>,
    /// What it says, in a line or two.
    pub summary: String,
    /// How many artifacts of which type.
    pub artifacts: BTreeMap<String, usize>,
    /// The stream that goes with it.
    pub live_stream_id: Option<String>,
    /// Whether some of its content was erased.
    pub erased: bool,
}

impl Row {
    pub(crate) fn of(entry: &LedgerEntry, shown: &ReplyView) -> Self {
        let leaf = &entry.leaf;
        let text = |name: &str| leaf.text(name).map(ToOwned::to_owned);
        let ui = shown.ui.as_ref();
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
            summary: summary(leaf, shown),
            artifacts,
            live_stream_id: stream.map(ToOwned::to_owned),
            erased: entry.parts.len() < leaf.commitments().len(),
        }
    }
}

impl Row {
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

/// Shortens a text for lists. The text is plain data: the client escapes it.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// True if a call that a client had checked may run.
pub(crate) fn is_passed(outcome: &str) -> bool {
    matches!(outcome, "ok" | "waived" | "corrected")
}

fn summary(leaf: &Leaf, shown: &ReplyView) -> String {
    if let Some(said) = shown.summary() {
        return shortened(said, SUMMARY);
    }
    let tool = leaf.text("tool").unwrap_or("a tool that nobody has");
    let codes = || -> String {
        let codes = leaf.member("codes").and_then(Value::as_array).into_iter().flatten();
        codes.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    };
    let outcome = leaf.text("outcome").unwrap_or("answered");
    match leaf.kind() {
        LeafKind::Validation if outcome == "refused" => {
            format!("{tool}: was not run ({})", codes())
        }
        LeafKind::Validation if outcome == "stopped" => {
            format!("{tool}: was not run, a person stopped its calls")
        }
        // The findings belong to the call that opened the case, not to this one.
        LeafKind::Validation if outcome == "blocked" && codes().is_empty() => {
            format!("{tool}: was not run, a person is asked")
        }
        LeafKind::Validation if is_passed(outcome) => match outcome {
            "waived" => format!("{tool}: was checked, and let through by a person"),
            "corrected" => format!("{tool}: was checked, and a person corrected it"),
            _ => format!("{tool}: was checked, and fits its schema"),
        },
        LeafKind::Validation => {
            let count = |name| leaf.member(name).and_then(Value::as_u64).unwrap_or_default();
            let (attempt, most) = (count("attempt"), count("max_attempts"));
            format!("{tool}: attempt {attempt} of {most} does not fit its schema ({})", codes())
        }
        LeafKind::Escalation => match (leaf.text("tool"), outcome) {
            (_, "released") => "a call was unblocked without a person's decision".to_owned(),
            (Some(tool), _) => format!("{tool}: a person was asked"),
            (None, _) => "a person was asked".to_owned(),
        },
        LeafKind::Rejected => format!("rejected: {}", codes()),
        _ => format!("{tool}: {outcome}"),
    }
}
