//! Binds the `requestState` of an open call to that call.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::wire::{Object, splice};

/// Returns a random `requestState`.
pub(super) fn random_request_state() -> Option<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(HEXLOWER.encode(&bytes))
}

/// Hashes the parameters that identify a call. The JSON text is hashed as it is, because a client repeats its
/// request unchanged. So the arguments that were checked on the repeated request are those that run.
pub(super) fn call_digest(method: &str, text: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut add = |part: Option<&str>| {
        let part = part.unwrap_or_default();
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    };
    add(Some(method));
    match splice::at(text, &["params"]).map(Object::read) {
        Some(Ok(params)) => {
            for name in ["name", "uri", "arguments"] {
                add(params.get(name));
            }
        }
        // Unreadable parameters are compared as a whole.
        _ => add(Some(text)),
    }
    hash.finalize().into()
}
