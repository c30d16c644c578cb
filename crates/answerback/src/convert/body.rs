//! The visible body of contracts that have no place for artifacts: they are shown under names of their own.

use serde_json::{Map, Value};

use super::Reply;

const ARTIFACTS: &str = "artifacts";
const MISSIONS: &str = "missions";
const SIGNALS: &str = "signals";

/// Writes body, artifacts, missions and signals into `members`, and says which names are not the body's own.
/// A name that is taken is left alone; what it would have shown is carried.
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

/// Reads body, artifacts, missions and signals from the members that are left when the contract's own are taken.
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
