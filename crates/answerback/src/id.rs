//! Identifiers. Randomness and time are handed in.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A random UUID (version 4), lower-case: the documents' response, request, handoff and correlation ids.
///
/// ```
/// let id = answerback::UuidV4::from_random([7; 16]);
/// assert_eq!(id.as_str(), "07070707-0707-4707-8707-070707070707");
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(extend("format" = "uuid", "pattern" = UUID_V4_PATTERN)))]
pub struct UuidV4(String);

#[cfg(feature = "schema")]
const UUID_V4_PATTERN: &str =
    "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$";

impl UuidV4 {
    /// The id made of these random bytes.
    pub fn from_random(random: [u8; 16]) -> Self {
        Self(written(random, 4))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text is a version 4 UUID, in either letter case.
    pub fn is_valid(text: &str) -> bool {
        is_uuid(text, b'4')
    }
}

impl TryFrom<String> for UuidV4 {
    type Error = UuidError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if Self::is_valid(&text) { Ok(Self(text)) } else { Err(UuidError(text)) }
    }
}

impl TryFrom<&str> for UuidV4 {
    type Error = UuidError;

    fn try_from(text: &str) -> Result<Self, Self::Error> {
        Self::try_from(text.to_owned())
    }
}

impl From<UuidV4> for String {
    fn from(id: UuidV4) -> Self {
        id.0
    }
}

impl fmt::Display for UuidV4 {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A text that is not a UUID of the wanted version.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not a version 4 UUID: {0:?}")]
pub struct UuidError(String);

/// The text of a UUID of this version; the version and variant bits are set here.
pub(crate) fn written(mut bytes: [u8; 16], version: u8) -> String {
    use fmt::Write;
    bytes[6] = bytes[6] & 0x0f | version << 4;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

pub(crate) fn is_uuid(text: &str, version: u8) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            14 => byte == version,
            19 => matches!(byte, b'8' | b'9' | b'a' | b'b' | b'A' | b'B'),
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_apart() {
        assert!(UuidV4::is_valid("660e8400-e29b-41d4-a716-446655440001"));
        for text in [
            "",
            "660e8400-e29b-11d4-a716-446655440001",
            "660e8400-e29b-41d4-c716-446655440001",
            "660e8400e29b41d4a716446655440001",
            "660e8400-e29b-41d4-a716-44665544000g",
        ] {
            assert!(!UuidV4::is_valid(text), "{text}");
        }
    }
}
