//! Reads and writes the visible body of contracts without members for artifacts, missions and signals. The
//! body shows them under these names.

use serde_json::{Map, Value};

use super::Reply;

const ARTIFACTS: &str = "artifacts";
const MISSIONS: &str = "missions";
const SIGNALS: &str = "signals";

/// Writes body, artifacts, missions and signals into `members`. Returns the names that do not belong to the
/// body. An existing name is not overwritten, so its value has to be stored in the slot.
pub(super) fn write(reply: &Reply, members: &mut Map<String, Value>) -> Vec<String> {
    for (name, value) in &reply.body {
        if !members.contains_key(name) {
            members.insert(name.clone(), value.clone());
        }
    }
    let mut lifted = Vec::new();
    for (name, list) in
        [(ARTIFACTS, &reply.artifacts), (MISSIONS, &reply.missions), (SIGNALS, &reply.signals)]
    {
        if !list.is_empty() && !members.contains_key(name) {
            members.insert(name.to_owned(), Value::Array(list.clone()));
            lifted.push(name.to_owned());
        }
    }
    lifted
}

/// Reads body, artifacts, missions and signals from the members that remain after the contract's own are
/// removed.
pub(super) fn read(mut members: Map<String, Value>, lifted: &[String], reply: &mut Reply) {
    for (name, list) in [
        (ARTIFACTS, &mut reply.artifacts),
        (MISSIONS, &mut reply.missions),
        (SIGNALS, &mut reply.signals),
    ] {
        if lifted.iter().any(|lifted| lifted == name)
            && let Some(Value::Array(elements)) = members.get_mut(name).map(Value::take)
        {
            *list = elements;
            members.shift_remove(name);
        }
    }
    reply.body = members;
}
