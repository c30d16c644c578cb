//! Points in time: one lenient ISO 8601 parser, and one output format for each contract.

use std::fmt;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// A point in time, to the nanosecond, in UTC.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Timestamp(jiff::Timestamp);

/// The time zone notation that a parsed text used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a time has no zone, `Z`, or an offset in minutes")]
pub enum Zone {
    /// No zone: `2026-02-07T20:07:00`.
    Naive,
    /// The letter `Z`: `2026-02-07T20:07:00Z`.
    Z,
    /// A numeric offset: `2026-02-07T20:07:00+02:00`, in minutes east of UTC.
    Offset(i16),
}

impl Zone {
    /// True if the text itself states UTC, by `Z` or a zero offset.
    pub fn is_utc(self) -> bool {
        matches!(self, Self::Z | Self::Offset(0))
    }
}

impl Timestamp {
    /// Parses an ISO 8601 date and time with an offset, with `Z`, or without a zone (read as UTC). It accepts 0 to 9
    /// fraction digits. A stricter caller can check the returned zone.
    ///
    /// # Errors
    ///
    /// Returns an error if the text has another form, or if no such day or time exists.
    ///
    /// ```
    /// use answerback_json::time::{Timestamp, Zone};
    ///
    /// let (time, zone) = Timestamp::parse("2026-02-07T22:07:00.5+02:00")?;
    /// assert_eq!((time.to_utc_seconds(), zone), ("2026-02-07T20:07:00Z".into(), Zone::Offset(120)));
    /// # Ok::<(), answerback_json::time::TimestampError>(())
    /// ```
    pub fn parse(text: &str) -> Result<(Self, Zone), TimestampError> {
        let error = || TimestampError(text.chars().take(64).collect());
        let bytes = text.as_bytes();
        let digits = |range: std::ops::Range<usize>| -> Option<i32> {
            let part = bytes.get(range)?;
            part.iter().all(u8::is_ascii_digit).then_some(())?;
            Some(part.iter().fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0')))
        };
        let separators = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
        let separated = separators.iter().all(|&(at, byte)| bytes.get(at) == Some(&byte))
            && matches!(bytes.get(10), Some(b'T' | b't' | b' '));
        if !separated {
            return Err(error());
        }
        let fields = [0..4, 5..7, 8..10, 11..13, 14..16, 17..19].map(digits);
        let [Some(year), Some(month), Some(day), Some(hour), Some(minute), Some(second)] = fields
        else {
            return Err(error());
        };
        let mut rest = &bytes[19..];
        let mut nanosecond = 0;
        if let [b'.' | b',', fraction @ ..] = rest {
            let length = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if length == 0 || length > 9 {
                return Err(error());
            }
            nanosecond =
                fraction[..length].iter().fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0'));
            nanosecond *= 10_i32.pow(9 - u32::try_from(length).unwrap_or(9));
            rest = &fraction[length..];
        }
        let zone = zone(rest).ok_or_else(error)?;
        // The clock in use has no leap seconds, so a leap second is read as the second before it.
        let second = if second == 60 { 59 } else { second };
        let part = |number: i32| i8::try_from(number).map_err(|_| error());
        let civil = jiff::civil::DateTime::new(
            i16::try_from(year).map_err(|_| error())?,
            part(month)?,
            part(day)?,
            part(hour)?,
            part(minute)?,
            part(second)?,
            nanosecond,
        )
        .map_err(|_| error())?;
        let offset = match zone {
            Zone::Naive | Zone::Z => 0,
            Zone::Offset(minutes) => i32::from(minutes) * 60,
        };
        let offset = jiff::tz::Offset::from_seconds(offset).map_err(|_| error())?;
        // Many documents write the last hours of the year 9999 for "never". The latest value that the type holds
        // stands for them.
        let timestamp = offset.to_timestamp(civil).unwrap_or(jiff::Timestamp::MAX);
        // With an offset, the UTC time must still have a year of four digits.
        if jiff::tz::Offset::UTC.to_datetime(timestamp).year() < 0 {
            return Err(error());
        }
        Ok((Self(timestamp), zone))
    }

    /// Returns the time this many milliseconds after the Unix epoch, or the nearest time that the type can hold.
    pub fn from_unix_millis(millis: i64) -> Self {
        let held = jiff::Timestamp::from_millisecond(millis);
        Self(held.unwrap_or(if millis < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX }))
    }

    /// Returns the time this many microseconds after the Unix epoch, or the nearest time that the type can hold.
    pub fn from_unix_micros(micros: i64) -> Self {
        let held = jiff::Timestamp::from_microsecond(micros);
        Self(held.unwrap_or(if micros < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX }))
    }

    /// Returns the milliseconds since the Unix epoch.
    pub fn unix_millis(self) -> i64 {
        self.0.as_millisecond()
    }

    /// Returns the nanoseconds from `earlier` to this time. The result is negative if `earlier` is later.
    pub fn nanos_since(self, earlier: Self) -> i128 {
        self.0.as_nanosecond() - earlier.0.as_nanosecond()
    }

    /// Returns the time this many days of 24 hours later, or the latest time that the type can hold.
    #[must_use]
    pub fn plus_days(self, days: i32) -> Self {
        let span = jiff::SignedDuration::from_hours(i64::from(days) * 24);
        Self(self.0.checked_add(span).unwrap_or(jiff::Timestamp::MAX))
    }

    /// Formats the time as ATDF and UI envelopes write it: `2026-02-07T20:07:00.000000+00:00`.
    pub fn to_offset_micros(self) -> String {
        let (mut text, micros) = self.to_seconds();
        text.push('.');
        text.extend(digits::<6>(micros));
        text.push_str("+00:00");
        text
    }

    /// Formats the time as tool envelopes and governed responses write it: `2026-02-07T20:07:00Z`.
    pub fn to_utc_seconds(self) -> String {
        let (mut text, _) = self.to_seconds();
        text.push('Z');
        text
    }

    /// Returns `2026-02-07T20:07:00` and the microseconds. Every entry of a ledger has times, so this avoids parsing
    /// a format string.
    fn to_seconds(self) -> (String, u32) {
        let time = jiff::tz::Offset::UTC.to_datetime(self.0);
        let mut text = String::with_capacity("2026-02-07T20:07:00.000000+00:00".len());
        let year = time.year();
        if year < 0 {
            text.push('-');
        }
        text.extend(digits::<4>(u32::from(year.unsigned_abs())));
        let fields = [
            ('-', time.month()),
            ('-', time.day()),
            ('T', time.hour()),
            (':', time.minute()),
            (':', time.second()),
        ];
        for (before, field) in fields {
            text.push(before);
            text.extend(digits::<2>(u32::from(field.unsigned_abs())));
        }
        (text, time.subsec_nanosecond().unsigned_abs() / 1000)
    }
}

/// Returns the last `N` decimal digits of a number, padded with zeros.
fn digits<const N: usize>(mut number: u32) -> [char; N] {
    let mut digits = ['0'; N];
    for digit in digits.iter_mut().rev() {
        *digit = char::from(b'0' + (number % 10) as u8);
        number /= 10;
    }
    digits
}

impl From<SystemTime> for Timestamp {
    /// Converts a clock time, to the microsecond. A time before 1970 counts as 1970.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self::from_unix_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map(|(timestamp, _)| timestamp).map_err(serde::de::Error::custom)
    }
}

/// The error for a text that is not a date and time.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not an ISO 8601 date and time such as 2026-02-07T20:07:00Z: {0:?}")]
pub struct TimestampError(String);

fn zone(text: &[u8]) -> Option<Zone> {
    match text {
        [] => Some(Zone::Naive),
        b"Z" | b"z" => Some(Zone::Z),
        [sign @ (b'+' | b'-'), offset @ ..] => {
            let (hours, minutes) = match offset {
                [h1, h2, b':', m1, m2] | [h1, h2, m1, m2] => ([h1, h2], [m1, m2]),
                [h1, h2] => ([h1, h2], [&b'0', &b'0']),
                _ => return None,
            };
            let number = |digits: [&u8; 2]| -> Option<i16> {
                digits.iter().all(|digit| digit.is_ascii_digit()).then(|| {
                    digits.iter().fold(0, |sum, digit| sum * 10 + i16::from(**digit - b'0'))
                })
            };
            let (hours, minutes) = (number(hours)?, number(minutes)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let east = hours * 60 + minutes;
            Some(Zone::Offset(if *sign == b'-' { -east } else { east }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_as_a_form_would_write_it() {
        let near = [0, 1, -1, 999_999, 1_000_000, -1_000_001, 1_794_767_084_727_091];
        let far = [i64::MIN, -62_135_596_800_000_000, 253_402_207_199_999_999, i64::MAX];
        for micros in near.into_iter().chain(far) {
            let time = Timestamp::from_unix_micros(micros);
            let civil = jiff::tz::Offset::UTC.to_datetime(time.0);
            let form = |form| civil.strftime(form).to_string();
            assert_eq!(time.to_offset_micros(), form("%Y-%m-%dT%H:%M:%S%.6f+00:00"));
            assert_eq!(time.to_utc_seconds(), form("%Y-%m-%dT%H:%M:%SZ"));
        }
    }

    #[test]
    fn lenient_reading() {
        let table = [
            ("2026-02-07T20:07:00Z", "2026-02-07T20:07:00.000000+00:00", Zone::Z),
            ("2026-02-07t20:07:00.123456789z", "2026-02-07T20:07:00.123456+00:00", Zone::Z),
            ("2026-02-07 20:07:00", "2026-02-07T20:07:00.000000+00:00", Zone::Naive),
            ("2026-02-07T22:07:00+0200", "2026-02-07T20:07:00.000000+00:00", Zone::Offset(120)),
            ("2026-02-07T19:07:00-01", "2026-02-07T20:07:00.000000+00:00", Zone::Offset(-60)),
            ("2024-02-29T23:59:60Z", "2024-02-29T23:59:59.000000+00:00", Zone::Z),
            ("9999-12-31T23:59:59Z", "9999-12-30T22:00:00.999999+00:00", Zone::Z),
        ];
        for (text, written, zone) in table {
            let (timestamp, found) = Timestamp::parse(text).unwrap();
            assert_eq!((timestamp.to_offset_micros().as_str(), found), (written, zone), "{text}");
        }
        for text in [
            "",
            "now",
            "2026-02-07",
            "2026-02-30T00:00:00Z",
            "2026-02-07T24:00:00Z",
            "2026-02-07T20:07Z",
            "2026-02-07T20:07:00.Z",
            "2026-02-07T20:07:00+25:00",
            "2026-02-07T20:07:00Z ",
            "2026-02-07T20:07:00.1234567890Z",
            "+026-02-07T20:07:00Z",
            "0000-01-01T00:00:00+01:00",
            "2026-02-07T20:07:00+02:0é",
        ] {
            assert!(Timestamp::parse(text).is_err(), "{text}");
        }
    }
}
