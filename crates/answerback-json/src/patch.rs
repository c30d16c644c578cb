//! RFC 6902 JSON patches: creates a patch from two documents, and applies patches.
//!
//! A patch made by [`between()`] guards each replacement and removal with a `test`. So [`apply_where_it_fits()`] can
//! restore data that a conversion dropped, without undoing changes made since.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Pointer;

/// One step of a patch.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "RFC 6902 defines exactly these six")]
pub enum PatchOperation {
    /// The value at `path` equals `value`, or the patch fails.
    Test {
        /// The place to compare.
        path: Pointer,
        /// The expected value.
        value: Value,
    },
    /// Adds `value` at `path`: as a new member, or before the element there.
    Add {
        /// The new place.
        path: Pointer,
        /// The new value.
        value: Value,
    },
    /// Removes the value at `path`.
    Remove {
        /// The place of the value to remove.
        path: Pointer,
    },
    /// Replaces the value at `path` with `value`.
    Replace {
        /// The place of the value to replace.
        path: Pointer,
        /// The new value.
        value: Value,
    },
    /// Moves the value at `from` to `path`.
    Move {
        /// The place of the value to remove.
        from: Pointer,
        /// The new place.
        path: Pointer,
    },
    /// Copies the value at `from` to `path`.
    Copy {
        /// The place of the value to copy.
        from: Pointer,
        /// The new place.
        path: Pointer,
    },
}

impl PatchOperation {
    /// Returns the value of the operation. `remove`, `move` and `copy` have none.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Test { value, .. } | Self::Add { value, .. } | Self::Replace { value, .. } => {
                Some(value)
            }
            Self::Remove { .. } | Self::Move { .. } | Self::Copy { .. } => None,
        }
    }
}

/// Returns the operations that turn `old` into `new`; a `test` guards each replacement and removal. It compares
/// objects member by member, and replaces arrays of different lengths as a whole.
pub fn between(old: &Value, new: &Value) -> Vec<PatchOperation> {
    let mut steps = Vec::new();
    differ(&Pointer::root(), old, new, &mut steps);
    steps
}

fn differ(path: &Pointer, old: &Value, new: &Value, steps: &mut Vec<PatchOperation>) {
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in before {
                let here = path.join(name);
                match after.get(name) {
                    Some(other) => differ(&here, value, other, steps),
                    None => {
                        steps.push(PatchOperation::Test {
                            path: here.clone(),
                            value: value.clone(),
                        });
                        steps.push(PatchOperation::Remove { path: here });
                    }
                }
            }
            for (name, value) in after {
                if !before.contains_key(name) {
                    steps.push(PatchOperation::Add { path: path.join(name), value: value.clone() });
                }
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (index, (one, other)) in before.iter().zip(after).enumerate() {
                differ(&path.join(&index.to_string()), one, other, steps);
            }
        }
        _ if same(old, new) => {}
        _ => {
            steps.push(PatchOperation::Test { path: path.clone(), value: old.clone() });
            steps.push(PatchOperation::Replace { path: path.clone(), value: new.clone() });
        }
    }
}

/// True if two values are equal with their number types: 1 and 1.0 are different texts, so they differ here.
fn same(one: &Value, other: &Value) -> bool {
    one == other
}

/// Applies a patch to a copy of the document and returns the result.
///
/// # Errors
///
/// Returns an error if a place does not exist or a `test` does not hold.
pub fn apply(document: &Value, patch: &[PatchOperation]) -> Result<Value, PatchError> {
    let mut patched = document.clone();
    for step in patch {
        apply_one(&mut patched, step)?;
    }
    Ok(patched)
}

/// Applies those operations of a patch made by [`between()`] that still fit. It skips a change whose `test` fails,
/// and does not add a member that exists in the meantime.
pub fn apply_where_it_fits(document: &mut Value, patch: &[PatchOperation]) {
    let mut held = true;
    for step in patch {
        match step {
            PatchOperation::Test { .. } => held = apply_one(document, step).is_ok(),
            PatchOperation::Add { path, .. } => {
                if path.find(document).is_none() {
                    // If the parent no longer exists, there is nothing to restore.
                    let _ = apply_one(document, step);
                }
            }
            _ => {
                if held {
                    let _ = apply_one(document, step);
                }
                held = true;
            }
        }
    }
}

fn apply_one(document: &mut Value, step: &PatchOperation) -> Result<(), PatchError> {
    match step {
        PatchOperation::Test { path, value } => {
            let found = path.find(document).ok_or_else(|| PatchError::missing(path))?;
            if same(found, value) { Ok(()) } else { Err(PatchError::Test(path.clone())) }
        }
        PatchOperation::Add { path, value } => add(document, path, value.clone()),
        PatchOperation::Remove { path } => remove(document, path).map(drop),
        PatchOperation::Replace { path, value } => {
            let place = document.pointer_mut(path.as_str());
            *place.ok_or_else(|| PatchError::missing(path))? = value.clone();
            Ok(())
        }
        PatchOperation::Move { from, path } => {
            let value = remove(document, from)?;
            add(document, path, value)
        }
        PatchOperation::Copy { from, path } => {
            let value = from.find(document).ok_or_else(|| PatchError::missing(from))?.clone();
            add(document, path, value)
        }
    }
}

fn add(document: &mut Value, path: &Pointer, value: Value) -> Result<(), PatchError> {
    let Some((parent, last)) = path.split_last() else {
        *document = value;
        return Ok(());
    };
    match document.pointer_mut(parent.as_str()) {
        Some(Value::Object(members)) => {
            members.insert(last.into_owned(), value);
            Ok(())
        }
        Some(Value::Array(elements)) => {
            let index = if last == "-" { Some(elements.len()) } else { index(&last) };
            match index {
                Some(index) if index <= elements.len() => {
                    elements.insert(index, value);
                    Ok(())
                }
                _ => Err(PatchError::missing(path)),
            }
        }
        _ => Err(PatchError::missing(path)),
    }
}

fn remove(document: &mut Value, path: &Pointer) -> Result<Value, PatchError> {
    let Some((parent, last)) = path.split_last() else {
        return Ok(document.take());
    };
    let removed = match document.pointer_mut(parent.as_str()) {
        Some(Value::Object(members)) => members.shift_remove(&*last),
        Some(Value::Array(elements)) => {
            index(&last).filter(|&index| index < elements.len()).map(|index| elements.remove(index))
        }
        _ => None,
    };
    removed.ok_or_else(|| PatchError::missing(path))
}

/// Parses an array index as RFC 6901 writes it: no sign, no leading zero.
fn index(token: &str) -> Option<usize> {
    let well_formed = token == "0" || token.starts_with(|first: char| matches!(first, '1'..='9'));
    if well_formed { token.parse().ok() } else { None }
}

/// The reason why a patch cannot be applied.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The place does not exist.
    #[error("the patch names {0:?}, which is not there")]
    Missing(Pointer),
    /// A `test` does not hold.
    #[error("the patch expects another value at {0:?}")]
    Test(Pointer),
}

impl PatchError {
    fn missing(path: &Pointer) -> Self {
        Self::Missing(path.clone())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-3..3i64).prop_map(Value::from),
            "[a-c~/]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c~/]{0,2}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_patch_leads_to_the_other_document(one in any_value(), other in any_value()) {
            let patch = between(&one, &other);
            prop_assert_eq!(apply(&one, &patch), Ok(other.clone()));
            let mut fitted = one;
            apply_where_it_fits(&mut fitted, &patch);
            prop_assert_eq!(fitted, other);
        }
    }

    #[test]
    fn what_changed_since_wins() {
        let patch = between(&json!({"a": 1, "b": 2}), &json!({"a": 9, "c": 3}));
        let mut edited = json!({"a": 5, "b": 2});
        apply_where_it_fits(&mut edited, &patch);
        assert_eq!(edited, json!({"a": 5, "c": 3}));
    }

    #[test]
    fn a_step_to_nowhere_is_an_error() {
        let nowhere = [
            json!({"op": "remove", "path": "/x"}),
            json!({"op": "add", "path": "/a/5", "value": 1}),
            json!({"op": "replace", "path": "/a/01", "value": 1}),
            json!({"op": "test", "path": "/a", "value": 1}),
        ];
        for step in nowhere {
            let step: PatchOperation = serde_json::from_value(step).unwrap();
            assert!(apply(&json!({"a": [1, 2]}), &[step]).is_err());
        }
        let steps: Vec<PatchOperation> = serde_json::from_value(json!([
            {"op": "move", "from": "/a/0", "path": "/b"},
            {"op": "copy", "from": "/b", "path": "/a/-"},
        ]))
        .unwrap();
        assert_eq!(apply(&json!({"a": [1, 2]}), &steps), Ok(json!({"a": [2, 1], "b": 1})));
    }
}
