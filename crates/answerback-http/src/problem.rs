use std::fmt;
use std::time::SystemTime;

use answerback::contract::atdf::{EnrichedResponse, ErrorBuilder};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// The kind of a problem. It defines the status and the default code and texts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// 400 Bad Request.
    BadRequest,
    /// 401 Unauthorized.
    Unauthenticated,
    /// 403 Forbidden.
    Forbidden,
    /// 404 Not Found.
    NotFound,
    /// 405 Method Not Allowed.
    MethodNotAllowed,
    /// 408 Request Timeout.
    TooSlow,
    /// 409 Conflict.
    Conflict,
    /// 410 Gone.
    Gone,
    /// 413 Content Too Large.
    TooLarge,
    /// 415 Unsupported Media Type.
    UnsupportedMediaType,
    /// 421 Misdirected Request.
    Misdirected,
    /// 422 Unprocessable Content.
    Unprocessable,
    /// 429 Too Many Requests.
    TooManyRequests,
    /// 500 Internal Server Error.
    Internal,
    /// 503 Service Unavailable.
    Unavailable,
}

/// The status and the default texts of a kind.
struct ProblemText {
    status: StatusCode,
    code: &'static str,
    message: &'static str,
    field: &'static str,
    condition: &'static str,
    solution: &'static str,
}

impl ProblemKind {
    const ALL: [Self; 15] = [
        Self::BadRequest,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::TooSlow,
        Self::Conflict,
        Self::Gone,
        Self::TooLarge,
        Self::UnsupportedMediaType,
        Self::Misdirected,
        Self::Unprocessable,
        Self::TooManyRequests,
        Self::Internal,
        Self::Unavailable,
    ];

    /// Returns the HTTP status of the response.
    pub const fn status(self) -> StatusCode {
        self.words().status
    }

    /// Returns the kind with this status.
    pub fn of(status: StatusCode) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.status() == status)
    }

    const fn words(self) -> ProblemText {
        let (status, code, message, field, condition, solution) = match self {
            Self::BadRequest => (
                StatusCode::BAD_REQUEST,
                "BAD_REQUEST",
                "The request cannot be read",
                "request",
                "The request is well-formed HTTP with the parameters and the body that the route describes",
                "Compare the request with the description of the route",
            ),
            Self::Unauthenticated => (
                StatusCode::UNAUTHORIZED,
                "UNAUTHENTICATED",
                "The request carries no token that is known here",
                "Authorization",
                "The header Authorization is: Bearer ab_…; a token in the address is not read",
                "Send the token that the server showed when it started, or ask whoever runs it for one",
            ),
            Self::Forbidden => (
                StatusCode::FORBIDDEN,
                "FORBIDDEN",
                "The request is not allowed",
                "request",
                "The caller may do what it asks for",
                "Ask whoever runs the server",
            ),
            Self::NotFound => (
                StatusCode::NOT_FOUND,
                "NOT_FOUND",
                "There is nothing at this address",
                "path",
                "The address names something that is here",
                "Check the address",
            ),
            Self::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                "METHOD_NOT_ALLOWED",
                "The address does not take this method",
                "method",
                "The method is one of those in the header Allow",
                "Use one of the methods in the header Allow",
            ),
            Self::TooSlow => (
                StatusCode::REQUEST_TIMEOUT,
                "BODY_TOO_SLOW",
                "The body was not there in time",
                "body",
                "The body is there within 30 seconds",
                "Send the body at once, or less of it",
            ),
            Self::Conflict => (
                StatusCode::CONFLICT,
                "CONFLICT",
                "What the request is about has changed",
                "request",
                "The request is about the present state",
                "Read the present state, then decide again",
            ),
            Self::Gone => (
                StatusCode::GONE,
                "GONE",
                "What the request is about is over",
                "request",
                "The request is about something that still is",
                "Look at what is there now",
            ),
            Self::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "BODY_TOO_LARGE",
                "The body is larger than the route takes",
                "body",
                "The body stays within the limit of the route",
                "Send less at a time",
            ),
            Self::UnsupportedMediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "UNSUPPORTED_MEDIA_TYPE",
                "The body is of a type that the route does not read",
                "Content-Type",
                "The header Content-Type is application/json",
                "Send JSON and say so in the header Content-Type",
            ),
            Self::Misdirected => (
                StatusCode::MISDIRECTED_REQUEST,
                "HOST_UNKNOWN",
                "The request was meant for another server",
                "Host",
                "The header Host is the address that the server listens on, or one that was configured",
                "Use the address that the server showed when it started; behind a proxy, configure its name",
            ),
            Self::Unprocessable => (
                StatusCode::UNPROCESSABLE_ENTITY,
                "UNPROCESSABLE",
                "The request is well-formed and cannot be done",
                "body",
                "The request asks for something that can be done",
                "Change what the request asks for",
            ),
            Self::TooManyRequests => (
                StatusCode::TOO_MANY_REQUESTS,
                "TOO_MANY_REQUESTS",
                "There are too many requests of this kind",
                "request",
                "Requests come more slowly",
                "Wait as long as the header Retry-After says, then try again",
            ),
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "INTERNAL",
                "Something went wrong on our side",
                "request",
                "The server can do its own part",
                "Look into the server's log; the request itself need not change",
            ),
            Self::Unavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "UNAVAILABLE",
                "The server cannot take the request now",
                "request",
                "The server is ready",
                "Wait as long as the header Retry-After says, then try again",
            ),
        };
        ProblemText { status, code, message, field, condition, solution }
    }

    fn document(self) -> ErrorBuilder {
        let words = self.words();
        ErrorBuilder::new(words.code, words.message, words.field)
            .condition(words.condition)
            .solution(words.solution)
    }
}

/// The response to a failed request: a status, and an ATDF enriched error as the body.
///
/// The code in it is stable; the texts may change. Internal details go to the log only.
///
/// ```
/// use answerback::contract::atdf::ErrorBuilder;
/// use answerback_http::{Problem, ProblemKind};
///
/// let plain = Problem::new(ProblemKind::NotFound);
/// let special = Problem::told(
///     ProblemKind::Conflict,
///     ErrorBuilder::new("CASE_DECIDED", "Somebody else has decided", "case")
///         .condition("The case is open")
///         .solution("Read the decision"),
/// );
/// assert_eq!(special.code(), "CASE_DECIDED");
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
        Self::told(kind, kind.document())
    }

    /// Creates a problem with its own texts.
    ///
    /// Texts that do not form a valid ATDF error, such as a lowercase code, are a bug of ours. The bug is logged, and
    /// the client gets a response without a body.
    pub fn told(kind: ProblemKind, error: ErrorBuilder) -> Self {
        match error.build(SystemTime::now().into()) {
            Ok(response) => Self::enriched(kind, &response),
            Err(invalid) => {
                tracing::error!(?kind, error = %invalid, "a problem in words that are no ATDF error");
                let code = kind.words().code.to_owned();
                Self { kind, code, body: String::new(), headers: Vec::new() }
            }
        }
    }

    /// Creates a problem from an enriched response of the library.
    pub fn enriched(kind: ProblemKind, response: &EnrichedResponse) -> Self {
        let code = response.code().unwrap_or(kind.words().code).to_owned();
        Self { kind, code, body: response.to_document().to_string(), headers: Vec::new() }
    }

    /// Logs an internal detail, which the client does not see.
    #[must_use]
    pub fn because(self, detail: impl fmt::Display) -> Self {
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

    /// Returns the problem's kind.
    pub fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// Returns the problem's stable code.
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
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_kind_is_an_atdf_error_without_a_finding() {
        let told: Vec<String> = ProblemKind::ALL
            .into_iter()
            .map(|kind| {
                let problem = Problem::new(kind);
                let document: Value = serde_json::from_str(&problem.body).unwrap();
                assert!(check(&document, Profile::Strict).is_empty(), "{kind:?}");
                assert_eq!(ProblemKind::of(kind.status()), Some(kind));
                format!("{} {}", kind.status().as_u16(), problem.code())
            })
            .collect();
        insta::assert_snapshot!(told.join("\n"), @"
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
    fn words_that_are_none_leave_the_status() {
        let error = ErrorBuilder::new("not-a-code", "m", "f");
        let problem = Problem::told(ProblemKind::Conflict, error);
        assert_eq!((problem.code(), problem.body.as_str()), ("CONFLICT", ""));
        assert_eq!(problem.into_response().status(), StatusCode::CONFLICT);
    }
}
