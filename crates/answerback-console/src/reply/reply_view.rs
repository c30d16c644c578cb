use answerback::contract::{Contract, recognise};
use answerback::convert::{Inputs, convert};
use answerback::json::{Limits, read};
use answerback_ledger::Kind;
use answerback_store::{Entry, KeptPart};
use serde_json::{Value, json};

/// Where an envelope of the gateway stands in what was delivered.
const ENVELOPE: &str = "/but/_meta/dev.answerback~1envelope";
/// Where it stands in an answer of the gateway's own.
const OWN_ENVELOPE: &str = "/_meta/dev.answerback~1envelope";

/// An entry of the log as people are shown it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplyView {
    /// Its contract.
    pub(crate) contract: Option<Contract>,
    /// The reply as it was given.
    pub(crate) document: Option<Value>,
    /// The reply for people.
    pub(crate) ui: Option<Value>,
    /// What the reply for people cannot show.
    pub(crate) losses: Vec<String>,
}

impl ReplyView {
    /// What an entry with its parts says.
    pub(crate) fn of(entry: &Entry) -> Self {
        if let Some(document) = part(entry, "response") {
            let named = entry.leaf.text("contract").and_then(|word| word.parse().ok());
            let contract =
                named.or_else(|| recognise(&document).map(|recognised| recognised.contract));
            let shown = Self::of_document(document, contract);
            // A result that somebody answers for is shown in the tool's own words, where it has some.
            return match part(entry, "received").and_then(|received| in_own_words(&received)) {
                Some((ui, losses)) => Self { ui: Some(ui), losses, ..shown },
                None => shown,
            };
        }
        match part(entry, "received") {
            Some(received) => Self::of_result(entry, &received),
            None => Self::of_own(entry),
        }
    }

    /// What the gateway answered itself to a call without a result: a tool envelope with its words.
    fn of_own(entry: &Entry) -> Self {
        let own = part(entry, "delivered").filter(|_| entry.leaf.kind() == Kind::Response);
        let Some(own) = own else { return Self::default() };
        match own.pointer(OWN_ENVELOPE).cloned() {
            Some(mut envelope) => {
                envelope["data"] = json!({ "content": own.get("content") });
                Self::of_document(envelope, Some(Contract::Tool))
            }
            None => Self { document: Some(own), ..Self::default() },
        }
    }

    /// A document of a contract.
    pub(crate) fn of_document(document: Value, contract: Option<Contract>) -> Self {
        let (ui, losses) = match contract {
            Some(contract) => for_people(&document, contract),
            None => (None, Vec::new()),
        };
        Self { contract, document: Some(document), ui, losses }
    }

    /// The result of a call through the gateway: a tool envelope, whose data is the result beside it.
    fn of_result(entry: &Entry, received: &Value) -> Self {
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
        let (ui, losses) = match in_own_words(received) {
            Some((ui, losses)) => (Some(ui), losses),
            None => for_people(&envelope, Contract::Tool),
        };
        Self { contract: Some(Contract::Tool), document: Some(envelope), ui, losses }
    }

    /// What is said in a list.
    pub(crate) fn summary(&self) -> Option<&str> {
        self.ui.as_ref()?.get("summary")?.as_str()
    }
}

/// The result of a tool that answers in one of our contracts.
fn in_own_words(received: &Value) -> Option<(Value, Vec<String>)> {
    let inner = received.get("structuredContent")?;
    let contract = recognise(inner)?.contract;
    if !Contract::REPLIES.contains(&contract) {
        return None;
    }
    let (ui, losses) = for_people(inner, contract);
    Some((ui?, losses))
}

/// The reply in the contract for people. One that breaks its own contract is shown as far as it goes.
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

pub(crate) fn part(entry: &Entry, name: &str) -> Option<Value> {
    let part = entry.parts.iter().find(|part| part.name().as_str() == name)?;
    // What was deep enough to be taken in is not too deep to be shown.
    read(part.bytes(), Limits::default()).ok().map(|document| document.value)
}

/// A part as text, where it is text.
pub(crate) fn part_text(part: &KeptPart) -> Option<String> {
    std::str::from_utf8(part.bytes()).ok().map(ToOwned::to_owned)
}
