//! Dates, times and durations as common parsers accept them.

use std::iter::Peekable;
use std::str::Chars;

/// The longest text that is parsed, in bytes. No date is longer.
const LONGEST: usize = 128;
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const ZONES: [&str; 12] =
    ["z", "ut", "utc", "gmt", "est", "edt", "cst", "cdt", "mst", "mdt", "pst", "pdt"];

/// True for a date and time of day that `datetime.fromisoformat`, pydantic or `Date` accepts.
pub(super) fn is_date_time(text: &str) -> bool {
    if text.len() > LONGEST {
        return false;
    }
    let text = text.trim();
    Scan(text).iso_date_time().is_some() || is_timestamp(text) || is_written_date(text)
}

/// True for a date that `date.fromisoformat`, pydantic or `Date` accepts. These parsers also accept a time with it.
pub(super) fn is_date(text: &str) -> bool {
    if text.len() > LONGEST {
        return false;
    }
    let text = text.trim();
    let is_midnight = || {
        let seconds = text.parse::<i64>();
        seconds.is_ok_and(|seconds| seconds % (24 * 60 * 60) == 0)
    };
    Scan(text).iso_date_time().is_some() || is_written_date(text) || is_midnight()
}

/// True for a time of day that `time.fromisoformat` or pydantic accepts, or one on a twelve-hour clock.
pub(super) fn is_time(text: &str) -> bool {
    if text.len() > LONGEST {
        return false;
    }
    let text = text.trim();
    let mut scan = Scan(text.strip_prefix(['T', 't']).unwrap_or(text));
    if scan.time().is_some() && scan.end_or_zone().is_some() {
        return true;
    }
    let lower = text.to_ascii_lowercase();
    let half = lower.strip_suffix("am").or_else(|| lower.strip_suffix("pm"));
    half.is_some_and(|time| {
        let mut scan = Scan(time.trim_end());
        let hour = scan.number(1, 2).filter(|hour| (1..=12).contains(hour));
        hour.is_some() && scan.minutes().is_some() && scan.0.is_empty()
    })
}

/// True for a duration in ISO 8601, on a clock, or as numbers with units.
pub(super) fn is_duration(text: &str) -> bool {
    if text.len() > LONGEST {
        return false;
    }
    let text = text.trim();
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    is_iso_duration(text) || is_clock_duration(text) || is_unit_duration(text)
}

/// Describes the part that a date-time or a time lacks. It does not suggest a time zone, because only the author
/// knows it.
pub(super) fn difference(format: &str, text: &str) -> Option<&'static str> {
    if text.len() > LONGEST {
        return None;
    }
    let mut scan = Scan(text.trim());
    if format == "date-time" {
        scan.iso_date()?;
        if scan.0.is_empty() {
            return Some("it has no time of day and no time zone");
        }
        scan.any()?;
    }
    scan.time()?;
    scan.0.is_empty().then_some("it has no time zone")
}

/// True for seconds or milliseconds since 1970, as pydantic accepts them.
fn is_timestamp(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    whole.len() <= 15 && is_number(whole) && is_number(fraction)
}

/// A text that is consumed from its start.
struct Scan<'t>(&'t str);

impl Scan<'_> {
    fn eat(&mut self, expected: char) -> Option<()> {
        self.0 = self.0.strip_prefix(expected)?;
        Some(())
    }

    fn any(&mut self) -> Option<char> {
        let first = self.0.chars().next()?;
        self.0 = &self.0[first.len_utf8()..];
        Some(first)
    }

    fn digits(&self) -> usize {
        self.0.bytes().take_while(u8::is_ascii_digit).count()
    }

    /// Parses a number of `least` to `most` digits.
    fn number(&mut self, least: usize, most: usize) -> Option<u32> {
        let count = self.digits().min(most);
        if count < least {
            return None;
        }
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        digits.parse().ok()
    }

    fn iso_date_time(&mut self) -> Option<()> {
        self.iso_date()?;
        if self.0.is_empty() {
            return Some(());
        }
        self.any()?;
        self.time()?;
        self.end_or_zone()
    }

    /// Parses a calendar date, a week date, a day of a year, a month or a year.
    fn iso_date(&mut self) -> Option<()> {
        let is_long = self.0.starts_with(['+', '-']);
        if is_long {
            self.any();
        }
        if !is_long && self.digits() == 8 {
            let (year, month, day) = (self.number(4, 4)?, self.number(2, 2)?, self.number(2, 2)?);
            return is_day(year, month, day).then_some(());
        }
        let year = if is_long { self.number(6, 6)? } else { self.number(4, 4)? };
        if self.eat('-').is_none() {
            if self.0.starts_with('W') {
                return self.week();
            }
            return (self.0.is_empty() || self.0.starts_with('T')).then_some(());
        }
        if self.0.starts_with('W') {
            return self.week();
        }
        if self.digits() == 3 {
            return self.number(3, 3).filter(|day| (1..=366).contains(day)).map(|_| ());
        }
        let month = self.number(1, 2).filter(|month| (1..=12).contains(month))?;
        if self.eat('-').is_none() {
            return Some(());
        }
        let day = self.number(1, 2)?;
        is_day(year, month, day).then_some(())
    }

    fn week(&mut self) -> Option<()> {
        self.eat('W')?;
        self.number(2, 2).filter(|week| (1..=53).contains(week))?;
        let has_hyphen = self.eat('-').is_some();
        if self.digits() == 1 {
            return self.number(1, 1).filter(|day| (1..=7).contains(day)).map(|_| ());
        }
        (!has_hyphen).then_some(())
    }

    /// Parses hours with optional minutes and seconds, with or without colons.
    fn time(&mut self) -> Option<()> {
        let is_basic = self.digits() >= 4;
        let hour = self.number(2, 2)?;
        let rest = self.0;
        if is_basic {
            self.number(2, 2).filter(|minute| *minute < 60)?;
            if self.digits() > 0 {
                self.number(2, 2).filter(|second| *second < 60)?;
                self.fraction()?;
            }
        } else if self.0.starts_with(':') {
            self.minutes()?;
        }
        let is_zero =
            || rest[..rest.len() - self.0.len()].bytes().all(|byte| b"0:.,".contains(&byte));
        (hour < 24 || hour == 24 && is_zero()).then_some(())
    }

    /// Parses optional minutes after a colon, with optional seconds and fraction.
    fn minutes(&mut self) -> Option<()> {
        if self.eat(':').is_none() {
            return Some(());
        }
        self.number(2, 2).filter(|minute| *minute < 60)?;
        if self.eat(':').is_some() {
            self.number(2, 2).filter(|second| *second < 60)?;
            self.fraction()?;
        }
        Some(())
    }

    fn fraction(&mut self) -> Option<()> {
        if self.0.starts_with(['.', ',']) {
            self.any();
            let count = self.digits();
            self.0 = &self.0[count..];
            return (count > 0).then_some(());
        }
        Some(())
    }

    fn end_or_zone(&mut self) -> Option<()> {
        self.0 = self.0.strip_prefix(' ').unwrap_or(self.0);
        if self.0.is_empty() || matches!(self.0, "Z" | "z") {
            return Some(());
        }
        if !self.0.starts_with(['+', '-']) {
            return None;
        }
        self.any();
        self.time()?;
        self.0.is_empty().then_some(())
    }
}

fn is_day(year: u32, month: u32, day: u32) -> bool {
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// True for a date in words or with slashes that `Date` accepts: `Mon, 01 Jan 2024 10:00:00 GMT`, `1/31/2024 5:00
/// PM`.
fn is_written_date(text: &str) -> bool {
    WrittenDate::read(text).is_some_and(|date| date.is_complete())
}

#[derive(Default)]
struct WrittenDate {
    month: Option<u32>,
    /// The numbers outside a time of day, each with its number of digits.
    numbers: Vec<(u32, usize)>,
    has_time: bool,
    has_zone: bool,
}

impl WrittenDate {
    fn read(text: &str) -> Option<Self> {
        let mut date = Self::default();
        let mut rest = text.chars().peekable();
        while let Some(&next) = rest.peek() {
            if next.is_ascii_digit() {
                date.number(&mut rest)?;
            } else if next.is_ascii_alphabetic() {
                date.word(&word(&mut rest))?;
            } else {
                rest.next();
                match next {
                    ' ' | ',' => {}
                    '/' | '-' | '.' if !date.has_time && !date.has_zone => {}
                    '(' => {
                        rest.find(|character| *character == ')')?;
                    }
                    '+' | '-' if date.has_time || date.has_zone => {
                        let (digits, count) = digits(&mut rest)?;
                        if rest.next_if_eq(&':').is_some() {
                            digits_of(&mut rest, 2)?;
                        }
                        (count <= 4 && digits <= 1400).then_some(())?;
                        date.has_zone = true;
                    }
                    _ => return None,
                }
            }
        }
        Some(date)
    }

    fn number(&mut self, rest: &mut Peekable<Chars<'_>>) -> Option<()> {
        let (number, count) = digits(rest)?;
        if rest.next_if_eq(&':').is_none() {
            (self.numbers.len() < 3).then_some(())?;
            self.numbers.push((number, count));
            return Some(());
        }
        (!self.has_time && number <= 24).then_some(())?;
        self.has_time = true;
        digits_of(rest, 2).filter(|minute| *minute < 60)?;
        if rest.next_if_eq(&':').is_some() {
            digits_of(rest, 2).filter(|second| *second < 60)?;
            if rest.next_if_eq(&'.').is_some() {
                digits(rest)?;
            }
        }
        Some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let starts = |name: &&str| word.len() >= 3 && name.starts_with(word);
        if let Some(month) = MONTHS.iter().position(starts) {
            self.month.is_none().then_some(())?;
            self.month = u32::try_from(month + 1).ok();
            return Some(());
        }
        let is_ordinal = matches!(word, "st" | "nd" | "rd" | "th") && !self.numbers.is_empty();
        if matches!(word, "am" | "pm") && self.has_time
            || word == "t" && !self.numbers.is_empty()
            || WEEKDAYS.iter().any(starts)
            || is_ordinal
        {
            return Some(());
        }
        self.has_zone = ZONES.contains(&word);
        self.has_zone.then_some(())
    }

    fn is_complete(&self) -> bool {
        match (self.month, self.numbers.as_slice()) {
            (Some(_), [(_, count)]) => *count == 4,
            (Some(month), [(one, _), (other, _)]) => {
                is_day(*other, month, *one) || is_day(*one, month, *other)
            }
            (None, [(year, 4), (month, _), (day, _)]) => is_day(*year, *month, *day),
            (None, [(one, _), (other, _), (year, 2 | 4)]) => {
                is_day(*year, *one, *other) || is_day(*year, *other, *one)
            }
            _ => false,
        }
    }
}

fn word(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut word = String::new();
    while let Some(letter) = rest.next_if(char::is_ascii_alphabetic) {
        word.push(letter.to_ascii_lowercase());
    }
    word
}

/// Parses a number and returns it with its number of digits.
fn digits(rest: &mut Peekable<Chars<'_>>) -> Option<(u32, usize)> {
    let (mut number, mut count) = (0_u32, 0);
    while let Some(digit) = rest.next_if(char::is_ascii_digit) {
        number = number.checked_mul(10)?.checked_add(digit.to_digit(10)?)?;
        count += 1;
    }
    (count > 0).then_some((number, count))
}

fn digits_of(rest: &mut Peekable<Chars<'_>>, expected: usize) -> Option<u32> {
    digits(rest).filter(|(_, count)| *count == expected).map(|(number, _)| number)
}

/// True for a duration such as `P1Y2M3DT4H5M6.5S`. Weeks may be combined with other parts, and every number may have
/// a fraction.
fn is_iso_duration(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    let Some(parts) = upper.strip_prefix('P') else { return false };
    let (days, time) = parts.split_once('T').unwrap_or((parts, ""));
    let counts = (count_of_parts(days, "YMWD"), count_of_parts(time, "HMS"));
    matches!(counts, (Some(days), Some(time)) if days + time > 0)
}

/// Counts the numbers with these units in a text. Each unit may occur once, in this order. Returns `None` for other
/// text.
fn count_of_parts(text: &str, mut units: &str) -> Option<usize> {
    let (mut rest, mut count) = (text, 0);
    while !rest.is_empty() {
        let after = after_number(rest)?;
        let unit = after.chars().next()?;
        units = &units[units.find(unit)? + 1..];
        rest = &after[unit.len_utf8()..];
        count += 1;
    }
    Some(count)
}

/// Returns the text after the number at the start of a text.
fn after_number(text: &str) -> Option<&str> {
    let is_part = |character: char| character.is_ascii_digit() || ".,".contains(character);
    let after = text.trim_start_matches(is_part);
    let number = &text[..text.len() - after.len()];
    let number_is_good = number.starts_with(|first: char| first.is_ascii_digit())
        && number.ends_with(|last: char| last.is_ascii_digit())
        && number.matches(['.', ',']).count() <= 1;
    number_is_good.then_some(after)
}

/// True for `1 day, 10:00:00` and similar texts, as Python prints a `timedelta` and pydantic accepts it.
fn is_clock_duration(text: &str) -> bool {
    let clock = match text.split_once("day") {
        Some((days, clock)) => {
            if days.trim().is_empty() || !days.trim().bytes().all(|byte| byte.is_ascii_digit()) {
                return false;
            }
            clock.strip_prefix('s').unwrap_or(clock).trim_start_matches([',', ' '])
        }
        None => text,
    };
    let mut scan = Scan(clock);
    scan.number(1, 4).is_some()
        && scan.0.starts_with(':')
        && scan.minutes().is_some()
        && scan.0.is_empty()
}

/// True for numbers that each have a unit: `1h30m`, `300ms`, `2 hours`.
fn is_unit_duration(text: &str) -> bool {
    const UNITS: &[&str] = &[
        "ns", "us", "µs", "ms", "s", "sec", "secs", "second", "seconds", "m", "min", "mins",
        "minute", "minutes", "h", "hr", "hrs", "hour", "hours", "d", "day", "days", "w", "week",
        "weeks",
    ];
    let lower = text.to_lowercase();
    let (mut rest, mut count) = (lower.as_str(), 0);
    while !rest.is_empty() {
        let Some(after) = after_number(rest) else { return false };
        let after = after.trim_start();
        let end = after.find(|character: char| !character.is_alphabetic()).unwrap_or(after.len());
        if !UNITS.contains(&&after[..end]) {
            return false;
        }
        rest = after[end..].trim_start_matches([' ', ',']);
        count += 1;
    }
    count > 0
}
