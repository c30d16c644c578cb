//! Parses times on the command line: a date, a time, or a span before now.

use answerback::Timestamp;
use anyhow::{Context, bail};

/// The microseconds of a day.
pub(super) const DAY: i64 = 24 * 3600 * 1_000_000;

/// Parses a time to microseconds since 1970: `2026-11-15`, `2026-11-15T18:00:00Z`, or `36h` for that long ago.
pub(super) fn moment(text: &str, now: i64) -> anyhow::Result<i64> {
    if let Ok(span) = span(text) {
        return Ok(now - span);
    }
    let midnight = format!("{text}T00:00:00Z");
    let (time, _) = Timestamp::parse(text)
        .or_else(|error| Timestamp::parse(&midnight).map_err(|_| error))
        .context(
            "give a date, a time such as 2026-11-15T18:00:00Z, or how long ago, such as 36h",
        )?;
    micros(time)
}

/// Parses a span to microseconds: a number with s, m, h, d or w.
pub(super) fn span(text: &str) -> anyhow::Result<i64> {
    let unit = match text.chars().last() {
        Some('s') => 1_000_000,
        Some('m') => 60 * 1_000_000,
        Some('h') => 3600 * 1_000_000,
        Some('d') => DAY,
        Some('w') => 7 * DAY,
        _ => 0,
    };
    let count = text.get(..text.len().saturating_sub(1)).unwrap_or_default();
    let span = count.parse::<u32>().ok().and_then(|count| i64::from(count).checked_mul(unit));
    match span {
        Some(span) if unit > 0 => Ok(span),
        _ => bail!("{text:?} is no span of time; give a number with s, m, h, d or w, such as 183d"),
    }
}

/// Returns the microseconds since 1970.
pub(super) fn micros(time: Timestamp) -> anyhow::Result<i64> {
    let micros = time.nanos_since(Timestamp::from_unix_micros(0)) / 1000;
    i64::try_from(micros).context("the time is too far away")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write() {
        let now = 10 * DAY;
        for (text, expected) in [
            ("36h", Some(now - DAY * 3 / 2)),
            ("2d", Some(8 * DAY)),
            ("1w", Some(3 * DAY)),
            ("1970-01-03", Some(2 * DAY)),
            ("1970-01-03T12:00:00Z", Some(2 * DAY + DAY / 2)),
            ("1970-01-03T12:00:00+12:00", Some(2 * DAY)),
            ("yesterday", None),
            ("", None),
            ("d", None),
            ("-3d", None),
            ("99999999999d", None),
            ("3é", None),
        ] {
            assert_eq!(moment(text, now).ok(), expected, "{text}");
        }
    }
}
