//! Converts numbers between the store and SQLite, whose integers are signed.

use std::ops::Range;

/// Returns the range of ids for the parts of an entry: 256 times its index plus the part's
/// position. A leaf cannot hold that many parts.
pub(super) fn part_ids(index: u64) -> Range<i64> {
    let first = int(index).saturating_mul(256);
    first..first.saturating_add(256)
}

/// Converts a number for SQLite. Our counters never reach 2^63.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a number from SQLite.
pub(super) fn uint(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
