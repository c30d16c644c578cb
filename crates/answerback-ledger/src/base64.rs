//! Base64 as C2SP uses it: the standard alphabet with padding. Each byte sequence has exactly one
//! valid encoding.

use data_encoding::BASE64;

use crate::Hash;

pub(crate) fn encode(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text.as_bytes()).ok()
}

pub(crate) fn decode_hash(text: &str) -> Option<Hash> {
    Hash::try_from(decode(text)?.as_slice()).ok()
}
