//! Defines the extension slot. It stores the parts of a reply that a document cannot show, so that converting
//! back restores them.

use std::collections::BTreeMap;

use answerback_json::patch::PatchOperation;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Reply;
use crate::Contract;

/// The hidden data of a document, next to its visible members.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(super) struct ExtensionSlot {
    /// The members of the [`Reply`] that the document cannot show.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) reply: Map<String, Value>,
    /// The names in the visible body that hold the reply's artifacts, missions or signals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) lifted: Vec<String>,
    /// The patches that restore the documents that the reply was converted from, by contract. Each applies to
    /// the document that we would write in that contract.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) exact: BTreeMap<String, Vec<PatchOperation>>,
}

/// The name of our member in `meta`, `metadata` and `_meta`.
const NAME: &str = "answerback";

impl ExtensionSlot {
    /// Takes the slot out of a document. A member that is not our slot stays where it is.
    pub(super) fn take(document: &mut Value, contract: Contract) -> Self {
        let Some(holder) = document.get_mut(holder(contract)).and_then(Value::as_object_mut) else {
            return Self::default();
        };
        let slot = holder.get(NAME).and_then(|value| Self::deserialize(value).ok());
        match slot {
            Some(slot) if slot != Self::default() => {
                holder.shift_remove(NAME);
                if holder.is_empty() && contract_omits_empty_holder(contract) {
                    let name = self::holder(contract);
                    if let Some(members) = document.as_object_mut() {
                        members.shift_remove(name);
                    }
                }
                slot
            }
            _ => Self::default(),
        }
    }

    /// Puts the slot into a document, unless it is empty.
    pub(super) fn put(&self, document: &mut Value, contract: Contract) {
        if *self == Self::default() {
            return;
        }
        let value = serde_json::to_value(self).unwrap_or_default();
        if let Some(members) = document.as_object_mut() {
            let holder =
                members.entry(holder(contract)).or_insert_with(|| Value::Object(Map::new()));
            if let Some(holder) = holder.as_object_mut() {
                holder.insert(NAME.to_owned(), value);
            }
        }
    }

    /// Returns the visible reply with the stored members in place of its own.
    pub(super) fn over(&self, visible: &Reply) -> Reply {
        let mut members = serde_json::to_value(visible).unwrap_or_default();
        if let Some(members) = members.as_object_mut() {
            for (name, value) in &self.reply {
                if members.contains_key(name) {
                    members.insert(name.clone(), value.clone());
                }
            }
        }
        Reply::deserialize(members).unwrap_or_else(|_| visible.clone())
    }
}

/// Returns the name of the document's member that holds extensions.
fn holder(contract: Contract) -> &'static str {
    match contract {
        Contract::Atdf => "meta",
        Contract::Ui => "metadata",
        _ => "_meta",
    }
}

/// True if an empty holder is removed. `_meta` only exists for extensions, but `meta` and `metadata` belong
/// to their contracts.
fn contract_omits_empty_holder(contract: Contract) -> bool {
    matches!(contract, Contract::Tool | Contract::Governed)
}
