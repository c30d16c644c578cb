use answerback_json::time::{Timestamp, Zone};
use serde_json::json;

use crate::atdf::{EnrichedResponse, ErrorBuilder, SuccessBuilder};

/// Decides how the advertised limits on a date range apply.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "limits are either advised or enforced")]
pub enum DateLimits {
    /// The limits are advice: the start should be a day ahead, and the end within 365 days.
    #[default]
    Advised,
    /// The limits are conditions like the others, and a range outside them is invalid.
    Enforced,
}

/// Validates a date range. The start must lie before the end, and both must lie after `now`.
///
/// ```
/// use answerback_json::Timestamp;
/// use answerback_contracts::atdf::validators::{DateLimits, validate_date_range};
///
/// let now = Timestamp::from_unix_millis(1_698_402_600_000);
/// let answer = validate_date_range("2023-10-28", "2023-11-15", DateLimits::Advised, now);
/// assert_eq!(answer.code(), Some("INVALID_DATE_FORMAT"));
/// ```
pub fn validate_date_range(
    start_date: &str,
    end_date: &str,
    limits: DateLimits,
    now: Timestamp,
) -> EnrichedResponse {
    match (read(start_date), read(end_date)) {
        (Ok(start), Ok(end)) => Range { start_date, end_date, start, end }.judge(limits, now),
        (start, end) => {
            let unread = [("start_date", start.err()), ("end_date", end.err())];
            let unread = unread.into_iter().filter_map(|(name, why)| Some((name, why?)));
            unreadable(start_date, end_date, &unread.collect::<Vec<_>>(), now)
        }
    }
}

const FORMAT: &str = "ISO 8601 (YYYY-MM-DDTHH:mm:ssZ)";
const MIN_START_DAYS: i32 = 1;
const MAX_END_DAYS: i32 = 365;

/// The reason why a date could not be parsed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Unread {
    NotADate,
    NoOffset,
}

fn read(text: &str) -> Result<Timestamp, Unread> {
    // A day without a time is a date too. Like a time without an offset, it is ambiguous.
    let is_day = || Timestamp::parse(&format!("{text}T00:00:00Z")).is_ok();
    match Timestamp::parse(text) {
        Ok((_, Zone::Naive)) => Err(Unread::NoOffset),
        Ok((time, _)) => Ok(time),
        Err(_) if text.len() == 10 && is_day() => Err(Unread::NoOffset),
        Err(_) => Err(Unread::NotADate),
    }
}

struct Range<'a> {
    start_date: &'a str,
    end_date: &'a str,
    start: Timestamp,
    end: Timestamp,
}

/// One condition on a range: the name of its result, its wording when it failed, its wording as an
/// expectation, and its result.
struct RangeCondition {
    name: &'static str,
    failed: &'static str,
    expected: &'static str,
    holds: bool,
}

impl Range<'_> {
    fn judge(&self, limits: DateLimits, now: Timestamp) -> EnrichedResponse {
        let conditions = self.conditions(limits, now);
        let failed: Vec<&str> = conditions
            .iter()
            .filter(|condition| !condition.holds)
            .map(|condition| condition.failed)
            .collect();
        if failed.is_empty() {
            return SuccessBuilder::new("Date range is valid")
                .data("start_date", self.start_date)
                .data("end_date", self.end_date)
                .data("duration_days", self.duration_days())
                .finish(now);
        }
        let mut error = ErrorBuilder::new(
            "INVALID_DATE_RANGE",
            format!("Date range validation failed: {}", failed.join(", ")),
            "date_range",
        )
        .received("start_date", answerback_redaction::redact(self.start_date))
        .received("end_date", answerback_redaction::redact(self.end_date))
        .received("current_time", now.to_offset_micros())
        .conditions(conditions.iter().map(|condition| condition.expected))
        .format(FORMAT)
        .constraint("min_start_date", format!("now + {MIN_START_DAYS} day"))
        .constraint("max_end_date", format!("now + {MAX_END_DAYS} days"))
        .example(
            "valid_range",
            json!({
                "start_date": now.plus_days(MIN_START_DAYS).to_offset_micros(),
                "end_date": now.plus_days(15).to_offset_micros(),
            }),
        );
        for condition in &conditions {
            error = error.validation_result(condition.name, condition.holds);
        }
        let steps = "Adjust dates so that: 1) start_date is before end_date, 2) both dates are after current date";
        let solution = match limits {
            DateLimits::Advised => steps.to_owned(),
            DateLimits::Enforced => format!(
                "{steps}, 3) start_date is at least {MIN_START_DAYS} day and end_date at most {MAX_END_DAYS} days from now"
            ),
        };
        error.solution(solution).finish(now)
    }

    fn conditions(&self, limits: DateLimits, now: Timestamp) -> Vec<RangeCondition> {
        let mut conditions = vec![
            RangeCondition {
                name: "start_before_end",
                failed: "start_date must be before end_date",
                expected: "start_date must be before end_date",
                holds: self.start < self.end,
            },
            RangeCondition {
                name: "start_after_now",
                failed: "start_date must be after current date",
                expected: "start_date must be after current date (now)",
                holds: self.start > now,
            },
            RangeCondition {
                name: "end_after_now",
                failed: "end_date must be after current date",
                expected: "end_date must be after current date (now)",
                holds: self.end > now,
            },
        ];
        if limits == DateLimits::Enforced {
            conditions.push(RangeCondition {
                name: "min_start_date",
                failed: "start_date must be at least 1 day after current date",
                expected: "start_date must be at least 1 day after current date (now)",
                holds: self.start >= now.plus_days(MIN_START_DAYS),
            });
            conditions.push(RangeCondition {
                name: "max_end_date",
                failed: "end_date must be at most 365 days after current date",
                expected: "end_date must be at most 365 days after current date (now)",
                holds: self.end <= now.plus_days(MAX_END_DAYS),
            });
        }
        conditions
    }

    /// Returns the number of whole days from start to end.
    fn duration_days(&self) -> i64 {
        const DAY: i128 = 24 * 60 * 60 * 1_000_000_000;
        i64::try_from(self.end.nanos_since(self.start).div_euclid(DAY)).unwrap_or(i64::MAX)
    }
}

fn unreadable(
    start_date: &str,
    end_date: &str,
    unread: &[(&str, Unread)],
    now: Timestamp,
) -> EnrichedResponse {
    let told: Vec<String> = unread
        .iter()
        .map(|(name, why)| match why {
            Unread::NotADate => format!("{name} is not an ISO 8601 date and time"),
            Unread::NoOffset => format!("{name} has no UTC offset"),
        })
        .collect();
    let mut solution = "Use ISO 8601 format for dates".to_owned();
    for (name, _) in unread.iter().filter(|(_, why)| *why == Unread::NoOffset) {
        solution.push_str("; add the missing UTC offset to ");
        solution.push_str(name);
        solution.push_str(": end it with Z or with an offset such as +00:00");
    }
    ErrorBuilder::new("INVALID_DATE_FORMAT", "Invalid date format provided", "date_format")
        .received("start_date", answerback_redaction::redact(start_date))
        .received("end_date", answerback_redaction::redact(end_date))
        .conditions([
            "start_date and end_date must be ISO 8601 dates with a time",
            "start_date and end_date must name their UTC offset (Z or +00:00)",
        ])
        .format(FORMAT)
        .valid_example("2023-10-27T10:30:00Z")
        .valid_example("2023-10-27T10:30:00+00:00")
        .detail("parsing_error", told.join("; "))
        .solution(solution)
        .finish(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns 2024-02-27T12:00:00Z, two days before a leap day.
    fn now() -> Timestamp {
        Timestamp::from_unix_millis(1_709_035_200_000)
    }

    /// Returns the duration of a valid range, the names of the failed checks, or the parsing error.
    fn judged(start: &str, end: &str, limits: DateLimits) -> String {
        let document = validate_date_range(start, end, limits, now()).to_document();
        if let Some(days) = document.pointer("/data/duration_days") {
            return format!("{days} days");
        }
        let details = &document["data"]["details"];
        match details.get("validation_results") {
            Some(results) => {
                let failed =
                    results.as_object().unwrap().iter().filter(|(_, holds)| **holds == false);
                failed.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ")
            }
            None => details["parsing_error"].as_str().unwrap().to_owned(),
        }
    }

    #[test]
    fn ranges() {
        let all = "start_before_end start_after_now end_after_now";
        let offset = "has no UTC offset";
        for (start, end, outcome) in [
            ("2024-02-28T00:00:00Z", "2024-03-01T00:00:00Z", "2 days"),
            ("2024-02-28T00:00:00Z", "2024-02-29T23:59:59.999999999Z", "1 days"),
            ("2024-02-29T00:00:00Z", "2024-02-29T00:00:01Z", "0 days"),
            ("2025-02-28T00:00:00Z", "2025-03-01T00:00:00Z", "1 days"),
            // These are the same instant under two offsets. An offset ignores daylight saving time.
            ("2024-03-31T02:30:00+02:00", "2024-03-31T00:30:00Z", "start_before_end"),
            ("2024-03-31T01:30:00+01:00", "2024-04-01T01:30:00+02:00", "0 days"),
            ("2024-03-01T00:00:00-11:00", "2024-03-02T00:00:00+14:00", "start_before_end"),
            ("2024-03-01T00:00:00z", "2024-03-02T00:00:00.5+0000", "1 days"),
            // A time equal to `now` is not after it.
            ("2024-02-27T12:00:00Z", "2024-02-28T12:00:00Z", "start_after_now"),
            ("2024-02-27T12:00:00Z", "2024-02-27T12:00:00Z", all),
            ("2024-02-27T12:00:00.000000001Z", "2024-02-27T12:00:00.000000002Z", "0 days"),
            ("2023-01-01T00:00:00Z", "2022-01-01T00:00:00Z", all),
            ("2023-01-01T00:00:00Z", "2024-06-01T00:00:00Z", "start_after_now"),
            ("2024-03-02T00:00:00Z", "2024-03-01T00:00:00Z", "start_before_end"),
            // The last hours of 9999 become the latest time that the type holds, so a day is missing.
            ("2024-03-01T00:00:00Z", "9999-12-31T23:59:59Z", "2913112 days"),
            ("0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "start_after_now"),
            (
                "2023-02-29T00:00:00Z",
                "2024-03-01T00:00:00Z",
                "start_date is not an ISO 8601 date and time",
            ),
            (
                "2024-03-01T00:00:00Z",
                "12024-03-01T00:00:00Z",
                "end_date is not an ISO 8601 date and time",
            ),
            ("2024-03-01T00:00:00", "2024-03-02T00:00:00Z", &format!("start_date {offset}")),
            ("2024-03-01", "2024-03-02", &format!("start_date {offset}; end_date {offset}")),
            (
                "2024-13-01",
                "tomorrow",
                "start_date is not an ISO 8601 date and time; end_date is not an ISO 8601 date and time",
            ),
            ("", "2024-03-02T00:00:00Z", "start_date is not an ISO 8601 date and time"),
            (
                "2024-03-01T00:00:00Z\n",
                "2024-03-02T00:00:00Z",
                "start_date is not an ISO 8601 date and time",
            ),
        ] {
            assert_eq!(judged(start, end, DateLimits::Advised), outcome, "{start} – {end}");
        }
    }

    #[test]
    fn limits_are_advice_until_they_are_enforced() {
        for (start, end, outcome) in [
            ("2024-02-28T12:00:00Z", "2025-02-26T12:00:00Z", "364 days"),
            ("2024-02-28T11:59:59Z", "2024-03-01T00:00:00Z", "min_start_date"),
            ("2024-02-28T12:00:00Z", "2025-02-26T12:00:00.001Z", "max_end_date"),
        ] {
            assert_eq!(judged(start, end, DateLimits::Enforced), outcome, "{start} – {end}");
            assert!(judged(start, end, DateLimits::Advised).ends_with("days"), "{start} – {end}");
        }
    }

    #[test]
    fn documents() {
        let range = validate_date_range(
            "2024-03-01T00:00:00Z",
            "2024-01-01T00:00:00Z",
            DateLimits::Advised,
            now(),
        );
        insta::assert_snapshot!(serde_json::to_string_pretty(&range).unwrap(), @r#"
        {
          "status": "error",
          "data": {
            "code": "INVALID_DATE_RANGE",
            "message": "Date range validation failed: start_date must be before end_date, end_date must be after current date",
            "details": {
              "field": "date_range",
              "received": {
                "start_date": "2024-03-01T00:00:00Z",
                "end_date": "2024-01-01T00:00:00Z",
                "current_time": "2024-02-27T12:00:00.000000+00:00"
              },
              "expected": {
                "conditions": [
                  "start_date must be before end_date",
                  "start_date must be after current date (now)",
                  "end_date must be after current date (now)"
                ],
                "format": "ISO 8601 (YYYY-MM-DDTHH:mm:ssZ)",
                "constraints": {
                  "min_start_date": "now + 1 day",
                  "max_end_date": "now + 365 days"
                },
                "examples": {
                  "valid_range": {
                    "start_date": "2024-02-28T12:00:00.000000+00:00",
                    "end_date": "2024-03-13T12:00:00.000000+00:00"
                  }
                }
              },
              "validation_results": {
                "start_before_end": false,
                "start_after_now": true,
                "end_after_now": false
              },
              "solution": "Adjust dates so that: 1) start_date is before end_date, 2) both dates are after current date"
            }
          },
          "meta": {
            "timestamp": "2024-02-27T12:00:00.000000+00:00"
          }
        }
        "#);
        let format = validate_date_range(
            "2024-03-01T00:00:00",
            "2024-03-02T00:00:00Z",
            DateLimits::Advised,
            now(),
        );
        insta::assert_snapshot!(serde_json::to_string_pretty(&format).unwrap(), @r#"
        {
          "status": "error",
          "data": {
            "code": "INVALID_DATE_FORMAT",
            "message": "Invalid date format provided",
            "details": {
              "field": "date_format",
              "received": {
                "start_date": "2024-03-01T00:00:00",
                "end_date": "2024-03-02T00:00:00Z"
              },
              "expected": {
                "conditions": [
                  "start_date and end_date must be ISO 8601 dates with a time",
                  "start_date and end_date must name their UTC offset (Z or +00:00)"
                ],
                "format": "ISO 8601 (YYYY-MM-DDTHH:mm:ssZ)",
                "examples": {
                  "valid": [
                    "2023-10-27T10:30:00Z",
                    "2023-10-27T10:30:00+00:00"
                  ]
                }
              },
              "parsing_error": "start_date has no UTC offset",
              "solution": "Use ISO 8601 format for dates; add the missing UTC offset to start_date: end it with Z or with an offset such as +00:00"
            }
          },
          "meta": {
            "timestamp": "2024-02-27T12:00:00.000000+00:00"
          }
        }
        "#);
    }
}
