use answerback_contracts::atdf::ErrorBuilder;
use answerback_findings::ValidationError;
use serde_json::Value;

use super::display;
use super::response::numbered;

/// The largest number of findings that are described in full.
const MOST: usize = 8;

/// Adds the broken rules of the document to the error. Each rule becomes a condition, and its remedy becomes
/// a step of the solution.
pub(super) fn enriched(
    mut error: ErrorBuilder,
    errors: &[&ValidationError],
    document: &Value,
) -> ErrorBuilder {
    let mut steps: Vec<String> = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    for finding in errors.iter().take(MOST) {
        let rule = answerback_contracts::codes::find(&finding.error_code);
        let place = display::name(&finding.field_path, "document");
        let condition = rule.map_or(finding.message.as_str(), |rule| rule.title);
        if !told.contains(&condition) {
            told.push(condition);
            error = error.condition(display::sentence(condition));
        }
        if let Some(expected) = &finding.expected_value {
            error = error.constraint(place.clone(), display::sentence(expected));
        }
        error = error.validation_result(format!("{place} {}", finding.error_code), false);
        if let Some(value) = finding.field_path.find(document) {
            let is_secret = display::is_secret_place(&finding.field_path);
            let value = if is_secret { display::NOT_SHOWN.into() } else { display::value(value) };
            error = error.received(place.clone(), value);
        }
        let remedy = rule.map_or(finding.message.as_str(), |rule| rule.remedy);
        steps.push(display::sentence(&format!("{place}: {}", remedy.trim_end_matches('.'))));
    }
    let left_out = errors.len().saturating_sub(MOST);
    if left_out > 0 {
        steps.push(format!("Put the other {left_out} findings right that details.errors names"));
    }
    steps.push("Check the document again".to_owned());
    error.solution(numbered(&steps))
}
