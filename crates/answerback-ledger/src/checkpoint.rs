//! C2SP checkpoints: the signed size and root hash of a log at one moment.

use crate::base64::{decode_hash, encode};
use crate::key::is_name;
use crate::note::NoteError;
use crate::tree::Frontier;
use crate::{Hash, Note, SigningKey};

/// Holds the content of a checkpoint: origin, size and root hash.
///
/// ```
/// use answerback_ledger::{Checkpoint, SigningKey, tree::Frontier};
///
/// let key = SigningKey::new("example.org/log", &[7; 32])?;
/// let checkpoint = Checkpoint::of("example.org/log", &Frontier::default())?;
/// let note = checkpoint.sign(&[&key])?;
/// assert_eq!(Checkpoint::read(&note)?, checkpoint);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Checkpoint {
    origin: String,
    size: u64,
    root: Hash,
}

impl Checkpoint {
    /// Creates a checkpoint for a log of this size and root.
    ///
    /// # Errors
    ///
    /// Returns an error if the origin is not a valid key name.
    pub fn new(origin: impl Into<String>, size: u64, root: Hash) -> Result<Self, CheckpointError> {
        let origin = origin.into();
        if is_name(&origin) {
            Ok(Self { origin, size, root })
        } else {
            Err(CheckpointError::Origin)
        }
    }

    /// Creates a checkpoint with the size and root of a frontier.
    ///
    /// # Errors
    ///
    /// Returns an error if the origin is not a valid key name.
    pub fn of(origin: impl Into<String>, frontier: &Frontier) -> Result<Self, CheckpointError> {
        Self::new(origin, frontier.size(), frontier.root())
    }

    /// Parses the text of a note. It does not verify the signatures.
    ///
    /// # Errors
    ///
    /// Returns an error if the note's text is not exactly three lines: origin, size and root.
    pub fn read(note: &Note) -> Result<Self, CheckpointError> {
        let lines: Vec<&str> = note.text().split_terminator('\n').collect();
        let [origin, size, root] = lines[..] else { return Err(CheckpointError::Form) };
        let number = size.parse::<u64>().ok().filter(|number| number.to_string() == size);
        match (number, decode_hash(root)) {
            (Some(size), Some(root)) => Self::new(origin, size, root),
            _ => Err(CheckpointError::Form),
        }
    }

    /// Returns the name of the log, which is also the name of its key.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the number of entries in the log.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the root hash of the tree over these entries.
    pub const fn root(&self) -> Hash {
        self.root
    }

    /// Returns this checkpoint as a note, signed with each of the keys.
    ///
    /// # Errors
    ///
    /// Returns an error if the origin is not allowed in a note.
    pub fn sign(&self, keys: &[&SigningKey]) -> Result<Note, NoteError> {
        let root = encode(self.root.as_bytes());
        Note::sign(&format!("{}\n{}\n{root}\n", self.origin, self.size), keys)
    }
}

/// Explains why a note is not a checkpoint, or an origin not a valid one.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The origin is not a valid key name.
    #[error("the origin of a log is not empty and has no spaces and no '+'")]
    Origin,
    /// The text is not exactly three lines.
    #[error("a checkpoint has three lines: origin, size and root")]
    Form,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_lines() {
        let key = SigningKey::new("log", &[1; 32]).unwrap();
        let checkpoint = Checkpoint::new("log", 7, Hash::of_nothing()).unwrap();
        let note = checkpoint.sign(&[&key]).unwrap();
        assert_eq!(note.text(), "log\n7\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n");
        for text in [
            "log\n07\nAAAA\n",
            "log\n7\n",
            &format!("{}more\n", note.text()),
            &note.text().replace('7', "-7"),
        ] {
            let note = Note::sign(text, &[&key]).unwrap();
            assert!(Checkpoint::read(&note).is_err(), "{text:?}");
        }
        assert_eq!(Checkpoint::new("a b", 0, Hash::of_nothing()), Err(CheckpointError::Origin));
    }
}
