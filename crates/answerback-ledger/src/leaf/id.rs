use std::fmt;

use answerback::{UuidText, UuidV4, UuidV7};

/// A UUID of any version, written in lower case in a leaf.
///
/// The contracts allow ids in either letter case. The log has one spelling for each id, so that a
/// response finds its request.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct LeafId([u8; 16]);

impl LeafId {
    /// Parses a UUID in either letter case.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a UUID.
    pub fn parse(text: &str) -> Result<Self, LeafIdError> {
        let bytes = text.as_bytes();
        let mut id = [0; 16];
        let mut digits = 0;
        if bytes.len() != 36 {
            return Err(LeafIdError);
        }
        for (at, byte) in bytes.iter().enumerate() {
            if matches!(at, 8 | 13 | 18 | 23) {
                if *byte != b'-' {
                    return Err(LeafIdError);
                }
                continue;
            }
            let digit = char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            let digit = digit.ok_or(LeafIdError)?;
            id[digits / 2] = id[digits / 2] << 4 | digit;
            digits += 1;
        }
        Ok(Self(id))
    }

    /// Returns the sixteen bytes of the UUID.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl From<[u8; 16]> for LeafId {
    fn from(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl TryFrom<&UuidV4> for LeafId {
    type Error = LeafIdError;

    fn try_from(id: &UuidV4) -> Result<Self, LeafIdError> {
        Self::parse(id.as_str())
    }
}

impl TryFrom<&UuidV7> for LeafId {
    type Error = LeafIdError;

    fn try_from(id: &UuidV7) -> Result<Self, LeafIdError> {
        Self::parse(id.as_str())
    }
}

impl fmt::Display for LeafId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        UuidText(&self.0).fmt(formatter)
    }
}

/// The error for a text that is not a UUID.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not a UUID")]
pub struct LeafIdError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_id_has_one_spelling() {
        let lower = "660e8400-e29b-41d4-a716-446655440001";
        let id = LeafId::parse(lower).unwrap();
        assert_eq!(id.to_string(), lower);
        assert_eq!(LeafId::parse(&lower.to_uppercase()), Ok(id));
        for text in
            ["", "660e8400-e29b-41d4-a716-44665544000", "660e8400+e29b-41d4-a716-446655440001"]
        {
            assert_eq!(LeafId::parse(text), Err(LeafIdError), "{text}");
        }
    }
}
