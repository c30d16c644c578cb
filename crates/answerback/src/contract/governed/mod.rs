use crate::finding::{Rule, ValidationError};
use serde_json::Value;
pub static RULES: &[&Rule] = &[];
pub fn check(_document: &Value, _profile: super::Profile) -> Vec<ValidationError> {
    Vec::new()
}
pub fn is_refusal_reason(code: &str) -> bool {
    code == "OUT_OF_SCOPE"
}
