//! Checkpoints, in which a log commits to its origin, size and root.

use crate::{
    hash::MerkleHash,
    note::{SignedNote, SignedNoteError},
};

/// The content of a C2SP checkpoint, one field per line.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct LogCheckpoint {
    /// The origin of the log.
    pub origin: String,
    /// The number of entries in the tree.
    pub size: u64,
    /// The tree's root.
    pub root: MerkleHash,
}

impl LogCheckpoint {
    /// Parses the checkpoint in a note. It does not verify the signatures.
    ///
    /// # Errors
    ///
    /// Returns an error if the note's text is not exactly origin, size and root.
    pub fn of_note(note: &SignedNote<'_>) -> Result<Self, LogCheckpointError> {
        let mut lines = note.text().split_terminator('\n');
        let (Some(origin), Some(size), Some(root), None) =
            (lines.next(), lines.next(), lines.next(), lines.next())
        else {
            return Err(LogCheckpointError::Lines);
        };
        if origin.is_empty() {
            return Err(LogCheckpointError::Origin);
        }
        let size = decimal(size.as_bytes()).ok_or(LogCheckpointError::Size)?;
        let root = MerkleHash::from_base64(root).ok_or(LogCheckpointError::Root)?;
        Ok(Self { origin: origin.to_owned(), size, root })
    }

    /// Parses a signed checkpoint. It does not verify the signatures.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a note, or not the note of a checkpoint.
    pub fn parse(note: &str) -> Result<Self, LogCheckpointError> {
        Self::of_note(&SignedNote::parse(note)?)
    }
}

/// Explains why a text is not a checkpoint.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LogCheckpointError {
    /// The text is not a signed note.
    #[error(transparent)]
    Note(#[from] SignedNoteError),
    /// The number of lines is not three.
    #[error("a checkpoint has exactly the lines origin, size and root")]
    Lines,
    /// The first line is empty.
    #[error("the origin is empty")]
    Origin,
    /// The second line is not a number.
    #[error("the size is not a decimal number without leading zeros")]
    Size,
    /// The third line is not a hash.
    #[error("the root is not 32 bytes in base64")]
    Root,
}

/// Parses a decimal number without sign or leading zeros.
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    let well_formed = match text {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    well_formed.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";

    #[test]
    fn takes_three_lines_and_no_more() {
        let signature = "\n— log AAAAAAAA\n";
        let read = |text: &str| LogCheckpoint::parse(&format!("{text}{signature}"));
        let good = read(&format!("log\n0\n{ROOT}\n")).unwrap();
        assert_eq!((good.size, good.root), (0, MerkleHash::of_nothing()));
        assert_eq!(read(&format!("log\n0\n{ROOT}\nmore\n")), Err(LogCheckpointError::Lines));
        assert_eq!(read(&format!("\n0\n{ROOT}\n")), Err(LogCheckpointError::Origin));
        assert_eq!(read(&format!("log\n00\n{ROOT}\n")), Err(LogCheckpointError::Size));
        assert_eq!(read(&format!("log\n+1\n{ROOT}\n")), Err(LogCheckpointError::Size));
        assert_eq!(read("log\n1\nAAAA\n"), Err(LogCheckpointError::Root));
    }
}
