//! C2SP signed notes with Ed25519: a text followed by signature lines.

use std::fmt;

use crate::base64::{decode, encode};
use crate::key::{SigningKey, VerifierKey, is_name};

/// The maximum number of signature lines in a note. C2SP requires support for at least 16.
const MOST_SIGNATURES: usize = 100;

/// The maximum length of a note in bytes.
const LONGEST: usize = 1 << 20;

/// One signature line of a note.
#[derive(Clone, Debug, Eq, PartialEq)]
struct SignatureLine {
    name: String,
    id: u32,
    signature: Vec<u8>,
}

/// A text with its signature lines.
///
/// ```
/// use answerback_ledger::{Note, SigningKey};
///
/// let key = SigningKey::new("example.org/log", &[7; 32])?;
/// let note = Note::sign("hello\n", &[&key])?;
/// let read = Note::parse(&note.to_string())?;
/// assert!(read.is_signed_by(&key.verifier())?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Note {
    text: String,
    lines: Vec<SignatureLine>,
}

impl Note {
    /// Signs a text with each of the keys.
    ///
    /// # Errors
    ///
    /// Returns an error if the text does not end with a newline, or contains another control
    /// character.
    pub fn sign(text: &str, keys: &[&SigningKey]) -> Result<Self, NoteError> {
        if !is_text(text) {
            return Err(NoteError::Text);
        }
        let lines = keys.iter().map(|key| {
            let verifier = key.verifier();
            SignatureLine {
                name: verifier.name().to_owned(),
                id: verifier.id(),
                signature: key.sign(text),
            }
        });
        Ok(Self { text: text.to_owned(), lines: lines.collect() })
    }

    /// Parses a note. It does not verify the signatures.
    ///
    /// # Errors
    ///
    /// Returns an error if the note is not well formed.
    pub fn parse(text: &str) -> Result<Self, NoteError> {
        // The signatures follow the last empty line.
        let end = text.rfind("\n\n").filter(|_| text.len() <= LONGEST).ok_or(NoteError::Form)?;
        let (text, signatures) = (&text[..=end], &text[end + 2..]);
        if !is_text(text) {
            return Err(NoteError::Text);
        }
        let signatures = signatures.strip_suffix('\n').ok_or(NoteError::Form)?;
        let lines: Option<Vec<SignatureLine>> = signatures.split('\n').map(line).collect();
        let lines = lines.filter(|lines| lines.len() <= MOST_SIGNATURES).ok_or(NoteError::Form)?;
        Ok(Self { text: text.to_owned(), lines })
    }

    /// Returns the signed text, including its last newline.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if this key signed the text. Signature lines of other keys are ignored.
    ///
    /// # Errors
    ///
    /// Returns an error if a line names this key and its signature is invalid. The note is forged
    /// or damaged.
    pub fn is_signed_by(&self, key: &VerifierKey) -> Result<bool, NoteError> {
        let mut signatures = self.signatures(key.name(), key.id());
        let Some(signature) = signatures.next() else { return Ok(false) };
        let is_genuine = |signature: &[u8]| key.verifies(&self.text, signature);
        if is_genuine(signature) && signatures.all(is_genuine) {
            Ok(true)
        } else {
            Err(NoteError::Signature)
        }
    }

    /// Returns the same note with more signature lines. It does not verify them.
    ///
    /// # Errors
    ///
    /// Returns an error if the lines are not signature lines, or there are too many.
    pub fn with_signatures(&self, lines: &str) -> Result<Self, NoteError> {
        Self::parse(&format!("{self}{lines}"))
    }

    /// Returns the signatures that name this key.
    pub(crate) fn signatures<'n>(
        &'n self,
        name: &'n str,
        id: u32,
    ) -> impl Iterator<Item = &'n [u8]> {
        let lines = self.lines.iter().filter(move |line| line.name == name && line.id == id);
        lines.map(|line| line.signature.as_slice())
    }

    /// Returns the names and ids of the keys in the signature lines.
    pub fn signers(&self) -> impl Iterator<Item = (&str, u32)> {
        self.lines.iter().map(|line| (line.name.as_str(), line.id))
    }
}

/// Parses a signature line: `— NAME BASE64(ID ‖ SIGNATURE)`.
fn line(text: &str) -> Option<SignatureLine> {
    let (name, signature) = text.strip_prefix("— ")?.split_once(' ')?;
    let bytes = decode(signature).filter(|_| is_name(name))?;
    let (id, signature) = bytes.split_first_chunk::<4>().filter(|(_, rest)| !rest.is_empty())?;
    let id = u32::from_be_bytes(*id);
    Some(SignatureLine { name: name.to_owned(), id, signature: signature.to_vec() })
}

fn is_text(text: &str) -> bool {
    text.ends_with('\n') && text.bytes().all(|byte| byte >= b' ' || byte == b'\n')
}

impl fmt::Display for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)?;
        formatter.write_str("\n")?;
        for line in &self.lines {
            let mut bytes = line.id.to_be_bytes().to_vec();
            bytes.extend_from_slice(&line.signature);
            writeln!(formatter, "— {} {}", line.name, encode(&bytes))?;
        }
        Ok(())
    }
}

/// Explains why a text is not a valid signed note.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NoteError {
    /// The text does not end with a newline, or contains control characters.
    #[error("the text of a note ends with a newline and holds no control characters")]
    Text,
    /// The note is not a text, an empty line and signature lines.
    #[error("a note is a text, an empty line and signature lines")]
    Form,
    /// A signature line names a key that did not sign the text.
    #[error("a signature of the note is not its key's")]
    Signature,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Go's `golang.org/x/mod/sumdb/note`, which the C2SP specification refers to.
    const VKEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const NOTE: &str = "If you think cryptography is the answer to your problem,\n\
        then you don't know what your problem is.\n\n\
        — PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

    #[test]
    fn the_shared_example() {
        let key = VerifierKey::parse(VKEY).unwrap();
        assert_eq!(key.to_string(), VKEY);
        let note = Note::parse(NOTE).unwrap();
        assert_eq!(note.is_signed_by(&key), Ok(true));
        assert_eq!(note.to_string(), NOTE);
        let forged = Note::parse(&NOTE.replace("think", "thinK")).unwrap();
        assert_eq!(forged.is_signed_by(&key), Err(NoteError::Signature));
    }

    #[test]
    fn the_shared_signer() {
        let secret =
            "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
        let key = SigningKey::parse(secret).unwrap();
        assert_eq!(key.verifier().to_string(), VKEY);
        let text = NOTE.split("\n\n").next().unwrap().to_owned() + "\n";
        assert_eq!(Note::sign(&text, &[&key]).unwrap().to_string(), NOTE);
    }

    #[test]
    fn lines_of_strangers_are_ignored() {
        let key = SigningKey::new("a", &[1; 32]).unwrap();
        let strangers: Vec<SigningKey> = (2..20)
            .map(|seed| SigningKey::new(&format!("s{seed}"), &[seed; 32]).unwrap())
            .collect();
        let mut keys: Vec<&SigningKey> = strangers.iter().collect();
        keys.push(&key);
        let note = Note::parse(&Note::sign("x\n", &keys).unwrap().to_string()).unwrap();
        assert_eq!(note.is_signed_by(&key.verifier()), Ok(true));
        // Another key with the same name has another id.
        let other = SigningKey::new("a", &[9; 32]).unwrap().verifier();
        assert_eq!(note.is_signed_by(&other), Ok(false));
        assert_eq!(note.signers().count(), 19);
    }

    #[test]
    fn malformed_notes_and_keys_are_rejected() {
        for text in [
            "",
            "x\n",
            "x\n\n",
            "x\n\n— a AAAA",
            "x\n\n— a AAAA\n",
            "x\n\n- a AAAAAAA=\n",
            "x\u{7}\n\n— a AAAAAAA=\n",
        ] {
            assert!(Note::parse(text).is_err(), "{text:?}");
        }
        assert!(Note::parse("x\n\n— a AAAAAAA=\n").is_ok());
        for text in [
            "",
            "a",
            "a+b+c",
            &VKEY.replace("c74f", "C74F"),
            &VKEY.replace("ARpc", "BRpc"),
            &VKEY.replace("Peter", "Pete r"),
        ] {
            assert!(VerifierKey::parse(text).is_err(), "{text:?}");
        }
    }
}
