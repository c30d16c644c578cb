//! Checks receipts in the format of C2SP tlog-proofs offline.

use data_encoding::BASE64;

use crate::{
    checkpoint::{LogCheckpoint, LogCheckpointError, decimal},
    hash::MerkleHash,
    note::{NoteVerifierKey, SignatureCheck, SignedNote, SignedNoteError},
    proof::inclusion_holds,
};

const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";
/// The maximum number of hashes in a path, enough for a tree of 2^63 entries.
const LONGEST_PATH: usize = 63;

/// The statement that a receipt proves: this leaf is at this index in the checkpoint's tree.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ProvenEntry {
    /// The index of the entry.
    pub index: u64,
    /// The exact bytes of the entry's leaf.
    pub leaf: Vec<u8>,
    /// The checkpoint.
    pub checkpoint: LogCheckpoint,
}

/// Checks a receipt against a key, and against the leaf if the caller has it.
///
/// # Errors
///
/// Returns an error if the receipt is malformed, is not signed by the key, is about another leaf,
/// or its proof is invalid.
pub fn verify_receipt(
    receipt: &str,
    key: &NoteVerifierKey,
    leaf: Option<&[u8]>,
) -> Result<ProvenEntry, ReceiptProofError> {
    let (proof, note) =
        receipt.split_once("\n\n").ok_or(ReceiptProofError::Form("it has no checkpoint"))?;
    let mut lines = proof.split('\n').peekable();
    if lines.next() != Some(FIRST_LINE) {
        return Err(ReceiptProofError::Form("its first line is not that of a tlog-proof"));
    }
    let extra = lines
        .next_if(|line| line.starts_with("extra "))
        .and_then(|line| line.strip_prefix("extra "));
    let extra = extra
        .map(|extra| BASE64.decode(extra.as_bytes()))
        .transpose()
        .map_err(|_| ReceiptProofError::Form("its extra line is not base64"))?;
    let index = lines.next().and_then(|line| decimal(line.strip_prefix("index ")?.as_bytes()));
    let index = index.ok_or(ReceiptProofError::Form("it has no index"))?;
    let path: Option<Vec<MerkleHash>> = lines.map(MerkleHash::from_base64).collect();
    let path = path
        .filter(|path| path.len() <= LONGEST_PATH)
        .ok_or(ReceiptProofError::Form("a line of its path is not a hash"))?;

    let leaf = match (leaf, &extra) {
        (Some(leaf), Some(extra)) if leaf != extra => return Err(ReceiptProofError::OtherLeaf),
        (Some(leaf), _) => leaf,
        (None, Some(extra)) => extra,
        (None, None) => return Err(ReceiptProofError::NoLeaf),
    };
    let note = SignedNote::parse(note)?;
    let checkpoint = LogCheckpoint::of_note(&note)?;
    if checkpoint.origin != key.name() {
        return Err(ReceiptProofError::Origin {
            expected: key.name().to_owned(),
            actual: checkpoint.origin,
        });
    }
    if note.signed_by(key) != SignatureCheck::Yes {
        return Err(ReceiptProofError::Signature);
    }
    if !inclusion_holds(MerkleHash::of_leaf(leaf), index, checkpoint.size, &path, checkpoint.root) {
        return Err(ReceiptProofError::Proof);
    }
    Ok(ProvenEntry { index, leaf: leaf.to_vec(), checkpoint })
}

/// Explains why a receipt is not valid.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiptProofError {
    /// The text is not a tlog-proof.
    #[error("not a receipt: {0}")]
    Form(&'static str),
    /// The checkpoint is not a signed note.
    #[error(transparent)]
    Note(#[from] SignedNoteError),
    /// The checkpoint is malformed.
    #[error(transparent)]
    Checkpoint(#[from] LogCheckpointError),
    /// The receipt is of another log.
    #[error("the receipt is of log {actual}, not {expected}")]
    Origin {
        /// The key's name.
        expected: String,
        /// The checkpoint's origin.
        actual: String,
    },
    /// The key did not sign the checkpoint.
    #[error("the receipt's checkpoint is not signed by this key")]
    Signature,
    /// The receipt is about another leaf.
    #[error("the receipt is about another entry")]
    OtherLeaf,
    /// Neither the receipt nor the caller has the leaf.
    #[error("the receipt has no leaf: give the entry's bytes")]
    NoLeaf,
    /// The path does not lead from the leaf to the root.
    #[error("the receipt does not prove that the entry is in the log")]
    Proof,
}
