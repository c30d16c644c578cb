use answerback_findings::{Profile, ValidationError};
use answerback_json::time::Timestamp;
use serde_json::{Map, Value};

use super::check;
use super::types::{
    Details, ERRORS, EnrichedResponse, ErrorData, ErrorResponse, Examples, Expected,
    InvalidExample, Meta, SuccessData, SuccessResponse, ValidExamples,
};
use crate::Invalid;

/// The solution text of an error that sets no `solution` of its own.
pub const DEFAULT_SOLUTION: &str =
    "Review the expected conditions and adjust your input accordingly.";

/// Builds the response of a tool call that succeeded.
///
/// ```
/// use answerback_json::Timestamp;
/// use answerback_contracts::atdf::SuccessBuilder;
///
/// let now = Timestamp::from_unix_millis(1_698_402_900_000);
/// let response = SuccessBuilder::new("Room booked").data("nights", 3).build(now)?;
/// assert_eq!(
///     serde_json::to_string(&response).unwrap(),
///     r#"{"status":"success","data":{"message":"Room booked","nights":3},"meta":{"timestamp":"2023-10-27T10:35:00.000000+00:00"}}"#,
/// );
/// # Ok::<(), answerback_contracts::Invalid>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct SuccessBuilder {
    data: SuccessData,
    carried: Map<String, Value>,
}

impl SuccessBuilder {
    /// Starts a response with a message for people that says what happened.
    pub fn new(message: impl Into<String>) -> Self {
        let data = SuccessData { message: message.into(), output: Map::new() };
        Self { data, carried: Map::new() }
    }

    /// Adds a member to the output.
    pub fn data(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.data.output.insert(name.into(), value.into());
        self
    }

    /// Adds a member to the extension slot.
    pub fn carry(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.carried.insert(name.into(), value.into());
        self
    }

    /// Finishes the response, dated `now`.
    ///
    /// # Errors
    ///
    /// Returns [`Invalid`] with every finding if the response does not pass the strict check, or is nested
    /// too deep.
    pub fn build(self, now: Timestamp) -> Result<EnrichedResponse, Invalid> {
        checked(&self.finish(now))
    }

    /// Finishes the response without a check. Callers must only set values that pass the strict check.
    pub(super) fn finish(self, now: Timestamp) -> EnrichedResponse {
        let meta = Meta { answerback: self.carried, ..Meta::new(now) };
        EnrichedResponse::Success(SuccessResponse { data: self.data, meta, extra: Map::new() })
    }
}

/// Builds an enriched error: what was received, what was expected, and how to fix it.
///
/// `conditions` and `solution` are always written, and every invalid example has its reason.
///
/// ```
/// use answerback_json::Timestamp;
/// use answerback_contracts::atdf::ErrorBuilder;
///
/// let response = ErrorBuilder::new("INVALID_GUESTS", "5 guests do not fit", "guests")
///     .received("guests", 5)
///     .condition("guests must be between 1 and 4")
///     .constraint("max_value", 4)
///     .valid_example("2")
///     .invalid_example("5", "more than 4")
///     .validation_result("max_value", false)
///     .suggested_value(4)
///     .solution("1) Book a second room 2) Send at most 4 guests for each")
///     .build(Timestamp::from_unix_millis(0))?;
/// assert_eq!(response.code(), Some("INVALID_GUESTS"));
/// # Ok::<(), answerback_contracts::Invalid>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ErrorBuilder {
    code: String,
    message: String,
    details: Details,
    carried: Map<String, Value>,
}

impl ErrorBuilder {
    /// Starts an error with its code, a message that says what happened, and the name of the invalid field.
    pub fn new(
        code: impl Into<String>,
        message: impl Into<String>,
        field: impl Into<String>,
    ) -> Self {
        let details = Details {
            field: field.into(),
            received: Map::new(),
            expected: Expected::default(),
            validation_results: None,
            suggested_value: None,
            extra: Map::new(),
            solution: DEFAULT_SOLUTION.to_owned(),
        };
        Self { code: code.into(), message: message.into(), details, carried: Map::new() }
    }

    /// Adds a received value under its name.
    pub fn received(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.details.received.insert(name.into(), value.into());
        self
    }

    /// Adds a condition that the input had to meet.
    pub fn condition(mut self, condition: impl Into<String>) -> Self {
        self.details.expected.conditions.push(condition.into());
        self
    }

    /// Adds several conditions.
    pub fn conditions<C: Into<String>>(mut self, conditions: impl IntoIterator<Item = C>) -> Self {
        self.details.expected.conditions.extend(conditions.into_iter().map(Into::into));
        self
    }

    /// Describes the expected format in words.
    pub fn format(mut self, format: impl Into<String>) -> Self {
        self.details.expected.format = Some(format.into());
        self
    }

    /// Adds a constraint under its name, such as `max_value`.
    pub fn constraint(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.details.expected.constraints.insert(name.into(), value.into());
        self
    }

    /// Adds a member to `expected` that the contract does not define.
    pub fn expectation(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.details.expected.extra.insert(name.into(), value.into());
        self
    }

    /// Adds a valid value as text. It replaces examples that were set by name.
    pub fn valid_example(mut self, text: impl Into<String>) -> Self {
        match &mut self.examples().valid {
            Some(ValidExamples::Texts(texts)) => texts.push(text.into()),
            other => *other = Some(ValidExamples::Texts(vec![text.into()])),
        }
        self
    }

    /// Sets the valid values by field name. They replace examples that were added as text.
    pub fn valid_examples_by_name(mut self, values: Map<String, Value>) -> Self {
        self.examples().valid = Some(ValidExamples::ByName(values));
        self
    }

    /// Adds an invalid value and the reason why it is invalid.
    pub fn invalid_example(mut self, value: impl Into<Value>, reason: impl Into<String>) -> Self {
        self.examples().invalid.push(InvalidExample::new(value, reason));
        self
    }

    /// Adds an example under another name, such as `valid_range`.
    pub fn example(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.examples().extra.insert(name.into(), value.into());
        self
    }

    /// Sets the result of a condition: `true`, `false`, or a description.
    pub fn validation_result(mut self, name: impl Into<String>, result: impl Into<Value>) -> Self {
        let results = self.details.validation_results.get_or_insert_default();
        results.insert(name.into(), result.into());
        self
    }

    /// Suggests a valid value.
    pub fn suggested_value(mut self, value: impl Into<Value>) -> Self {
        self.details.suggested_value = Some(value.into());
        self
    }

    /// Adds the findings that led to the error as `details.errors`.
    pub fn findings<'f>(self, findings: impl IntoIterator<Item = &'f ValidationError>) -> Self {
        let entries: Vec<Value> = findings
            .into_iter()
            // Serializing plain data into a tree cannot fail.
            .map(|finding| serde_json::to_value(finding).unwrap_or_default())
            .collect();
        self.detail(ERRORS, entries)
    }

    /// Adds a member to the details that the contract does not define.
    pub fn detail(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.details.extra.insert(name.into(), value.into());
        self
    }

    /// Describes how to fix the input, step by step.
    pub fn solution(mut self, solution: impl Into<String>) -> Self {
        self.details.solution = solution.into();
        self
    }

    /// Adds a member to the extension slot.
    pub fn carry(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.carried.insert(name.into(), value.into());
        self
    }

    /// Finishes the response, dated `now`.
    ///
    /// # Errors
    ///
    /// Returns [`Invalid`] with every finding if the response does not pass the strict check, or is nested
    /// too deep.
    pub fn build(self, now: Timestamp) -> Result<EnrichedResponse, Invalid> {
        checked(&self.finish(now))
    }

    /// Finishes the response without a check. Callers must only set values that pass the strict check.
    #[doc(hidden)]
    pub fn finish(self, now: Timestamp) -> EnrichedResponse {
        let Self { code, message, details, carried } = self;
        let data = ErrorData { code, message, details, extra: Map::new() };
        let meta = Meta { answerback: carried, ..Meta::new(now) };
        EnrichedResponse::Error(ErrorResponse { data, meta, extra: Map::new() })
    }

    fn examples(&mut self) -> &mut Examples {
        self.details.expected.examples.get_or_insert_default()
    }
}

/// Checks the response against the strict profile and parses it back from its document. Parsing back moves a
/// member that was added under a name of the contract, such as `data("message", …)`, to its own field.
fn checked(response: &EnrichedResponse) -> Result<EnrichedResponse, Invalid> {
    let document = response.to_document();
    Invalid::unless_emittable(&document, check(&document, Profile::Strict))?;
    EnrichedResponse::from_document(&document)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_unix_millis(1_698_402_900_000)
    }

    #[test]
    fn keys_stand_in_the_documents_order() {
        let finding = ValidationError::new("VAL-003", answerback_findings::Severity::Error)
            .with_path("/guests".try_into().unwrap())
            .with_message("too many");
        let error = ErrorBuilder::new("INVALID_GUESTS", "5 guests do not fit", "guests")
            .solution("Send fewer guests")
            .detail("parsing_error", "none")
            .findings([&finding])
            .suggested_value(4)
            .validation_result("max_value", false)
            .validation_result("type", "a whole number, as expected")
            .example("valid_party", json!({"guests": 2}))
            .invalid_example("5", "more than 4")
            .valid_example("2")
            .valid_example("3")
            .expectation("house_rules", "see the lobby")
            .constraint("max_value", 4)
            .format("a whole number")
            .condition("guests must be at most 4")
            .received("guests", 5)
            .carry("reply", "r-1")
            .build(now())
            .unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(&error).unwrap(), @r#"
        {
          "status": "error",
          "data": {
            "code": "INVALID_GUESTS",
            "message": "5 guests do not fit",
            "details": {
              "field": "guests",
              "received": {
                "guests": 5
              },
              "expected": {
                "conditions": [
                  "guests must be at most 4"
                ],
                "format": "a whole number",
                "constraints": {
                  "max_value": 4
                },
                "house_rules": "see the lobby",
                "examples": {
                  "valid": [
                    "2",
                    "3"
                  ],
                  "invalid": [
                    {
                      "value": "5",
                      "reason": "more than 4"
                    }
                  ],
                  "valid_party": {
                    "guests": 2
                  }
                }
              },
              "validation_results": {
                "max_value": false,
                "type": "a whole number, as expected"
              },
              "suggested_value": 4,
              "parsing_error": "none",
              "errors": [
                {
                  "error_code": "VAL-003",
                  "field_path": "/guests",
                  "message": "too many",
                  "severity": "error"
                }
              ],
              "solution": "Send fewer guests"
            }
          },
          "meta": {
            "timestamp": "2023-10-27T10:35:00.000000+00:00",
            "answerback": {
              "reply": "r-1"
            }
          }
        }
        "#);
        let EnrichedResponse::Error(read) =
            EnrichedResponse::from_document(&error.to_document()).unwrap()
        else {
            panic!("an error is read as an error")
        };
        assert_eq!(read.data.details.errors(), [finding]);
    }

    #[test]
    fn least_error_has_conditions_and_a_solution() {
        let least = ErrorBuilder::new("NOT_NOW", "Closed", "time").build(now()).unwrap();
        let details = &least.to_document()["data"]["details"];
        assert_eq!(details["expected"], json!({"conditions": []}));
        assert_eq!(details["solution"], DEFAULT_SOLUTION);
    }

    #[test]
    fn a_bad_response_is_refused_with_every_reason() {
        let refused = ErrorBuilder::new("not-a-code", "x", "y")
            .validation_result("a", 1)
            .invalid_example("z", "wrong")
            .build(now())
            .unwrap_err();
        let places: Vec<&str> =
            refused.findings.iter().map(|finding| finding.field_path.as_str()).collect();
        assert_eq!(
            places,
            [
                "/data/code",
                "/data/details/expected/conditions",
                "/data/details/expected/examples/valid",
                "/data/details/validation_results/a",
            ]
        );
    }

    #[test]
    fn looser_documents_are_lifted() {
        let document = json!({
            "status": "error", "later": 1,
            "data": {"code": "E_404", "message": "m", "details": {
                "field": "f", "received": {}, "solution": "s", "suggested_value": null,
                "expected": {"examples": ["a"]},
            }},
            "meta": {"timestamp": "2023-10-27T10:35:00Z", "trace": "t"},
        });
        let response = EnrichedResponse::from_document(&document).unwrap();
        let again = response.to_document();
        assert_eq!(again.pointer("/data/details/expected/examples/valid"), Some(&json!(["a"])));
        assert_eq!(again.pointer("/data/details/suggested_value"), Some(&Value::Null));
        assert_eq!((&again["later"], &again["meta"]["trace"]), (&json!(1), &json!("t")));
        assert_eq!(EnrichedResponse::from_document(&again).unwrap(), response);

        let mut strings = document;
        strings["data"]["details"]["expected"]["examples"] =
            json!({"valid": {"a": 1}, "invalid": ["b"]});
        let lifted = EnrichedResponse::from_document(&strings).unwrap().to_document();
        assert_eq!(
            lifted.pointer("/data/details/expected/examples/invalid/0"),
            Some(&json!({"value": "b", "reason": "no reason was given"}))
        );
        assert!(EnrichedResponse::from_document(&json!({})).is_err());
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((".{0,5}", inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_built_is_strict_and_reads_back(
            code in "[A-Z_]{1,12}",
            texts in prop::collection::vec("\\PC{1,12}", 5),
            value in any_value(),
            other in any_value(),
            millis in 0_i64..4_000_000_000_000,
        ) {
            let now = Timestamp::from_unix_millis(millis);
            let error = ErrorBuilder::new(code, &texts[0], &texts[1])
                .received(&texts[2], value.clone())
                .condition(&texts[3])
                .constraint(&texts[4], other.clone())
                .expectation("note", value.clone())
                .valid_example(&texts[0])
                .invalid_example(value.clone(), &texts[1])
                .validation_result(&texts[2], true)
                .suggested_value(other.clone())
                .detail("more", other.clone())
                .carry("kept", value.clone())
                .build(now)
                .unwrap();
            let success = SuccessBuilder::new(&texts[0]).data("item", value).build(now).unwrap();
            for response in [error, success] {
                let document = response.to_document();
                prop_assert!(check(&document, Profile::Strict).iter().all(|finding| !finding.is_error()));
                let read = EnrichedResponse::from_document(&document).unwrap();
                prop_assert_eq!(read.to_document(), document);
                prop_assert_eq!(read, response);
            }
        }
    }
}
