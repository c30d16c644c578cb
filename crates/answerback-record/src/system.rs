//! The clock and randomness of this machine.

use std::time::SystemTime;

use answerback::{Timestamp, UuidV4};

/// The time.
pub fn now() -> Timestamp {
    SystemTime::now().into()
}

/// Random bytes.
///
/// # Errors
///
/// When the machine has none: it cannot make ids that nobody can guess, and is not one to serve on.
pub fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    answerback_store::fill_random(&mut bytes)?;
    Ok(bytes)
}

/// A new id of version 4.
///
/// # Errors
///
/// When there is no randomness.
pub fn uuid() -> std::io::Result<UuidV4> {
    random().map(UuidV4::from_random)
}
