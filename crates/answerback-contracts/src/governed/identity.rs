use std::fmt;

use answerback_json::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::AgentType;
use crate::form::is_semver;

/// The identity of an agent: the four members that a prompt lock can confirm.
///
/// An identity is one value, so that its source always passes it as a whole and its members cannot
/// be mixed.
///
/// ```
/// use answerback_contracts::governed::{AgentIdentity, AgentType};
///
/// let hash = "e7b34ef33d23d41e67ba23c640b26cbc4179840cc2be1278703e89fd74aefd9c";
/// let identity = AgentIdentity::new(
///     AgentType::Domain,
///     "domain-02-analysis".try_into()?,
///     "1.0.0".try_into()?,
///     hash.try_into()?,
/// );
/// assert_eq!(identity.prompt_hash.as_str(), hash);
/// # Ok::<(), answerback_contracts::governed::IdentityError>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentIdentity {
    /// The kind of agent.
    pub agent_type: AgentType,
    /// The canonical id of the agent in the manifest.
    pub agent_id: AgentId,
    /// The version of the agent's prompt.
    pub agent_version: AgentVersion,
    /// The SHA-256 of the prompt's file.
    pub prompt_hash: PromptHash,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl AgentIdentity {
    /// Creates an identity from its four members.
    pub fn new(
        agent_type: AgentType,
        agent_id: AgentId,
        agent_version: AgentVersion,
        prompt_hash: PromptHash,
    ) -> Self {
        Self { agent_type, agent_id, agent_version, prompt_hash, extra: Map::new() }
    }
}

/// Declares a string type of a fixed form: `/// doc Name, is_form, "expected form", "pattern";`.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident, $is_form:path, $what:literal, $pattern:literal;)+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            #[cfg_attr(feature = "schema", schemars(extend("pattern" = $pattern)))]
            #[serde(try_from = "String", into = "String")]
            pub struct $name(String);

            impl $name {
                /// The expected form, as shown to people.
                pub(crate) const EXPECTED: &'static str = $what;

                /// Returns the text.
                pub fn as_str(&self) -> &str {
                    &self.0
                }

                /// True if the text has this form.
                pub fn is_valid(text: &str) -> bool {
                    $is_form(text)
                }
            }

            impl TryFrom<String> for $name {
                type Error = IdentityError;

                fn try_from(text: String) -> Result<Self, Self::Error> {
                    if Self::is_valid(&text) {
                        Ok(Self(text))
                    } else {
                        Err(IdentityError { expected: $what, text })
                    }
                }
            }

            impl TryFrom<&str> for $name {
                type Error = IdentityError;

                fn try_from(text: &str) -> Result<Self, Self::Error> {
                    Self::try_from(text.to_owned())
                }
            }

            impl From<$name> for String {
                fn from(text: $name) -> Self {
                    text.0
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                    formatter.write_str(&self.0)
                }
            }
        )+
    };
}

texts! {
    /// An agent's canonical id: visible ASCII without spaces, so that two ids that look alike are alike.
    AgentId, is_visible_ascii, "a canonical id such as domain-02-analysis", "^[!-~]+$";
    /// The version of an agent's prompt, by Semantic Versioning.
    AgentVersion, is_semver, "a version such as 1.0.0",
        r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$";
    /// The SHA-256 of a prompt's file: 64 lower-case hexadecimal digits.
    PromptHash, is_sha256, "a SHA-256 of 64 lower-case hexadecimal digits", "^[0-9a-f]{64}$";
    /// The version of the contract that a response follows: major version 1, by Semantic Versioning.
    ProtocolVersion, is_protocol_1, "a version 1.x such as 1.0.0",
        r"^1\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$";
}

impl PromptHash {
    /// Returns the hash of a prompt's file from its bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Digest::of_bytes(bytes).to_string())
    }
}

impl ProtocolVersion {
    /// True if the response follows an edition newer than 1.0.0, the one that this library knows.
    pub fn is_newer(&self) -> bool {
        is_newer_edition(&self.0)
    }
}

impl Default for ProtocolVersion {
    /// Returns 1.0.0, the edition that this library writes.
    fn default() -> Self {
        Self("1.0.0".to_owned())
    }
}

/// Reports a text that does not have the expected form.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("expected {expected}, found {text:?}")]
pub struct IdentityError {
    expected: &'static str,
    text: String,
}

/// True if a version with major 1 is newer than 1.0.0. A prerelease of 1.0.0 is not newer.
pub(super) fn is_newer_edition(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    core != "1.0.0"
}

fn is_visible_ascii(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_protocol_1(text: &str) -> bool {
    text.starts_with("1.") && is_semver(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_another_form_are_refused() {
        let hash = "e7b34ef33d23d41e67ba23c640b26cbc4179840cc2be1278703e89fd74aefd9c";
        assert!(PromptHash::is_valid(hash));
        for bad in ["", &hash[1..], &hash.to_uppercase(), &hash.replace('e', "g")] {
            assert!(!PromptHash::is_valid(bad), "{bad}");
        }
        for bad in ["", " ", "domain 02", "domain\u{2010}02", "a\n"] {
            assert!(!AgentId::is_valid(bad), "{bad:?}");
        }
        for bad in ["", "1", "1.0", "2.0.0", "10.0.0", "0.9.0", "v1.0.0"] {
            assert!(!ProtocolVersion::is_valid(bad), "{bad}");
        }
        let error = AgentVersion::try_from("one").unwrap_err();
        assert_eq!(error.to_string(), "expected a version such as 1.0.0, found \"one\"");
    }

    #[test]
    fn newer_editions_are_told() {
        for (version, newer) in [
            ("1.0.0", false),
            ("1.0.0-rc.1", false),
            ("1.0.0+b7", false),
            ("1.0.1", true),
            ("1.10.0-rc.1", true),
        ] {
            assert_eq!(ProtocolVersion::try_from(version).unwrap().is_newer(), newer, "{version}");
        }
        assert!(!ProtocolVersion::default().is_newer());
    }

    #[test]
    fn serde_goes_through_the_same_door() {
        assert!(serde_json::from_str::<PromptHash>("\"ABC\"").is_err());
        let id: AgentId = serde_json::from_str("\"domain-05-product\"").unwrap();
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"domain-05-product\"");
    }
}
