//! Parses the one time format of a leaf to microseconds since 1970.

/// Parses `YYYY-MM-DDTHH:MM:SS.ffffffZ`.
pub(crate) fn micros(text: &[u8]) -> Option<i64> {
    let text: &[u8; 27] = text.try_into().ok()?;
    let separators =
        [text[4], text[7], text[10], text[13], text[16], text[19], text[26]] == *b"--T::.Z";
    let digits = [0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18, 20, 21, 22, 23, 24, 25];
    // Check all digits before branching, so that there is one branch instead of twenty.
    let all_digits = digits.iter().fold(true, |all, at| all & text[*at].is_ascii_digit());
    if !separators || !all_digits {
        return None;
    }
    let number = |from: usize, to: usize| {
        let digits = text[from..to].iter();
        digits.fold(0_i64, |number, digit| number * 10 + i64::from(digit - b'0'))
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    if !(1..=days).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = ((days_since_1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some(seconds * 1_000_000 + number(20, 26))
}

/// Returns the days from 1970-01-01 to a day of the Gregorian calendar. Its years start in March,
/// so that the leap day comes last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
        - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_one_form() {
        for (text, expected) in [
            ("1970-01-01T00:00:00.000000Z", Some(0)),
            ("1970-01-01T00:00:00.000001Z", Some(1)),
            ("2026-11-15T18:24:44.727091Z", Some(1_794_767_084_727_091)),
            ("2024-02-29T00:00:00.000000Z", Some(1_709_164_800_000_000)),
            ("1969-12-31T23:59:59.999999Z", Some(-1)),
            ("2023-02-29T00:00:00.000000Z", None),
            ("2026-11-15T18:24:44.727091z", None),
            ("2026-11-15T18:24:60.000000Z", None),
            ("2026-11-15T18:24:44.72709Z", None),
            ("2026-13-15T18:24:44.727091Z", None),
            ("2026-11-15 18:24:44.727091Z", None),
            ("2026-11-15T18:24:44.72709:Z", None),
            ("/026-11-15T18:24:44.727091Z", None),
            ("2026-11-15T18:24:44.7270912", None),
        ] {
            assert_eq!(micros(text.as_bytes()), expected, "{text}");
        }
    }
}
