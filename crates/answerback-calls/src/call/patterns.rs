//! Limits on the cost of patterns.

use serde_json::Value;

use super::keywords::{self, Keyword};

/// The maximum number of backtracks in one match.
pub(super) const BACKTRACK_LIMIT: usize = 100_000;
/// The longest text that the backtracking engine matches, in characters. Its work can grow with the square of the
/// length.
pub(super) const LONG_TEXT: usize = 4096;
/// The largest compiled pattern, in bytes.
pub(super) const PATTERN_SIZE: usize = 4 << 20;
/// The maximum cost of all patterns of a schema, in characters after repetitions are expanded.
pub(super) const BUDGET: u64 = 1_000_000;

/// True if a text is too long for the backtracking engine.
pub(super) fn is_long(text: &str) -> bool {
    text.len() > LONG_TEXT && text.chars().count() > LONG_TEXT
}

/// Estimates the size of a pattern after its repetitions are expanded, in characters.
pub(super) fn cost(pattern: &str) -> u64 {
    // A class such as `\\w` expands to about a hundred ranges of characters.
    const CLASS: u64 = 100;
    let mut sums = vec![0_u64];
    // The cost of the last character or group. A repetition after it multiplies this cost.
    let mut last = 0_u64;
    let mut rest = pattern.chars();
    while let Some(character) = rest.next() {
        let cost = match character {
            '\\' => match rest.next() {
                Some('w' | 'W' | 'd' | 'D' | 's' | 'S' | 'p' | 'P') => CLASS,
                _ => 1,
            },
            '(' => {
                sums.push(1);
                continue;
            }
            ')' if sums.len() > 1 => sums.pop().unwrap_or_default(),
            '{' => {
                let Some((bounds, after)) = rest.as_str().split_once('}') else { continue };
                let most =
                    bounds.split(',').filter_map(|bound| bound.trim().parse::<u64>().ok()).max();
                let Some(most) = most else { continue };
                rest = after.chars();
                last.saturating_mul(most.saturating_sub(1))
            }
            _ => 1,
        };
        last = if character == '{' { last.saturating_add(cost) } else { cost };
        if let Some(sum) = sums.last_mut() {
            *sum = sum.saturating_add(cost);
        }
    }
    sums.into_iter().fold(0, u64::saturating_add)
}

/// Adds up the cost of all patterns of a schema.
pub(super) fn cost_of_all(schema: &Value) -> u64 {
    match schema {
        Value::Object(members) => members.iter().fold(0, |sum: u64, (name, value)| {
            let own = match (keywords::of(name), value) {
                (Some(Keyword::Pattern), Value::String(pattern)) => cost(pattern),
                (Some(Keyword::SchemasByPattern), Value::Object(members)) => {
                    members.keys().fold(0_u64, |sum, pattern| sum.saturating_add(cost(pattern)))
                }
                _ => 0,
            };
            sum.saturating_add(own).saturating_add(cost_of_all(value))
        }),
        Value::Array(elements) => {
            elements.iter().fold(0, |sum, value| sum.saturating_add(cost_of_all(value)))
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_multiply() {
        for (pattern, expected) in [
            ("", 0),
            ("abc", 3),
            ("a{10}", 10),
            ("(ab){5}", 15),
            ("((a{10}){10}){10}", 1110),
            (r"\d{4}-\d{2}", 601),
            ("a{", 1),
            (r"\p{L}", 102),
            (")", 1),
            ("a{99999999999}{99999999999}{99999999999}", u64::MAX),
        ] {
            let found = cost(pattern);
            assert!(found >= expected && found / 4 <= expected.max(4), "{pattern}: {found}");
        }
    }
}
