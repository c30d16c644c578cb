use answerback::contract::{Contract, recognise};
use answerback::convert::{Inputs, convert};
use answerback::json::{Limits, read};
use answerback_ledger::{LeafKind, Part};
use answerback_store::LedgerEntry;
use serde_json::{Value, json};

/// The path of the gateway's envelope in a delivered result.
const ENVELOPE: &str = "/but/_meta/dev.answerback~1envelope";
/// The path of the envelope in a result that the gateway itself produced.
const GATEWAY_RESULT_ENVELOPE: &str = "/_meta/dev.answerback~1envelope";

/// An entry of the log, prepared for people.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplyView {
    /// The contract of the document.
    pub(crate) contract: Option<Contract>,
    /// The reply as submitted.
    pub(crate) document: Option<Value>,
    /// The reply in the UI contract.
    pub(crate) ui: Option<Value>,
    /// The parts of the reply that the UI contract cannot represent.
    pub(crate) losses: Vec<String>,
}

impl ReplyView {
    /// Builds the view of an entry with its parts.
    pub(crate) fn of(entry: &LedgerEntry) -> Self {
        if let Some(document) = part(entry, "response") {
            let recorded = entry.leaf.text("contract").and_then(|word| word.parse().ok());
            let contract =
                recorded.or_else(|| recognise(&document).map(|recognised| recognised.contract));
            let view = Self::of_document(document, contract);
            // An attested result is shown in the tool's own contract, if the tool used one.
            return match part(entry, "received")
                .and_then(|received| inner_reply_for_people(&received))
            {
                Some((ui, losses)) => Self { ui: Some(ui), losses, ..view },
                None => view,
            };
        }
        match part(entry, "received") {
            Some(received) => Self::of_result(entry, &received),
            None => Self::of_gateway_result(entry),
        }
    }

    /// Builds the view of a result that the gateway itself produced: a tool envelope with its content.
    fn of_gateway_result(entry: &LedgerEntry) -> Self {
        let result = part(entry, "delivered").filter(|_| entry.leaf.kind() == LeafKind::Response);
        let Some(result) = result else { return Self::default() };
        match result.pointer(GATEWAY_RESULT_ENVELOPE).cloned() {
            Some(mut envelope) => {
                envelope["data"] = json!({ "content": result.get("content") });
                Self::of_document(envelope, Some(Contract::Tool))
            }
            None => Self { document: Some(result), ..Self::default() },
        }
    }

    /// Builds the view of a document in a contract.
    pub(crate) fn of_document(document: Value, contract: Option<Contract>) -> Self {
        let (ui, losses) = match contract {
            Some(contract) => for_people(&document, contract),
            None => (None, Vec::new()),
        };
        Self { contract, document: Some(document), ui, losses }
    }

    /// Builds the view of a forwarded call's result: a tool envelope whose data is the result.
    fn of_result(entry: &LedgerEntry, received: &Value) -> Self {
        let structured = received.get("structuredContent");
        let envelope = part(entry, "delivered")
            .and_then(|delivered| delivered.pointer(ENVELOPE).cloned())
            .map(|mut envelope| {
                envelope["data"] = match structured {
                    Some(structured) => structured.clone(),
                    None => json!({ "content": received.get("content") }),
                };
                envelope
            });
        let Some(envelope) = envelope else {
            return Self { document: Some(received.clone()), ..Self::default() };
        };
        let (ui, losses) = match inner_reply_for_people(received) {
            Some((ui, losses)) => (Some(ui), losses),
            None => for_people(&envelope, Contract::Tool),
        };
        Self { contract: Some(Contract::Tool), document: Some(envelope), ui, losses }
    }

    /// Returns the summary for lists.
    pub(crate) fn summary(&self) -> Option<&str> {
        self.ui.as_ref()?.get("summary")?.as_str()
    }
}

/// Converts the result of a tool that replies in one of our contracts.
fn inner_reply_for_people(received: &Value) -> Option<(Value, Vec<String>)> {
    let inner = received.get("structuredContent")?;
    let contract = recognise(inner)?.contract;
    if !Contract::REPLIES.contains(&contract) {
        return None;
    }
    let (ui, losses) = for_people(inner, contract);
    Some((ui?, losses))
}

/// Converts a reply to the UI contract. An invalid UI envelope is returned as it is.
fn for_people(document: &Value, contract: Contract) -> (Option<Value>, Vec<String>) {
    match convert(document, contract, Contract::Ui, &Inputs::default()) {
        Ok(converted) => {
            let losses = converted.carried.iter().map(ToString::to_string).collect();
            (Some(converted.document), losses)
        }
        Err(_) if contract == Contract::Ui && document.is_object() => {
            (Some(document.clone()), Vec::new())
        }
        Err(error) => (None, vec![error.to_string()]),
    }
}

pub(crate) fn part(entry: &LedgerEntry, name: &str) -> Option<Value> {
    let part = entry.parts.iter().find(|part| part.name().as_str() == name)?;
    // A document within the depth limit on recording is within it here, too.
    read(part.bytes(), Limits::default()).ok().map(|document| document.value)
}

/// Returns a part as text, if it is UTF-8.
pub(crate) fn part_text(part: &Part) -> Option<String> {
    std::str::from_utf8(part.bytes()).ok().map(ToOwned::to_owned)
}
