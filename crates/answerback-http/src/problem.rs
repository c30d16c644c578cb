use std::fmt;
use std::time::SystemTime;

use answerback::contract::atdf::{EnrichedResponse, ErrorBuilder};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::ProblemKind;

/// The response to a failed request: a status, and an ATDF enriched error as the body.
///
/// The code in it is stable; the texts may change. Internal details go to the log only.
///
/// ```
/// use answerback::contract::atdf::ErrorBuilder;
/// use answerback_http::{Problem, ProblemKind};
///
/// let plain = Problem::new(ProblemKind::NotFound);
/// let specific = Problem::from_error(
///     ProblemKind::Conflict,
///     ErrorBuilder::new("CASE_DECIDED", "The case is already decided", "case")
///         .condition("The case is open")
///         .solution("Read the decision"),
/// );
/// assert_eq!(specific.code(), "CASE_DECIDED");
/// ```
#[derive(Clone, Debug)]
pub struct Problem {
    kind: ProblemKind,
    code: String,
    body: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// Creates a problem with the default texts of its kind.
    pub fn new(kind: ProblemKind) -> Self {
        Self::from_error(kind, kind.default_error())
    }

    /// Creates a problem with its own texts.
    ///
    /// Texts that do not form a valid ATDF error, such as a lowercase code, are a bug of ours. The bug is logged, and
    /// the client gets a response without a body.
    pub fn from_error(kind: ProblemKind, error: ErrorBuilder) -> Self {
        match error.build(SystemTime::now().into()) {
            Ok(response) => Self::from_response(kind, &response),
            Err(invalid) => {
                tracing::error!(?kind, error = %invalid, "the texts of a problem do not form an ATDF error");
                let code = kind.default_code().to_owned();
                Self { kind, code, body: String::new(), headers: Vec::new() }
            }
        }
    }

    /// Creates a problem from an enriched response of the library.
    pub fn from_response(kind: ProblemKind, response: &EnrichedResponse) -> Self {
        let code = response.code().unwrap_or(kind.default_code()).to_owned();
        Self { kind, code, body: response.to_document().to_string(), headers: Vec::new() }
    }

    /// Logs an internal detail, which the client does not see.
    #[must_use]
    pub fn log_cause(self, detail: impl fmt::Display) -> Self {
        tracing::error!(code = self.code, %detail, "a request failed");
        self
    }

    /// Adds a header to the response.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Adds the header `Retry-After` with this number of seconds.
    #[must_use]
    pub fn with_retry_after(self, seconds: u16) -> Self {
        self.with_header(header::RETRY_AFTER, seconds.into())
    }

    /// The problem's kind.
    pub fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// The problem's stable code.
    pub fn code(&self) -> &str {
        &self.code
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let content_type = [(header::CONTENT_TYPE, "application/json")];
        let mut response = (self.kind.status(), content_type, self.body).into_response();
        response.headers_mut().extend(self.headers);
        response
    }
}

#[cfg(test)]
mod tests {
    use answerback::contract::Profile;
    use answerback::contract::atdf::check;
    use axum::http::StatusCode;
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_kind_is_an_atdf_error_without_a_finding() {
        let lines: Vec<String> = ProblemKind::ALL
            .into_iter()
            .map(|kind| {
                let problem = Problem::new(kind);
                let document: Value = serde_json::from_str(&problem.body).unwrap();
                assert!(check(&document, Profile::Strict).is_empty(), "{kind:?}");
                assert_eq!(ProblemKind::from_status(kind.status()), Some(kind));
                format!("{} {}", kind.status().as_u16(), problem.code())
            })
            .collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        400 BAD_REQUEST
        401 UNAUTHENTICATED
        403 FORBIDDEN
        404 NOT_FOUND
        405 METHOD_NOT_ALLOWED
        408 BODY_TOO_SLOW
        409 CONFLICT
        410 GONE
        413 BODY_TOO_LARGE
        415 UNSUPPORTED_MEDIA_TYPE
        421 HOST_UNKNOWN
        422 UNPROCESSABLE
        429 TOO_MANY_REQUESTS
        500 INTERNAL
        503 UNAVAILABLE
        ");
    }

    #[test]
    fn invalid_texts_leave_the_status() {
        let error = ErrorBuilder::new("not-a-code", "m", "f");
        let problem = Problem::from_error(ProblemKind::Conflict, error);
        assert_eq!((problem.code(), problem.body.as_str()), ("CONFLICT", ""));
        assert_eq!(problem.into_response().status(), StatusCode::CONFLICT);
    }
}
