use serde_json::{Map, Value};

use super::member::{self, decimal, micros_of};
use super::{LeafError, LeafId, LeafKind};
use crate::Hash;

/// The maximum length of a leaf, in bytes.
pub const LARGEST_LEAF: usize = 8192;

/// A leaf: the exact bytes that the tree hashes, with their parsed members.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    bytes: Vec<u8>,
    kind: LeafKind,
    micros: i64,
    members: Map<String, Value>,
}

/// The commitment of a leaf to one of its parts.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Commitment {
    /// The part's name.
    pub name: String,
    /// The commitment in hex.
    pub commit: String,
    /// The part's length in bytes.
    pub len: u64,
}

impl Leaf {
    pub(super) fn sealed(
        bytes: Vec<u8>,
        kind: LeafKind,
        micros: i64,
        members: Map<String, Value>,
    ) -> Self {
        Self { bytes, kind, micros, members }
    }

    /// Parses a stored leaf.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not in the exact form that a writer of this format
    /// produces.
    pub fn parse(bytes: &[u8]) -> Result<Self, LeafError> {
        if bytes.len() > LARGEST_LEAF {
            return Err(LeafError::TooLong(bytes.len()));
        }
        let Ok(value @ Value::Object(_)) = serde_json::from_slice::<Value>(bytes) else {
            return Err(LeafError::NotAnObject);
        };
        if answerback::json::canonical(&value).as_bytes() != bytes {
            return Err(LeafError::NotCanonical);
        }
        let Value::Object(members) = value else { return Err(LeafError::NotAnObject) };
        let kind = member::check(&members)?;
        let micros = members.get("ts").and_then(Value::as_str).and_then(micros_of);
        let micros = micros.ok_or_else(|| LeafError::Form("ts".to_owned()))?;
        Ok(Self::sealed(bytes.to_vec(), kind, micros, members))
    }

    /// Returns the exact bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the hash of the leaf in the tree.
    pub fn hash(&self) -> Hash {
        Hash::of_leaf(&self.bytes)
    }

    /// Returns the kind of the entry.
    pub const fn kind(&self) -> LeafKind {
        self.kind
    }

    /// Returns the time at which the ledger appended the entry, in microseconds since 1970.
    pub const fn micros(&self) -> i64 {
        self.micros
    }

    /// Returns the value of a member.
    pub fn member(&self, name: &str) -> Option<&Value> {
        self.members.get(name)
    }

    /// Returns all members.
    pub const fn members(&self) -> &Map<String, Value> {
        &self.members
    }

    /// Returns the value of a member if it is a string.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.member(name).and_then(Value::as_str)
    }

    /// Returns the value of a member if it is a UUID.
    pub fn id(&self, name: &str) -> Option<LeafId> {
        self.text(name).and_then(|text| LeafId::parse(text).ok())
    }

    /// Returns the value of a member if it is a whole number written as text.
    pub fn index(&self, name: &str) -> Option<u64> {
        self.text(name).and_then(decimal)
    }

    /// Returns the commitments to the parts, sorted by name.
    pub fn commitments(&self) -> Vec<Commitment> {
        let parts = self.member("parts").and_then(Value::as_array).into_iter().flatten();
        let text = |part: &Value, name: &str| part[name].as_str().unwrap_or_default().to_owned();
        parts
            .map(|part| Commitment {
                name: text(part, "name"),
                commit: text(part, "commit"),
                len: part["len"].as_u64().unwrap_or_default(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_written_form_is_parsed() {
        let good = r#"{"kind":"request","ts":"2026-11-15T18:24:44.727091Z","v":1}"#;
        assert_eq!(Leaf::parse(good.as_bytes()).unwrap().kind(), LeafKind::Request);
        for (from, to) in [
            (r#""v":1"#, r#""v":2"#),
            (r#""v":1"#, r#""v": 1"#),
            ("request", "requests"),
            (r#""kind""#, r#""kine":"a","kind""#),
            ("727091Z", "727Z"),
            (r#""v":1"#, r#""v":1,"v":1"#),
            (r#","v":1"#, ""),
            (r#""kind":"request","#, r#""agent_id":"two words","kind":"request","#),
            (r#""kind":"request","#, r#""kind":"request","parts":[],"#),
            (
                r#""kind":"request","#,
                r#""kind":"request","request_id":"550E8400-E29B-41D4-A716-446655440000","#,
            ),
        ] {
            let bad = good.replace(from, to);
            assert_ne!(bad, good);
            assert!(Leaf::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        assert_eq!(Leaf::parse(b"[]"), Err(LeafError::NotAnObject));
    }
}
