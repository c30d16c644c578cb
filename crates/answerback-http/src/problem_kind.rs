use answerback::contract::atdf::ErrorBuilder;
use axum::http::StatusCode;

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
    pub(crate) const ALL: [Self; 15] = [
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

    /// The HTTP status of the response.
    pub const fn status(self) -> StatusCode {
        self.text().status
    }

    /// Finds the kind with this status.
    pub fn from_status(status: StatusCode) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.status() == status)
    }

    const fn text(self) -> ProblemText {
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
                "The request has no valid token",
                "Authorization",
                "The header Authorization is: Bearer ab_…; a token in the address is not read",
                "Send the token that the server showed when it started, or ask the operator for one",
            ),
            Self::Forbidden => (
                StatusCode::FORBIDDEN,
                "FORBIDDEN",
                "The request is not allowed",
                "request",
                "The caller has the right to do this",
                "Ask the operator of the server",
            ),
            Self::NotFound => (
                StatusCode::NOT_FOUND,
                "NOT_FOUND",
                "There is nothing at this address",
                "path",
                "The address names an existing resource",
                "Check the address",
            ),
            Self::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                "METHOD_NOT_ALLOWED",
                "The address does not support this method",
                "method",
                "The method is one of those in the header Allow",
                "Use one of the methods in the header Allow",
            ),
            Self::TooSlow => (
                StatusCode::REQUEST_TIMEOUT,
                "BODY_TOO_SLOW",
                "The body did not arrive in time",
                "body",
                "The body arrives within 30 seconds",
                "Send the body faster, or send a smaller one",
            ),
            Self::Conflict => (
                StatusCode::CONFLICT,
                "CONFLICT",
                "The state that the request refers to has changed",
                "request",
                "The request refers to the current state",
                "Read the current state, then decide again",
            ),
            Self::Gone => (
                StatusCode::GONE,
                "GONE",
                "The resource of the request no longer exists",
                "request",
                "The request refers to a resource that still exists",
                "List the existing resources",
            ),
            Self::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "BODY_TOO_LARGE",
                "The body is larger than the route allows",
                "body",
                "The body stays within the limit of the route",
                "Send less at a time",
            ),
            Self::UnsupportedMediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "UNSUPPORTED_MEDIA_TYPE",
                "The route does not support the type of the body",
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
                "The request is well-formed but cannot be carried out",
                "body",
                "The request can be carried out",
                "Change the request",
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
                "The server works without an internal error",
                "Read the server's log; the request itself need not change",
            ),
            Self::Unavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "UNAVAILABLE",
                "The server cannot handle the request now",
                "request",
                "The server is ready",
                "Wait as long as the header Retry-After says, then try again",
            ),
        };
        ProblemText { status, code, message, field, condition, solution }
    }

    pub(crate) const fn default_code(self) -> &'static str {
        self.text().code
    }

    /// Builds the enriched error with the default texts.
    pub(crate) fn default_error(self) -> ErrorBuilder {
        let text = self.text();
        ErrorBuilder::new(text.code, text.message, text.field)
            .condition(text.condition)
            .solution(text.solution)
    }
}
