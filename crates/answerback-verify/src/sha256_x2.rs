//! Computes SHA-256 of many messages, two at a time.
//!
//! Each round of SHA-256 depends on the round before it. So one message uses only half of a
//! processor's SHA instructions. Alternating between the blocks of two messages uses the rest: the
//! processor starts the second while the first is pending. The library computes each block; this
//! module only orders the blocks.

use sha2::block_api::compress256;

use crate::{hash::MerkleHash, source::SourcePart};

const BLOCK: usize = 64;

type Block = [u8; BLOCK];
type HashState = [u32; 8];

/// The initial hash value (FIPS 180-4, 5.3.3).
const START: HashState = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// Computes the digests of messages, in order.
pub(crate) fn digests<'a>(messages: impl Iterator<Item = &'a [u8]>) -> Vec<MerkleHash> {
    two_at_a_time(messages, &[], |both| digest_two(both.map(PaddedMessage::whole)))
}

/// Computes the commitments to parts: HMAC-SHA-256 of the bytes with the salt as the key, in order.
pub(crate) fn commitments(parts: &[SourcePart<'_>]) -> Vec<MerkleHash> {
    let nothing = SourcePart { name: &[], salt: &[], bytes: &[] };
    two_at_a_time(parts.iter().copied(), nothing, commit_two)
}

/// Processes items in pairs. An odd last item is paired with `nothing`.
fn two_at_a_time<T: Copy>(
    items: impl Iterator<Item = T>,
    nothing: T,
    both: impl Fn([T; 2]) -> [MerkleHash; 2],
) -> Vec<MerkleHash> {
    let mut items = items;
    let mut hashes = Vec::with_capacity(items.size_hint().0);
    while let Some(left) = items.next() {
        match items.next() {
            Some(right) => hashes.extend(both([left, right])),
            None => hashes.push(both([left, nothing])[0]),
        }
    }
    hashes
}

/// Computes two HMACs (RFC 2104): a hash keyed with the salt, and a keyed hash of the result.
fn commit_two(parts: [SourcePart<'_>; 2]) -> [MerkleHash; 2] {
    let keys = parts.map(|part| key(part.salt));
    let [inner, outer] = [0x36, 0x5c].map(|pad| {
        let padded = keys.map(|key| [key.map(|byte| byte ^ pad)]);
        let mut states = [START; 2];
        compress_by_turns(&mut states, padded.each_ref().map(<[Block; 1]>::as_slice));
        states
    });
    let keyed = |states: [HashState; 2], bytes: [&[u8]; 2]| {
        let message = |lane: usize| PaddedMessage {
            state: states[lane],
            taken: BLOCK as u64,
            bytes: bytes[lane],
        };
        digest_two([message(0), message(1)])
    };
    let digests = keyed(inner, parts.map(|part| part.bytes));
    keyed(outer, digests.each_ref().map(|digest| digest.as_bytes().as_slice()))
}

/// Converts a salt to an HMAC key: padded to one block, or hashed if it is longer.
fn key(salt: &[u8]) -> Block {
    let mut key = [0; BLOCK];
    if salt.len() > BLOCK {
        key[..32].copy_from_slice(MerkleHash::of(salt).as_bytes());
    } else {
        key[..salt.len()].copy_from_slice(salt);
    }
    key
}

/// The rest of a message, with the hash state after the blocks before it.
struct PaddedMessage<'a> {
    state: HashState,
    /// The number of bytes already hashed.
    taken: u64,
    bytes: &'a [u8],
}

impl<'a> PaddedMessage<'a> {
    fn whole(bytes: &'a [u8]) -> Self {
        Self { state: START, taken: 0, bytes }
    }

    /// Returns the message's full blocks and its final blocks. The final blocks contain the
    /// remaining bytes, the end mark and the length in bits. They are written to `end` in place,
    /// because reading a block that was just moved would stall.
    fn blocks<'e>(&self, end: &'e mut [Block; 2]) -> (&'a [Block], &'e [Block]) {
        let (blocks, rest) = self.bytes.as_chunks();
        let two = rest.len() + 1 + 8 > BLOCK;
        end[0][..rest.len()].copy_from_slice(rest);
        end[0][rest.len()] = 0x80;
        let bits = (self.taken + self.bytes.len() as u64).wrapping_mul(8);
        end[usize::from(two)][BLOCK - 8..].copy_from_slice(&bits.to_be_bytes());
        (blocks, &end[..=usize::from(two)])
    }
}

fn digest_two([left, right]: [PaddedMessage<'_>; 2]) -> [MerkleHash; 2] {
    let mut states = [left.state, right.state];
    let mut ends = [[[0; BLOCK]; 2]; 2];
    let [left_end, right_end] = &mut ends;
    let (lefts, left_end) = left.blocks(left_end);
    let (rights, right_end) = right.blocks(right_end);
    compress_by_turns(&mut states, [lefts, rights]);
    compress_by_turns(&mut states, [left_end, right_end]);
    states.map(|state| {
        let mut digest = [0; 32];
        for (bytes, word) in digest.as_chunks_mut().0.iter_mut().zip(state) {
            *bytes = word.to_be_bytes();
        }
        MerkleHash::from(digest)
    })
}

/// Compresses blocks of both messages alternately while both have blocks left, then the rest.
fn compress_by_turns([left, right]: &mut [HashState; 2], [lefts, rights]: [&[Block]; 2]) {
    let both = lefts.len().min(rights.len());
    for (one, other) in lefts.iter().zip(rights) {
        compress256(left, std::slice::from_ref(one));
        compress256(right, std::slice::from_ref(other));
    }
    compress256(left, &lefts[both..]);
    compress256(right, &rights[both..]);
}

#[cfg(test)]
mod tests {
    use hmac::{Hmac, KeyInit as _, Mac as _};
    use proptest::{collection::vec, prelude::*};
    use sha2::Sha256;

    use super::*;

    /// Checks test case 2 of RFC 4231.
    #[test]
    fn commitments_are_hmac_sha_256() {
        let part = SourcePart { name: &[], salt: b"Jefe", bytes: b"what do ya want for nothing?" };
        assert_eq!(
            commitments(&[part])[0].to_string(),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    /// Checks lengths around every block boundary, each paired with a shorter or longer message.
    #[test]
    fn digests_are_the_librarys_at_every_length() {
        let bytes = (0..=255).collect::<Vec<u8>>();
        let messages = (0..=200)
            .flat_map(|length| [&bytes[..length], &bytes[length / 2..]])
            .collect::<Vec<_>>();
        let expected = messages.iter().map(|message| MerkleHash::of(message)).collect::<Vec<_>>();
        assert_eq!(digests(messages.into_iter()), expected);
    }

    proptest! {
        #[test]
        fn commitments_are_the_librarys(
            parts in vec((vec(any::<u8>(), 0..100), vec(any::<u8>(), 0..300)), 0..6)
        ) {
            let expected = parts.iter().map(|(salt, bytes)| {
                let mut mac = Hmac::<Sha256>::new_from_slice(salt).unwrap();
                mac.update(bytes);
                MerkleHash::from(<[u8; 32]>::from(mac.finalize().into_bytes()))
            });
            let given = parts
                .iter()
                .map(|(salt, bytes)| SourcePart { name: &[], salt, bytes })
                .collect::<Vec<_>>();
            prop_assert_eq!(commitments(&given), expected.collect::<Vec<_>>());
        }
    }
}
