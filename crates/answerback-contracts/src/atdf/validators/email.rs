use answerback_json::time::Timestamp;

use crate::atdf::{EnrichedResponse, ErrorBuilder, SuccessBuilder};

/// Validates an email address against the guide's pattern and the lengths that it advertises.
///
/// ```
/// use answerback_json::Timestamp;
/// use answerback_contracts::atdf::validators::validate_email;
///
/// let answer = validate_email("user@example", Timestamp::from_unix_millis(0));
/// assert_eq!(answer.code(), Some("INVALID_EMAIL_FORMAT"));
/// ```
pub fn validate_email(email: &str, now: Timestamp) -> EnrichedResponse {
    if email.is_empty() {
        return empty(now);
    }
    let solution = match parts(email) {
        None => "Use a valid email format like user@example.com".to_owned(),
        Some((local, domain)) => match too_long(email, local, domain) {
            None => {
                return SuccessBuilder::new("Email is valid")
                    .data("email", answerback_redaction::redact(email))
                    .data("local_part", answerback_redaction::redact(local))
                    .data("domain", answerback_redaction::redact(domain))
                    .finish(now);
            }
            Some(what) => format!("Use a valid email format like user@example.com; {what}"),
        },
    };
    with_examples(
        ErrorBuilder::new("INVALID_EMAIL_FORMAT", "Email format is invalid", "email")
            .received("email", answerback_redaction::redact(email))
            .conditions([
                "Must contain exactly one @ symbol",
                "Local part before @ must be valid",
                "Domain after @ must be valid",
                "Must have valid TLD (2+ characters)",
            ])
            .constraint("max_length", format!("{MAX_LENGTH} characters total"))
            .constraint("local_part_max", format!("{MAX_LOCAL} characters"))
            .constraint("domain_max", format!("{MAX_DOMAIN} characters"))
            .solution(solution),
    )
    .finish(now)
}

const MAX_LENGTH: usize = 254;
const MAX_LOCAL: usize = 64;
const MAX_DOMAIN: usize = 253;

fn empty(now: Timestamp) -> EnrichedResponse {
    with_examples(
        ErrorBuilder::new("EMPTY_EMAIL", "Email address cannot be empty", "email")
            .received("email", "")
            .conditions([
                "Email must not be empty",
                "Email must contain @ symbol",
                "Email must have valid domain",
            ])
            .solution("Provide a valid email address"),
    )
    .finish(now)
}

fn with_examples(error: ErrorBuilder) -> ErrorBuilder {
    error
        .format("RFC 5322 email format")
        .valid_example("user@example.com")
        .valid_example("test.email+tag@domain.co.uk")
        .invalid_example("invalid-email", "missing @ symbol")
        .invalid_example("@domain.com", "empty local part")
        .invalid_example("user@", "empty domain")
}

/// Returns the local part and the domain of an address that fully matches
/// `^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}$`.
///
/// Neither class contains `@`, so there is exactly one. The letters at the end contain no dot, so the dot
/// before them is the last one.
fn parts(email: &str) -> Option<(&str, &str)> {
    let (local, domain) = email.split_once('@')?;
    let (host, top) = domain.rsplit_once('.')?;
    let in_local = |byte: u8| byte.is_ascii_alphanumeric() || b"._%+-".contains(&byte);
    let in_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    let matches = !local.is_empty()
        && local.bytes().all(in_local)
        && !host.is_empty()
        && host.bytes().all(in_host)
        && top.len() >= 2
        && top.bytes().all(|byte| byte.is_ascii_alphabetic());
    matches.then_some((local, domain))
}

/// Returns advice on the first advertised length that is exceeded. The address is known to be ASCII, so bytes
/// are characters.
fn too_long(email: &str, local: &str, domain: &str) -> Option<String> {
    let lengths = [
        ("the part before @", local.len(), MAX_LOCAL),
        ("the domain", domain.len(), MAX_DOMAIN),
        ("the address", email.len(), MAX_LENGTH),
    ];
    let (what, length, limit) = lengths.into_iter().find(|(_, length, limit)| length > limit)?;
    Some(format!("shorten {what} from {length} to at most {limit} characters"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_unix_millis(1_698_402_600_000)
    }

    fn is_valid(email: &str) -> bool {
        validate_email(email, now()).code().is_none()
    }

    #[test]
    fn a_secret_is_not_repeated() {
        let secret = "sk-proj-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY";
        for email in [secret.to_owned(), format!("{secret}@example.com")] {
            let told = serde_json::to_string(&validate_email(&email, now())).unwrap();
            assert!(!told.contains(secret), "{told}");
        }
    }

    #[test]
    fn addresses() {
        let local_64 = format!("{}@example.com", "a".repeat(64));
        let total_254 = format!("{}@{}.com", "a".repeat(64), "b".repeat(254 - 64 - 5));
        for good in [
            "user@example.com",
            "test.email+tag@domain.co.uk",
            "a@b.cd",
            "A%_-+.@x.YZ",
            // The pattern also accepts these odd addresses.
            ".@-.aa",
            "..@...aa",
            "a@1.2.museum",
            "a@b-.co",
            "-@-..ab",
            &local_64,
            &total_254,
        ] {
            assert!(is_valid(good), "{good}");
        }
        for bad in [
            "invalid-email",
            "@domain.com",
            "user@",
            "user@example",
            "user@.com",
            "user@com.",
            "user@example.c",
            "user@example.c0m",
            "user@example.com ",
            " user@example.com",
            "user@example.com\n",
            "user@example.com\r\n",
            "us er@example.com",
            "a@b@c.com",
            "user@exa_mple.com",
            "usér@example.com",
            "user@exämple.com",
            "user@example.cöm",
            "\"quoted\"@example.com",
            "user@[127.0.0.1]",
            "user@127.0.0.1",
            "user!@example.com",
            "user@example..c",
            "user@example.com.",
            "@",
            "@.",
            "\0@a.bc",
            "user@example.com\0",
            &format!("a{local_64}"),
            &format!("{total_254}m"),
            &format!("a@{}.com", "b".repeat(250)),
        ] {
            assert!(!is_valid(bad), "{bad:?}");
        }
    }

    #[test]
    fn documents() {
        insta::assert_snapshot!(serde_json::to_string(&validate_email("", now())).unwrap(), @r#"{"status":"error","data":{"code":"EMPTY_EMAIL","message":"Email address cannot be empty","details":{"field":"email","received":{"email":""},"expected":{"conditions":["Email must not be empty","Email must contain @ symbol","Email must have valid domain"],"format":"RFC 5322 email format","examples":{"valid":["user@example.com","test.email+tag@domain.co.uk"],"invalid":[{"value":"invalid-email","reason":"missing @ symbol"},{"value":"@domain.com","reason":"empty local part"},{"value":"user@","reason":"empty domain"}]}},"solution":"Provide a valid email address"}},"meta":{"timestamp":"2023-10-27T10:30:00.000000+00:00"}}"#);
        insta::assert_snapshot!(serde_json::to_string(&validate_email("nobody", now())).unwrap(), @r#"{"status":"error","data":{"code":"INVALID_EMAIL_FORMAT","message":"Email format is invalid","details":{"field":"email","received":{"email":"nobody"},"expected":{"conditions":["Must contain exactly one @ symbol","Local part before @ must be valid","Domain after @ must be valid","Must have valid TLD (2+ characters)"],"format":"RFC 5322 email format","constraints":{"max_length":"254 characters total","local_part_max":"64 characters","domain_max":"253 characters"},"examples":{"valid":["user@example.com","test.email+tag@domain.co.uk"],"invalid":[{"value":"invalid-email","reason":"missing @ symbol"},{"value":"@domain.com","reason":"empty local part"},{"value":"user@","reason":"empty domain"}]}},"solution":"Use a valid email format like user@example.com"}},"meta":{"timestamp":"2023-10-27T10:30:00.000000+00:00"}}"#);
        let good = validate_email("a.b+c@mail.example.org", now()).to_document();
        assert_eq!(
            good["data"],
            json!({
                "message": "Email is valid", "email": "a.b+c@mail.example.org",
                "local_part": "a.b+c", "domain": "mail.example.org",
            })
        );
        let long = validate_email(&format!("{}@example.com", "a".repeat(65)), now()).to_document();
        assert_eq!(
            long["data"]["details"]["solution"],
            "Use a valid email format like user@example.com; shorten the part before @ from 65 to at most 64 characters"
        );
    }

    proptest! {
        /// The parser agrees with the pattern itself, as the schema validator's engine runs it.
        #[test]
        fn agrees_with_the_pattern(email in "[a-zA-Z0-9._%+@é \n-]{0,4}@?[a-zB0.@-]{0,8}\\.?[a-z0é\n]{0,3}") {
            let pattern = json!({"pattern": r"^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}$"});
            let matches = jsonschema::is_valid(&pattern, &json!(email));
            prop_assert_eq!(parts(&email).is_some(), matches);
        }
    }
}
