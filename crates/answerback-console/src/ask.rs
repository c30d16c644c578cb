//! Shared helpers of the handlers: blocking reads of the store, JSON responses, and problems with a request.

use std::fmt::Display;

use answerback::Timestamp;
use answerback::contract::atdf::ErrorBuilder;
use answerback::json::{Limits, read};
use answerback_http::{PerCallerLimit, PerCallerPermit, Principal, Problem, ProblemKind};
use answerback_store::StoreError;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const SEND_JSON: &str = "Send the JSON that GET /api/openapi.json describes for this route";

pub(crate) type Answer = Result<Response, Problem>;

/// Returns a response with a JSON body.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    let text = serde_json::to_string(value).map_err(internal)?;
    Ok((status, [(header::CONTENT_TYPE, "application/json")], text).into_response())
}

/// Returns a JSON response with status 200.
pub(crate) fn ok(value: &impl Serialize) -> Answer {
    json(StatusCode::OK, value)
}

/// Returns the problem for an internal failure.
pub(crate) fn internal(error: impl Display) -> Problem {
    Problem::new(ProblemKind::Internal).log_cause(error)
}

pub(crate) fn not_found(what: &str) -> Problem {
    let error = ErrorBuilder::new("NOT_FOUND", format!("There is no such {what}"), "path")
        .condition(format!("The address names a {what} that is here"))
        .solution("Look it up in the list; what was pruned is no longer here");
    Problem::from_error(ProblemKind::NotFound, error)
}

/// Returns the surface that a decision's record names: `console` for a person in a browser, `api` for a token.
pub(crate) fn surface_of(principal: &Principal) -> &'static str {
    if principal.is_person() { "console" } else { "api" }
}

/// Takes one place of the caller's allowance, or returns a problem if none is free.
pub(crate) fn held(
    allowance: &PerCallerLimit,
    principal: &Principal,
    what: &str,
) -> Result<PerCallerPermit, Problem> {
    allowance.acquire(&principal.id()).ok_or_else(|| {
        let most = allowance.limit();
        let error = ErrorBuilder::new(
            "TOO_MANY_OPEN",
            format!("This token has {most} {what} open, and may have no more"),
            "request",
        )
        .condition(format!("A token has at most {most} {what} open at a time"))
        .solution("Close one of them, or share one among those who need it");
        Problem::from_error(ProblemKind::TooManyRequests, error).with_retry_after(1)
    })
}

/// Returns the problem for an invalid parameter or body.
pub(crate) fn bad(field: &str, detail: impl Display, solution: &str) -> Problem {
    let error = ErrorBuilder::new("INVALID_PARAMETER", detail.to_string(), field)
        .condition(format!("{field} is as GET /api/openapi.json says"))
        .solution(solution);
    Problem::from_error(ProblemKind::BadRequest, error)
}

/// Parses a body that is one JSON document. Rejects duplicate member names, because parsers disagree about which value
/// counts.
pub(crate) fn document(bytes: &[u8], solution: &str) -> Result<Value, Problem> {
    let not_json =
        |error: &dyn Display| bad("body", format!("the body is not JSON: {error}"), solution);
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let value = serde_json::from_slice(bytes).map_err(|error| not_json(&error))?;
    let document = read(bytes, Limits::default()).map_err(|error| not_json(&error))?;
    match document.repeated() {
        Some(place) => Err(bad("body", format!("{place} stands twice"), "Write it once")),
        None => Ok(value),
    }
}

/// Parses a body that is a JSON object. The members named in `whole` are whole numbers.
///
/// The body must be an object, because serde also accepts a list for a struct, member by member. JSON has one type of
/// number, so 5.0 is valid for 5, but serde accepts only the latter.
pub(crate) fn body<T: DeserializeOwned>(bytes: &[u8], whole: &[&str]) -> Result<T, Problem> {
    typed(document(bytes, SEND_JSON)?, whole)
}

fn typed<T: DeserializeOwned>(mut document: Value, whole: &[&str]) -> Result<T, Problem> {
    let Some(members) = document.as_object_mut() else {
        return Err(bad("body", "the body is not a JSON object", SEND_JSON));
    };
    for name in whole {
        if let Some(value) = members.get_mut(*name)
            && let Some(number) = whole_number(value)
        {
            *value = number.into();
        }
    }
    serde_json::from_value(document).map_err(|error| bad("body", error, SEND_JSON))
}

/// Parses a body that is an object of the variant that the member `tag` names. The tag must be a string: serde would
/// also accept the variant's number, and that number may change.
pub(crate) fn variant<T: DeserializeOwned>(
    bytes: &[u8],
    tag: &str,
    whole: &[&str],
) -> Result<T, Problem> {
    let document = document(bytes, SEND_JSON)?;
    if document.get(tag).is_some_and(|name| !name.is_string()) {
        return Err(bad("body", format!("{tag} is not a text"), SEND_JSON));
    }
    typed(document, whole)
}

/// Returns the whole number for a value that is written with a zero fraction.
fn whole_number(value: &Value) -> Option<u64> {
    /// The smallest number that is larger than every `u64`.
    const END: f64 = 18_446_744_073_709_551_616.0;
    let number = value.as_f64().filter(|_| value.is_f64())?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is whole and within the range"
    )]
    let whole = number as u64;
    (number.fract() == 0.0 && (0.0..END).contains(&number)).then_some(whole)
}

/// Reads from the store on a blocking thread, so that other requests are not delayed.
pub(crate) async fn aside<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(read).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(store_problem(&error)),
        Err(error) => Err(internal(error)),
    }
}

/// Converts a store failure to a problem. A full queue is temporary; anything else is an internal error.
pub(crate) fn store_problem(error: &StoreError) -> Problem {
    match error {
        StoreError::Busy | StoreError::Closed => {
            Problem::new(ProblemKind::Unavailable).with_retry_after(1).log_cause(error)
        }
        _ => internal(error),
    }
}

/// Parses a time of a query.
pub(crate) fn micros(field: &str, text: Option<&String>) -> Result<Option<i64>, Problem> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let (time, _) = Timestamp::parse(text)
        .map_err(|error| bad(field, error, "Write a time such as 2026-03-04T05:06:07Z"))?;
    Ok(Some(time.unix_millis().saturating_mul(1000)))
}

/// Returns the page size: the requested one or the default, between 1 and `most`.
pub(crate) fn limit(asked: Option<usize>, usual: usize, most: usize) -> usize {
    asked.unwrap_or(usual).clamp(1, most)
}

/// Returns the text unless it is empty.
pub(crate) fn some(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Named {
        #[expect(dead_code, reason = "the test only checks that the member is parsed")]
        name: Value,
    }

    #[test]
    fn a_body_is_one_object_without_a_repeated_name() {
        assert!(body::<Named>(br#"{"name": 1}"#, &[]).is_ok());
        assert!(body::<Named>("\u{feff}{\"name\": {\"a\": 1}}".as_bytes(), &[]).is_ok());
        let refused: [&[u8]; 11] = [
            b"",
            b"null",
            b"7",
            b"\"name\"",
            b"[1]",
            b"{",
            b"{\"name\": 1} {}",
            b"{\"name\": 1, \"name\": 2}",
            b"{\"name\": [{\"a\": 1, \"a\": 2}]}",
            b"{\"name\": \"\xff\"}",
            b"{}",
        ];
        for text in refused {
            let problem = body::<Named>(text, &[]).unwrap_err();
            let told = (problem.kind(), problem.code());
            assert_eq!(
                told,
                (ProblemKind::BadRequest, "INVALID_PARAMETER"),
                "{}",
                text.escape_ascii()
            );
        }
    }

    #[test]
    fn a_whole_number_may_be_written_with_a_fraction_of_zero() {
        let read = |text: &str| body::<BTreeMap<String, u64>>(text.as_bytes(), &["n"]);
        for (text, number) in
            [("5", 5), ("5.0", 5), ("-0.0", 0), ("1e3", 1000), ("18446744073709551615", u64::MAX)]
        {
            assert_eq!(read(&format!("{{\"n\": {text}}}")).unwrap()["n"], number, "{text}");
        }
        for text in ["5.5", "-1.0", "1e20", "18446744073709551616", "\"5\"", "null"] {
            assert!(read(&format!("{{\"n\": {text}}}")).is_err(), "{text}");
        }
        assert!(read(r#"{"other": 5.0}"#).is_err());
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    enum Tagged {
        First,
        Second { n: u64 },
    }

    #[test]
    fn a_variant_is_named_by_a_text() {
        let read = |text: &str| variant::<Tagged>(text.as_bytes(), "kind", &["n"]);
        assert_eq!(read(r#"{"kind": "first"}"#).unwrap(), Tagged::First);
        assert_eq!(read(r#"{"kind": "second", "n": 2.0}"#).unwrap(), Tagged::Second { n: 2 });
        for text in [r#"{"kind": 0}"#, r#"{"kind": null}"#, r#"{"kind": ["first"]}"#, "{}", "[]"] {
            assert_eq!(read(text).unwrap_err().kind(), ProblemKind::BadRequest, "{text}");
        }
    }
}
