//! Converts values between the store and the database.

use crate::engine::{EngineError, EngineResult};

/// Converts a number for the database. Our counters never reach 2^63.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a number from the database.
pub(super) fn uint(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Converts a limit for the database.
pub(super) fn limit(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Checks that a text contains no NUL, which the database cannot store. Checking first avoids an
/// error that would end the transaction.
pub(super) fn text(text: &str) -> EngineResult<&str> {
    if text.contains('\0') {
        return Err(EngineError::damaged("the database cannot keep text that holds a NUL"));
    }
    Ok(text)
}
