//! C2SP signed notes and verifier keys, limited to Ed25519.

use data_encoding::BASE64;
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest as _, Sha256};

/// The algorithm byte of Ed25519 in keys of signed notes.
const ED25519: u8 = 1;
/// The maximum number of signatures in a note. The specification requires support for at least 16,
/// and a note of a log does not have far more.
const MOST_SIGNATURES: usize = 128;

/// A public key that verifies notes: `NAME+ID+BASE64`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NoteVerifierKey {
    name: String,
    id: [u8; 4],
    key: VerifyingKey,
}

impl NoteVerifierKey {
    /// Parses a verifier key.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a key, its id does not match the key, or it is not an
    /// Ed25519 key.
    pub fn parse(text: &str) -> Result<Self, SignedNoteError> {
        let (name, id, key) = read_key(text, ED25519, "it is not an Ed25519 key")?;
        Ok(Self { name, id, key })
    }

    /// Returns the key's name, which is the log's origin.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Parses `NAME+ID+BASE64` and returns the name, the id and the Ed25519 key. The key's first byte
/// must be `purpose`; `wrong` is the error text for another one.
pub(crate) fn read_key(
    text: &str,
    purpose: u8,
    wrong: &'static str,
) -> Result<(String, [u8; 4], VerifyingKey), SignedNoteError> {
    let mut fields = text.splitn(3, '+');
    let (Some(name), Some(id), Some(key)) = (fields.next(), fields.next(), fields.next()) else {
        return Err(SignedNoteError::Key("it has not the form NAME+ID+KEY"));
    };
    if !is_name(name) {
        return Err(SignedNoteError::Key("its name is empty or has spaces"));
    }
    let key =
        BASE64.decode(key.as_bytes()).map_err(|_| SignedNoteError::Key("it is not base64"))?;
    let expected = key_id(name, &key);
    if id != data_encoding::HEXLOWER.encode(&expected) {
        return Err(SignedNoteError::Key("its id is not the hash of its name and key"));
    }
    let bytes = key.split_first().filter(|(first, _)| **first == purpose).map(|(_, bytes)| bytes);
    let key = <&[u8; 32]>::try_from(bytes.ok_or(SignedNoteError::Key(wrong))?)
        .ok()
        .and_then(|bytes| VerifyingKey::from_bytes(bytes).ok())
        .filter(|key| !key.is_weak())
        .ok_or(SignedNoteError::Key("it is not a point of the curve"))?;
    Ok((name.to_owned(), expected, key))
}

impl std::fmt::Display for NoteVerifierKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = [&[ED25519], self.key.as_bytes().as_slice()].concat();
        let id = data_encoding::HEXLOWER.encode(&self.id);
        write!(formatter, "{}+{id}+{}", self.name, BASE64.encode(&key))
    }
}

/// A parsed signed note.
#[derive(Clone, Debug)]
pub struct SignedNote<'a> {
    text: &'a str,
    signatures: Vec<NoteSignature<'a>>,
}

/// One signature line of a note.
#[derive(Clone, Debug)]
struct NoteSignature<'a> {
    name: &'a str,
    id: [u8; 4],
    signature: Vec<u8>,
}

/// The result of checking the signatures of one key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SignatureCheck {
    /// The key signed this text.
    Yes,
    /// A signature line of this key is invalid.
    Wrongly,
    /// There is no signature line of this key.
    No,
}

impl<'a> SignedNote<'a> {
    /// Parses a note: text, empty line, signature lines. It does not verify the signatures.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a note.
    pub fn parse(note: &'a str) -> Result<Self, SignedNoteError> {
        if note.bytes().any(|byte| byte < b' ' && byte != b'\n') {
            return Err(SignedNoteError::Note("it has control characters"));
        }
        let Some(border) = note.rfind("\n\n") else {
            return Err(SignedNoteError::Note("it has no empty line before its signatures"));
        };
        let (text, lines) = (&note[..=border], &note[border + 2..]);
        let Some(lines) = lines.strip_suffix('\n') else {
            return Err(SignedNoteError::Note("it does not end with a line feed"));
        };
        let signatures = lines.split('\n').map(NoteSignature::parse).collect::<Option<Vec<_>>>();
        let signatures =
            signatures.ok_or(SignedNoteError::Note("a signature line is malformed"))?;
        if signatures.len() > MOST_SIGNATURES {
            return Err(SignedNoteError::Note("it has too many signatures"));
        }
        Ok(Self { text, signatures })
    }

    /// Returns the signed text, including its last line feed.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the signatures in the lines that name this key.
    pub(crate) fn signatures<'n>(
        &'n self,
        name: &'n str,
        id: [u8; 4],
    ) -> impl Iterator<Item = &'n [u8]> {
        let lines = self.signatures.iter().filter(move |line| line.name == name && line.id == id);
        lines.map(|line| line.signature.as_slice())
    }

    /// Checks the signatures of a key. It ignores lines of other keys, as the specification
    /// requires.
    pub fn signed_by(&self, key: &NoteVerifierKey) -> SignatureCheck {
        let mut lines = self
            .signatures
            .iter()
            .filter(|line| line.name == key.name && line.id == key.id)
            .peekable();
        if lines.peek().is_none() {
            return SignatureCheck::No;
        }
        let holds = lines.all(|line| {
            Signature::from_slice(&line.signature).is_ok_and(|signature| {
                key.key.verify_strict(self.text.as_bytes(), &signature).is_ok()
            })
        });
        if holds { SignatureCheck::Yes } else { SignatureCheck::Wrongly }
    }
}

impl<'a> NoteSignature<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (name, signature) = line.strip_prefix("— ")?.split_once(' ')?;
        let signature = BASE64.decode(signature.as_bytes()).ok()?;
        let (id, signature) = signature.split_first_chunk::<4>()?;
        (is_name(name) && !signature.is_empty()).then(|| Self {
            name,
            id: *id,
            signature: signature.to_vec(),
        })
    }
}

/// Explains why a note or a key is invalid.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SignedNoteError {
    /// The text is not a signed note.
    #[error("not a signed note: {0}")]
    Note(&'static str),
    /// The text is not a verifier key.
    #[error("not a verifier key: {0}")]
    Key(&'static str),
}

pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|letter: char| letter.is_whitespace() || letter == '+')
}

pub(crate) fn key_id(name: &str, key: &[u8]) -> [u8; 4] {
    let digest =
        Sha256::new().chain_update(name).chain_update([b'\n']).chain_update(key).finalize();
    [digest[0], digest[1], digest[2], digest[3]]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key and the note in the documentation of Go's `sumdb/note`.
    const KEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const NOTE: &str = "If you think cryptography is the answer to your problem,\n\
        then you don't know what your problem is.\n\n\
        — PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

    #[test]
    fn checks_a_note_of_another_implementation() {
        let key = NoteVerifierKey::parse(KEY).unwrap();
        assert_eq!(key.to_string(), KEY);
        assert_eq!(SignedNote::parse(NOTE).unwrap().signed_by(&key), SignatureCheck::Yes);
        let altered = NOTE.replace("answer", "Answer");
        assert_eq!(SignedNote::parse(&altered).unwrap().signed_by(&key), SignatureCheck::Wrongly);
        let other = NOTE.replace("— Peter", "— Paul");
        assert_eq!(SignedNote::parse(&other).unwrap().signed_by(&key), SignatureCheck::No);
    }

    #[test]
    fn refuses_malformed_keys_and_notes() {
        for key in
            ["", "a+b", "Peter+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW", &KEY[..60]]
        {
            assert!(NoteVerifierKey::parse(key).is_err(), "{key}");
        }
        let lines = [
            "",
            "text\n",
            "text\n\n",
            "text\n\n— a\n",
            "text\n\n— a b\n",
            "text\r\n\n— a AAAAAAAA\n",
        ];
        for note in lines {
            assert!(SignedNote::parse(note).is_err(), "{note:?}");
        }
        assert!(SignedNote::parse(&NOTE[..NOTE.len() - 1]).is_err());
    }
}
