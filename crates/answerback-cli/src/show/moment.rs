//! Formats times and durations.

use answerback::Timestamp;

/// A time as date and clock in UTC.
pub(crate) struct Moment {
    pub(crate) time: Timestamp,
    /// The date: `2026-02-07`.
    pub(crate) day: String,
    /// The clock: `20:07:45`, with the fraction if it is not zero.
    pub(crate) clock: String,
}

impl Moment {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (time, _) = Timestamp::parse(text).ok()?;
        let written = time.to_offset_micros();
        let (day, rest) = written.split_once('T')?;
        let clock = rest.split('+').next()?.trim_end_matches('0').trim_end_matches('.');
        // Without a fraction, trimming may have removed zeros of the seconds.
        let clock = if clock.contains('.') { clock } else { rest.get(..8)? };
        Some(Self { time, day: day.to_owned(), clock: clock.to_owned() })
    }

    /// Returns the clock without its fraction.
    pub(crate) fn seconds(&self) -> &str {
        self.clock.get(..8).unwrap_or(&self.clock)
    }
}

/// Formats a time for a header line: `2026-02-07 20:08:00 UTC`. Returns the text itself if it is not a time.
pub(crate) fn stamp(text: &str) -> String {
    Moment::parse(text).map_or_else(
        || super::width::beginning(text, 40).0.to_owned(),
        |moment| format!("{} {} UTC", moment.day, moment.seconds()),
    )
}

/// Formats a duration in its two largest units: `30 s`, `1 min 5 s`, `2 d 3 h`.
pub(crate) fn span(nanos: i128) -> String {
    let sign = if nanos < 0 { "−" } else { "" };
    let nanos = nanos.unsigned_abs();
    let millis = nanos / 1_000_000;
    let text = match millis {
        0 if nanos == 0 => "0 s".to_owned(),
        0 => format!("{} µs", (nanos / 1000).max(1)),
        1..1000 => format!("{millis} ms"),
        1000..10_000 if millis % 1000 >= 50 => {
            format!("{}.{} s", millis / 1000, millis % 1000 / 100)
        }
        _ => {
            let seconds = millis / 1000;
            match seconds {
                ..60 => format!("{seconds} s"),
                60..3600 => pair(seconds, 60, "min", 1, "s"),
                3600..86400 => pair(seconds, 3600, "h", 60, "min"),
                _ => pair(seconds, 86400, "d", 3600, "h"),
            }
        }
    };
    format!("{sign}{text}")
}

fn pair(seconds: u128, large: u128, large_name: &str, small: u128, small_name: &str) -> String {
    let (whole, rest) = (seconds / large, seconds % large / small);
    if rest == 0 {
        format!("{whole} {large_name}")
    } else {
        format!("{whole} {large_name} {rest} {small_name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_in_words() {
        let second = 1_000_000_000;
        let table = [
            (0, "0 s"),
            (5_000, "5 µs"),
            (250_000_000, "250 ms"),
            (1_500_000_000, "1.5 s"),
            (30 * second, "30 s"),
            (-15 * second, "−15 s"),
            (65 * second, "1 min 5 s"),
            (3600 * second, "1 h"),
            (90_000 * second, "1 d 1 h"),
        ];
        for (nanos, words) in table {
            assert_eq!(span(nanos), words);
        }
    }

    #[test]
    fn moments_in_utc() {
        let moment = Moment::parse("2026-02-07T22:07:45.500+02:00").unwrap();
        assert_eq!((moment.day.as_str(), moment.clock.as_str()), ("2026-02-07", "20:07:45.5"));
        assert_eq!(Moment::parse("2026-02-07T20:00:00Z").unwrap().clock, "20:00:00");
        assert_eq!(stamp("yesterday"), "yesterday");
    }
}
