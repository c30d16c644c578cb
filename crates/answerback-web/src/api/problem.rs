//! Builds the problems that several handlers report.

use std::fmt::Display;

use answerback::contract::atdf::ErrorBuilder;
use answerback_http::{Problem, ProblemKind};
use answerback_store::StoreError;

/// Returns the problem for an internal failure.
pub(super) fn internal(error: impl Display) -> Problem {
    Problem::new(ProblemKind::Internal).log_cause(error)
}

/// Returns the problem for something that does not exist, or that the caller may not see.
pub(super) fn not_found(what: &str) -> Problem {
    let error = ErrorBuilder::new("NOT_FOUND", format!("There is no such {what}"), "path")
        .condition(format!("The path names an existing {what}"))
        .solution("Look up the id in the list; pruned entries are no longer available");
    Problem::from_error(ProblemKind::NotFound, error)
}

/// Returns the problem for an invalid parameter or body.
pub(super) fn invalid_parameter(field: &str, detail: impl Display, solution: &str) -> Problem {
    let error = ErrorBuilder::new("INVALID_PARAMETER", detail.to_string(), field)
        .condition(format!("{field} matches its description in GET /api/openapi.json"))
        .solution(solution);
    Problem::from_error(ProblemKind::BadRequest, error)
}

/// Converts a store failure to a problem. A full queue is temporary; anything else is an internal error.
pub(super) fn store_problem(error: &StoreError) -> Problem {
    match error {
        StoreError::Busy | StoreError::Closed => {
            Problem::new(ProblemKind::Unavailable).with_retry_after(1).log_cause(error)
        }
        _ => internal(error),
    }
}
