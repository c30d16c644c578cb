//! Receipts in the C2SP tlog-proof format: the proof of one entry, as text that can be verified
//! offline.

use std::fmt;

use crate::base64::{decode, decode_hash, encode};
use crate::tree::root_of_inclusion;
use crate::{Checkpoint, Hash, Note, VerifierKey};

const HEADER: &str = "c2sp.org/tlog-proof@v1";

/// The maximum number of hashes in an inclusion proof.
const LONGEST_PATH: usize = 64;

/// The proof that a leaf is in a log.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Receipt {
    leaf: Vec<u8>,
    index: u64,
    path: Vec<Hash>,
    checkpoint: Note,
}

impl Receipt {
    /// Creates the receipt for the leaf at this index, with its inclusion proof in the tree of the
    /// checkpoint.
    pub fn new(leaf: impl Into<Vec<u8>>, index: u64, path: Vec<Hash>, checkpoint: Note) -> Self {
        Self { leaf: leaf.into(), index, path, checkpoint }
    }

    /// Parses the text of a receipt. It does not verify the proof.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not well formed.
    pub fn parse(text: &str) -> Result<Self, ReceiptError> {
        let read = || {
            let (proof, checkpoint) = text.split_once("\n\n")?;
            let mut lines = proof.split('\n');
            lines.next().filter(|header| *header == HEADER)?;
            let leaf = decode(lines.next()?.strip_prefix("extra ")?)?;
            let number = lines.next()?.strip_prefix("index ")?;
            let index = number.parse::<u64>().ok().filter(|index| index.to_string() == number)?;
            let path = lines.map(decode_hash).collect::<Option<Vec<Hash>>>()?;
            let checkpoint = Note::parse(checkpoint).ok().filter(|_| path.len() <= LONGEST_PATH)?;
            Some(Self { leaf, index, path, checkpoint })
        };
        read().ok_or(ReceiptError::Form)
    }

    /// Returns the exact bytes of the leaf.
    pub fn leaf(&self) -> &[u8] {
        &self.leaf
    }

    /// Returns the index of the leaf in the log.
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// Returns the checkpoint that the proof leads to.
    pub const fn checkpoint(&self) -> &Note {
        &self.checkpoint
    }

    /// Verifies that the leaf is in the log that this key signed, and returns the checkpoint.
    ///
    /// # Errors
    ///
    /// Returns an error if the key did not sign the checkpoint, or the proof does not lead to the
    /// checkpoint's root.
    pub fn verify(&self, key: &VerifierKey) -> Result<Checkpoint, ReceiptError> {
        let checkpoint = Checkpoint::read(&self.checkpoint).map_err(|_| ReceiptError::Form)?;
        let signed = self.checkpoint.is_signed_by(key) == Ok(true);
        if !signed || checkpoint.origin() != key.name() {
            return Err(ReceiptError::Signature);
        }
        let leaf = Hash::of_leaf(&self.leaf);
        let root = root_of_inclusion(leaf, self.index, checkpoint.size(), &self.path);
        if root == Some(checkpoint.root()) { Ok(checkpoint) } else { Err(ReceiptError::Proof) }
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{HEADER}\nextra {}\nindex {}", encode(&self.leaf), self.index)?;
        for hash in &self.path {
            writeln!(formatter, "{}", encode(hash.as_bytes()))?;
        }
        write!(formatter, "\n{}", self.checkpoint)
    }
}

/// Explains why a receipt is not valid.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiptError {
    /// The receipt is not well formed.
    #[error("not a receipt in the form of c2sp.org/tlog-proof@v1 with the leaf as extra data")]
    Form,
    /// The key did not sign the checkpoint, or the checkpoint is of another log.
    #[error("the checkpoint of the receipt is not signed by this key")]
    Signature,
    /// The proof does not lead to the checkpoint's root.
    #[error("the proof does not lead from the leaf to the root of the checkpoint")]
    Proof,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SigningKey;
    use crate::tree::tests::MemoryTree;
    use crate::tree::{inclusion_proof, root_at};

    #[test]
    fn there_and_back() {
        let key = SigningKey::new("log", &[1; 32]).unwrap();
        let mut kept = MemoryTree::default();
        (0..5_u8).for_each(|leaf| kept.push(Hash::of_leaf(&[leaf])));
        let root = root_at(5, &kept).unwrap();
        let note = Checkpoint::new("log", 5, root).unwrap().sign(&[&key]).unwrap();
        let path = inclusion_proof(3, 5, &kept).unwrap();
        let receipt = Receipt::new([3], 3, path, note);
        let text = receipt.to_string();
        insta::assert_snapshot!(text, @"
c2sp.org/tlog-proof@v1
extra Aw==
index 3
/PCmxwDdE+J0tvuo3uqN2bJuTu3eNJVxfKyECMnFF38=
ogv5p8wtyKCPX0FacbGfasQnurVNJO7IaLXTEDRJlTo=
TzUhLRL5rSA2SSyV8f55uvTse9m+89/6dXnyKT/1RqQ=

log
5
uFW0LWww9bCH4FJmeD+9bjlPe5JgE8yqZ3AKiwxaWW8=

— log rMMpE3qnS+f2O/V8RWJDe1SQuJQzf00tSp1aAQxJNTZ6mYPi5tyl4/e6uY1u9JBKaXZIZgvcAapNLgELV3iE6FUhrwo=
");
        let read = Receipt::parse(&text).unwrap();
        assert_eq!(read, receipt);
        assert_eq!(read.verify(&key.verifier()).unwrap().size(), 5);
        let wrong = |from: &str, to: &str| {
            Receipt::parse(&text.replace(from, to)).unwrap().verify(&key.verifier())
        };
        assert_eq!(wrong("extra Aw==", "extra BA=="), Err(ReceiptError::Proof));
        assert_eq!(wrong("index 3", "index 2"), Err(ReceiptError::Proof));
        assert_eq!(wrong("log\n5", "log\n6"), Err(ReceiptError::Signature));
        let stranger = SigningKey::new("log", &[2; 32]).unwrap().verifier();
        assert_eq!(receipt.verify(&stranger), Err(ReceiptError::Signature));
        assert!(Receipt::parse(&text.replace("index 3", "index 03")).is_err());
    }
}
