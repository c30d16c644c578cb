use std::fmt;

use answerback_findings::ValidationError;
use answerback_json::read_hex;
use answerback_json::{Digest, Hex, Pointer, write_string};
use serde::{Deserialize, Serialize};

use super::{Sent, TrackedCall};

/// Half a SHA-256 digest: enough to recognise a call that comes again, at half the room in a state
/// that has to stay small.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Fingerprint([u8; 16]);

/// A failing call as it is compared with others: what was sent, and what was wrong with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prints {
    /// The digest of what was sent, whole.
    pub(super) digest: Digest,
    pub(super) call: Fingerprint,
    pub(super) errors: Fingerprint,
    /// A hash of the values at the places of the errors. It is `None` if there are too many errors, or no
    /// places.
    pub(super) values: Option<u64>,
}

/// The most places whose values are compared: each costs a look at all that is below it.
const MOST_PLACES: usize = 16;

impl Prints {
    pub(super) fn of(call: &TrackedCall<'_>) -> Self {
        let digest = call.arguments.digest();
        let errors = Fingerprint::of_errors(call.findings);
        Self { digest, call: digest.into(), errors, values: values(call) }
    }
}

/// A number for the values at the places of the errors, below 2^53 so that any reader of JSON keeps it.
fn values(call: &TrackedCall<'_>) -> Option<u64> {
    let Sent::Value(arguments) = call.arguments else { return None };
    let errors = call.findings.iter().filter(|finding| finding.is_error());
    let mut places: Vec<&Pointer> = Vec::new();
    for finding in errors {
        if !places.contains(&&finding.field_path) {
            if places.len() == MOST_PLACES {
                return None;
            }
            places.push(&finding.field_path);
        }
    }
    places.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
    let mut text = String::new();
    for place in places {
        // Writing to a String cannot fail.
        let _ = write_string(&mut text, place.as_str());
        if let Some(value) = place.find(arguments) {
            text.push_str(&Digest::of(value).to_string());
        }
    }
    let digest = Digest::of_bytes(text.as_bytes());
    let (first, _) = digest.as_bytes().split_first_chunk::<8>()?;
    Some(u64::from_be_bytes(*first) >> 11)
}

impl Fingerprint {
    /// Of what a model sent: the arguments in canonical form, or the text that is no JSON.
    pub(super) fn of_call(sent: Sent<'_>) -> Self {
        sent.digest().into()
    }

    /// Of what was wrong: the codes and places of the errors, in any order.
    pub(super) fn of_errors(findings: &[ValidationError]) -> Self {
        let mut errors: Vec<_> = findings
            .iter()
            .filter(|finding| finding.is_error())
            .map(|finding| (finding.error_code.as_ref(), finding.field_path.as_str()))
            .collect();
        errors.sort_unstable();
        errors.dedup();
        // The canonical form of a list of pairs, written as it comes.
        let mut text = String::from("[");
        for (index, (code, path)) in errors.into_iter().enumerate() {
            text.push_str(if index > 0 { ",[" } else { "[" });
            // Writing to a String cannot fail.
            let _ = write_string(&mut text, code);
            text.push(',');
            let _ = write_string(&mut text, path);
            text.push(']');
        }
        text.push(']');
        Self::from(Digest::of_bytes(text.as_bytes()))
    }
}

impl From<Digest> for Fingerprint {
    fn from(digest: Digest) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&digest.as_bytes()[..16]);
        Self(half)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(formatter)
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_string()
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut bytes = [0; 16];
        if read_hex(&text, &mut bytes) {
            Ok(Self(bytes))
        } else {
            Err("a fingerprint is 32 lower-case hex digits")
        }
    }
}

#[cfg(test)]
mod tests {
    use answerback_findings::Severity;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn tells_calls_and_error_sets_apart() {
        let value = |value: &Value| Fingerprint::of_call(Sent::Value(value));
        assert_eq!(value(&json!({"a": 1, "b": 2})), value(&json!({"b": 2, "a": 1})));
        assert_ne!(value(&json!("x")), Fingerprint::of_call(Sent::Text("x")));
        let finding = |code, path: &str| {
            ValidationError::new(code, Severity::Error).with_path(path.try_into().unwrap())
        };
        let (one, other) = (finding("VAL-001", "/a"), finding("VAL-002", "/b"));
        let both = Fingerprint::of_errors(&[one.clone(), other.clone()]);
        let pairs = json!([["VAL-001", "/a"], ["VAL-002", "/b"]]);
        assert_eq!(both, Fingerprint::from(Digest::of(&pairs)));
        assert_eq!(both, Fingerprint::of_errors(&[other.clone(), one.clone(), other.clone()]));
        let note = other.with_severity(Severity::Warning);
        assert_eq!(Fingerprint::of_errors(&[one.clone(), note]), Fingerprint::of_errors(&[one]));
    }
}
