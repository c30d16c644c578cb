use answerback_json::time::Timestamp;
use serde_json::json;
use unicode_general_category::{GeneralCategory, get_general_category};

use crate::atdf::{EnrichedResponse, ErrorBuilder, SuccessBuilder};

/// Validates the strength of a password. The response never contains the password, only its length in
/// characters and its level.
///
/// ```
/// use answerback_json::Timestamp;
/// use answerback_contracts::atdf::validators::validate_password_strength;
///
/// let answer = validate_password_strength("MyPassword1", Timestamp::from_unix_millis(0));
/// assert_eq!(answer.message(), "Password strength is medium");
/// ```
pub fn validate_password_strength(password: &str, now: Timestamp) -> EnrichedResponse {
    if password.is_empty() {
        return empty(now);
    }
    let length = password.chars().count();
    let any = |is: fn(char) -> bool| password.chars().any(is);
    let checks = [
        ("min_length", length >= MIN_LENGTH, "minimum 8 characters"),
        ("max_length", length <= MAX_LENGTH, "maximum 128 characters"),
        (
            "has_uppercase",
            any(|letter| letter.is_ascii_uppercase()),
            "at least one uppercase letter",
        ),
        (
            "has_lowercase",
            any(|letter| letter.is_ascii_lowercase()),
            "at least one lowercase letter",
        ),
        ("has_number", any(is_digit), "at least one number"),
        (
            "has_special",
            any(|character| SPECIAL.contains(character)),
            "at least one special character",
        ),
    ];
    let passed = checks.iter().filter(|(_, holds, _)| *holds).count();
    if passed == checks.len() {
        return SuccessBuilder::new("Password meets all strength requirements")
            .data("strength", "strong")
            .data("score", passed)
            .data("max_score", checks.len())
            .finish(now);
    }
    let strength = match passed {
        5.. => "medium",
        3..=4 => "weak",
        _ => "very_weak",
    };
    let failed: Vec<&str> =
        checks.iter().filter(|(_, holds, _)| !holds).map(|(_, _, told)| *told).collect();
    let mut error =
        ErrorBuilder::new("WEAK_PASSWORD", format!("Password strength is {strength}"), "password")
            .received("password_length", length)
            .received("strength_level", strength)
            .conditions([
                "Minimum 8 characters",
                "Maximum 128 characters",
                "At least one uppercase letter (A-Z)",
                "At least one lowercase letter (a-z)",
                "At least one number (0-9)",
            ])
            .condition(format!("At least one special character ({SPECIAL})"))
            .expectation(
                "strength_levels",
                json!({
                    "very_weak": "meets 0-2 conditions",
                    "weak": "meets 3-4 conditions",
                    "medium": "meets 5-6 conditions",
                    "strong": "meets all 6 conditions",
                }),
            )
            .example("strong", "MyP@ssw0rd!")
            .example("medium", "MyPassword1")
            .example("weak", "mypassword")
            .example("very_weak", "123")
            .detail("failed_conditions", failed.clone())
            .solution(format!("Add the missing requirements: {}", failed.join(", ")));
    for (name, holds, _) in checks {
        error = error.validation_result(name, holds);
    }
    error.finish(now)
}

const MIN_LENGTH: usize = 8;
const MAX_LENGTH: usize = 128;
const SPECIAL: &str = r#"!@#$%^&*(),.?":{}|<>"#;

fn empty(now: Timestamp) -> EnrichedResponse {
    ErrorBuilder::new("EMPTY_PASSWORD", "Password cannot be empty", "password")
        .received("password", "")
        .conditions([
            "Password must not be empty",
            "Minimum 8 characters",
            "At least one uppercase letter",
            "At least one lowercase letter",
            "At least one number",
            "At least one special character",
        ])
        .constraint("min_length", MIN_LENGTH)
        .constraint("max_length", MAX_LENGTH)
        .solution("Provide a non-empty password")
        .finish(now)
}

/// True for a decimal digit of any script, like `\d`. Fractions, letters and symbols that are numbers do not
/// count.
fn is_digit(character: char) -> bool {
    get_general_category(character) == GeneralCategory::DecimalNumber
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_unix_millis(1_698_402_600_000)
    }

    /// Returns the level and the failed checks.
    fn judged(password: &str) -> String {
        let document = validate_password_strength(password, now()).to_document();
        let data = &document["data"];
        if let Some(strength) = data.get("strength") {
            return format!(
                "{} {}/{}",
                strength.as_str().unwrap(),
                data["score"],
                data["max_score"]
            );
        }
        let details = &data["details"];
        let failed = details["validation_results"].as_object().unwrap().iter();
        let failed: Vec<&str> =
            failed.filter(|(_, holds)| **holds == false).map(|(name, _)| name.as_str()).collect();
        format!("{} {}", details["received"]["strength_level"].as_str().unwrap(), failed.join(" "))
    }

    #[test]
    fn passwords() {
        let longest = format!("aA1!{}", "x".repeat(124));
        let too_long = format!("aA1!{}", "x".repeat(125));
        for (password, outcome) in [
            ("MyP@ssw0rd!", "strong 6/6"),
            ("aA1!aaaa", "strong 6/6"),
            (&longest, "strong 6/6"),
            (&too_long, "medium max_length"),
            ("MyPassword1", "medium has_special"),
            ("aA1!aaa", "medium min_length"),
            ("mypassword", "weak has_uppercase has_number has_special"),
            ("MYPASSWORD1", "weak has_lowercase has_special"),
            ("123", "very_weak min_length has_uppercase has_lowercase has_special"),
            (" ", "very_weak min_length has_uppercase has_lowercase has_number has_special"),
            // Decimal digits of any script count, but other numbers do not.
            ("aAaaaa!٣", "strong 6/6"),
            ("aAaaaa!𝟘", "strong 6/6"),
            ("aAaaaa!९", "strong 6/6"),
            ("aAaaaa!½", "medium has_number"),
            ("aAaaaa!Ⅷ", "medium has_number"),
            ("aAaaaa!²", "medium has_number"),
            // The length counts characters, not bytes. Letters outside A-Z do not count as letters.
            ("ÄÄÄÄÄÄÄÄ", "very_weak has_uppercase has_lowercase has_number has_special"),
            ("aA1!ééé", "medium min_length"),
            ("aA1!éééé", "strong 6/6"),
            // The special characters are exactly the printed ones.
            ("aA1aaaa-", "medium has_special"),
            ("aA1aaaa_", "medium has_special"),
            ("aA1aaaa'", "medium has_special"),
            ("aA1aaaa\"", "strong 6/6"),
        ] {
            assert_eq!(judged(password), outcome, "{password}");
        }
    }

    #[test]
    fn each_special_character_counts_and_no_password_is_shown() {
        for special in "!@#$%^&*(),.?\":{}|<>".chars() {
            assert!(judged(&format!("aA1aaaa{special}")).starts_with("strong"), "{special}");
        }
        for password in ["hunter2hunter2", "correct horse", "秘密の言葉"] {
            let text = serde_json::to_string(&validate_password_strength(password, now())).unwrap();
            assert!(!text.contains(password), "{text}");
        }
    }

    #[test]
    fn documents() {
        let empty = validate_password_strength("", now());
        insta::assert_snapshot!(serde_json::to_string(&empty).unwrap(), @r#"{"status":"error","data":{"code":"EMPTY_PASSWORD","message":"Password cannot be empty","details":{"field":"password","received":{"password":""},"expected":{"conditions":["Password must not be empty","Minimum 8 characters","At least one uppercase letter","At least one lowercase letter","At least one number","At least one special character"],"constraints":{"min_length":8,"max_length":128}},"solution":"Provide a non-empty password"}},"meta":{"timestamp":"2023-10-27T10:30:00.000000+00:00"}}"#);
        let weak = validate_password_strength("secretsecret", now());
        insta::assert_snapshot!(serde_json::to_string_pretty(&weak).unwrap(), @r#"
        {
          "status": "error",
          "data": {
            "code": "WEAK_PASSWORD",
            "message": "Password strength is weak",
            "details": {
              "field": "password",
              "received": {
                "password_length": 12,
                "strength_level": "weak"
              },
              "expected": {
                "conditions": [
                  "Minimum 8 characters",
                  "Maximum 128 characters",
                  "At least one uppercase letter (A-Z)",
                  "At least one lowercase letter (a-z)",
                  "At least one number (0-9)",
                  "At least one special character (!@#$%^&*(),.?\":{}|<>)"
                ],
                "strength_levels": {
                  "very_weak": "meets 0-2 conditions",
                  "weak": "meets 3-4 conditions",
                  "medium": "meets 5-6 conditions",
                  "strong": "meets all 6 conditions"
                },
                "examples": {
                  "strong": "MyP@ssw0rd!",
                  "medium": "MyPassword1",
                  "weak": "mypassword",
                  "very_weak": "123"
                }
              },
              "validation_results": {
                "min_length": true,
                "max_length": true,
                "has_uppercase": false,
                "has_lowercase": true,
                "has_number": false,
                "has_special": false
              },
              "failed_conditions": [
                "at least one uppercase letter",
                "at least one number",
                "at least one special character"
              ],
              "solution": "Add the missing requirements: at least one uppercase letter, at least one number, at least one special character"
            }
          },
          "meta": {
            "timestamp": "2023-10-27T10:30:00.000000+00:00"
          }
        }
        "#);
    }
}
