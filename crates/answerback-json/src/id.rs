//! UUIDs of versions 4 and 7. The caller passes in the random bytes and the time.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::UuidText;
use crate::time::Timestamp;

/// Declares a UUID newtype of one version: text, serde and `TryFrom` in one place.
macro_rules! uuid {
    ($(#[$doc:meta])* $name:ident, $version:literal, $digit:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(try_from = "String", into = "String")]
        #[cfg_attr(
            feature = "schema",
            schemars(extend("format" = "uuid", "pattern" = concat!(
                "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-", $digit,
                "[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"
            )))
        )]
        pub struct $name(String);

        impl $name {
            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// True if a text is a UUID of this version, in either letter case.
            pub fn is_valid(text: &str) -> bool {
                is_uuid(text, b'0' + $version)
            }
        }

        impl TryFrom<String> for $name {
            type Error = UuidError;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                if Self::is_valid(&text) {
                    Ok(Self(text))
                } else {
                    Err(UuidError { version: $version, text })
                }
            }
        }

        impl TryFrom<&str> for $name {
            type Error = UuidError;

            fn try_from(text: &str) -> Result<Self, Self::Error> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

uuid! {
    /// A random UUID (version 4), lower-case: the documents' response, request, handoff and correlation ids.
    ///
    /// ```
    /// let id = answerback_json::UuidV4::from_random([7; 16]);
    /// assert_eq!(id.as_str(), "07070707-0707-4707-8707-070707070707");
    /// ```
    UuidV4, 4, "4"
}

uuid! {
    /// A UUID that sorts by the time it was made (version 7), lower-case: the ids of our own replies,
    /// cases, artifacts and events.
    ///
    /// ```
    /// let made = answerback_json::Timestamp::from_unix_millis(0x0198_0000_0000);
    /// let id = answerback_json::UuidV7::from_time(made, [7; 10]);
    /// assert_eq!(id.as_str(), "01980000-0000-7707-8707-070707070707");
    /// ```
    UuidV7, 7, "7"
}

impl UuidV4 {
    /// Creates an id from these random bytes.
    pub fn from_random(random: [u8; 16]) -> Self {
        Self(written(random, 4))
    }
}

impl UuidV7 {
    /// Creates an id from this time and these random bytes. A time before 1970 counts as 1970.
    pub fn from_time(made: Timestamp, random: [u8; 10]) -> Self {
        let millis = u64::try_from(made.unix_millis()).unwrap_or(0).to_be_bytes();
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&millis[2..]);
        bytes[6..].copy_from_slice(&random);
        Self(written(bytes, 7))
    }
}

/// The error for a text that is not a UUID of the expected version.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not a version {version} UUID: {text:?}")]
pub struct UuidError {
    version: u8,
    text: String,
}

/// Formats the bytes as a UUID, after setting the version and variant bits.
fn written(mut bytes: [u8; 16], version: u8) -> String {
    bytes[6] = bytes[6] & 0x0f | version << 4;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    UuidText(&bytes).to_string()
}

fn is_uuid(text: &str, version: u8) -> bool {
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

    #[test]
    fn version_7_sorts_by_time() {
        let id = |millis| UuidV7::from_time(Timestamp::from_unix_millis(millis), [0xff; 10]);
        assert!(id(1) < id(2) && id(255) < id(256) && id(-5) < id(1));
        assert!(UuidV7::is_valid(id(1_800_000_000_000).as_str()));
        let error = UuidV7::try_from("660e8400-e29b-41d4-a716-446655440001").unwrap_err();
        assert!(error.to_string().starts_with("not a version 7 UUID"));
    }
}
