use super::span::LeafSpan;
use super::values::{IN_TOKEN, is_token_long, names};
use crate::hash::MerkleHash;
use crate::hex::is_hex;
use crate::json::{CanonicalReader, FormError};
use crate::name_set::NameSet;

/// The commitment of a leaf to one part.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct PartCommitment {
    pub(crate) name: LeafSpan,
    pub(crate) commit: MerkleHash,
    pub(crate) length: u64,
}

/// The commitments of a leaf to its parts. Most leaves have one part, which needs no allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartCommitments {
    first: Option<PartCommitment>,
    more: Vec<PartCommitment>,
}

impl PartCommitments {
    fn push(&mut self, commitment: PartCommitment) {
        match &mut self.first {
            None => self.first = Some(commitment),
            Some(_) => self.more.push(commitment),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &PartCommitment> {
        self.first.iter().chain(&self.more)
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }
}

/// Parses the list of commitments.
pub(super) fn commitments(reader: &mut CanonicalReader<'_>) -> Result<PartCommitments, FormError> {
    static PART: NameSet = names!["alg", "commit", "len", "name"];
    let mut commitments = PartCommitments::default();
    let mut previous: Option<&[u8]> = None;
    reader.array(|reader| {
        let (mut algorithm, mut commit, mut length, mut named) = (false, None, None, None);
        reader.object(&PART, |reader, name| {
            match name.known {
                Some(0) => algorithm = reader.plain()? == b"hmac-sha256",
                Some(1) => {
                    commit = match reader.fixed::<64>(is_hex) {
                        Some(text) => MerkleHash::from_hex(text),
                        // Any other value must at least be a string.
                        None => reader.plain().map(|_| None)?,
                    }
                }
                Some(2) => length = Some(reader.number()?),
                Some(_) => {
                    named = match reader.fit(&IN_TOKEN) {
                        Some(text) if is_token_long(text) => {
                            Some((LeafSpan::before_reader(reader, text), text))
                        }
                        Some(_) => None,
                        None => reader.plain().map(|_| None)?,
                    }
                }
                None => return reader.error("a part has only alg, commit, len and name"),
            }
            Ok(())
        })?;
        let (true, Some(commit), Some(length), Some((name, text))) =
            (algorithm, commit, length, named)
        else {
            return reader.error("a part has alg hmac-sha256, commit, len and name");
        };
        if previous.is_some_and(|previous| previous >= text) {
            return reader.error("parts are not sorted, or one comes twice");
        }
        previous = Some(text);
        commitments.push(PartCommitment { name, commit, length });
        Ok(())
    })?;
    if commitments.len() == 0 {
        reader.error("an empty list of parts is left out")
    } else {
        Ok(commitments)
    }
}
