//! Implements the three validators of the enriched-response guide. Each returns an enriched response that
//! passes the strict check. The caller passes in the current time.

mod date_range;
mod email;
mod password;

pub use date_range::{DateLimits, validate_date_range};
pub use email::validate_email;
pub use password::validate_password_strength;

/// The error codes of the validators, each with its meaning.
pub const CODES: [(&str, &str); 6] = [
    ("INVALID_DATE_FORMAT", "a date is not ISO 8601 with an offset"),
    ("INVALID_DATE_RANGE", "the dates are not in order, or not in the future"),
    ("EMPTY_EMAIL", "the address is empty"),
    ("INVALID_EMAIL_FORMAT", "the address has not the form of one"),
    ("EMPTY_PASSWORD", "the password is empty"),
    ("WEAK_PASSWORD", "the password is not strong enough"),
];

#[cfg(test)]
mod tests {
    use answerback_findings::Profile;
    use answerback_json::Timestamp;

    use super::*;
    use crate::Contract;

    #[test]
    fn every_answer_is_clean_under_strict() {
        let now = Timestamp::from_unix_micros(1_698_402_600_123_456);
        let answers = [
            validate_date_range("x", "", DateLimits::Advised, now),
            validate_date_range("2023-10-28T00:00:00", "2023-10-29", DateLimits::Advised, now),
            validate_date_range(
                "2023-10-28T00:00:00Z",
                "2023-10-29T00:00:00Z",
                DateLimits::Enforced,
                now,
            ),
            validate_date_range(
                "2023-10-28T00:00:00Z",
                "2023-11-29T00:00:00Z",
                DateLimits::Advised,
                now,
            ),
            validate_email("", now),
            validate_email("nobody", now),
            validate_email("user@example.com", now),
            validate_password_strength("", now),
            validate_password_strength("MyPassword1", now),
            validate_password_strength("MyP@ssw0rd!", now),
        ];
        for answer in answers {
            let document = answer.to_document();
            assert_eq!(Contract::Atdf.check(&document, Profile::Strict), [], "{document}");
            let is_listed = |code| CODES.iter().any(|(listed, _)| *listed == code);
            assert!(answer.code().is_none_or(is_listed), "{document}");
        }
    }
}
