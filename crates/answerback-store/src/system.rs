//! The system's clock and source of randomness.

use std::time::SystemTime;

use answerback::{Timestamp, UuidV4};

/// Returns the current time.
pub fn now() -> Timestamp {
    SystemTime::now().into()
}

/// Returns random bytes.
///
/// # Errors
///
/// Returns an error if the system has no randomness. Without it ids would be guessable, so a server
/// must not start.
pub fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    crate::randomness::fill_random(&mut bytes)?;
    Ok(bytes)
}

/// Creates a UUID of version 4.
///
/// # Errors
///
/// Returns an error if there is no randomness.
pub fn uuid() -> std::io::Result<UuidV4> {
    random().map(UuidV4::from_random)
}
