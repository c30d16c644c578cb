//! What the library does not have: the clock and randomness.

use std::time::SystemTime;

use answerback::Timestamp;

/// The time.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Randomness for an id.
pub(crate) fn random<const N: usize>() -> anyhow::Result<[u8; N]> {
    let mut random = [0; N];
    getrandom::fill(&mut random)
        .map_err(|error| anyhow::anyhow!("no randomness for an id: {error}"))?;
    Ok(random)
}
