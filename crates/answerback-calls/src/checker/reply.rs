use std::sync::Arc;

use answerback_findings::ValidationError;
use answerback_json::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::CheckedCall;
use crate::call::Schema;
use crate::message::{CallFailure, ErrorFormatter, Formatting, Repair, SharedFormatter};
use crate::provider::ToolResult;
use crate::retry::{AttemptOutcome, Escalation, Retry, RetryTracker, TOO_LONG};

/// The result of checking and counting a call.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Status"))]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the command line promises exactly these four")]
pub enum CallStatus {
    /// It may run.
    Ok,
    /// The call does not run. The model gets the errors and may try again.
    Retry,
    /// A person is asked; the call does not run.
    Blocked,
    /// It may run; the tool's schema could not be used.
    Unchecked,
}

impl CallStatus {
    /// Returns the lower-case word used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Retry => "retry",
            Self::Blocked => "blocked",
            Self::Unchecked => "unchecked",
        }
    }
}

/// The reply to one call: a line of `answerback replay`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Answer"))]
#[non_exhaustive]
pub struct CallReply {
    /// The id of the call.
    pub tool_call_id: String,
    /// The tool's name, as sent but for secrets.
    pub tool: String,
    /// True if no error was found. A valid call is still blocked after a person stopped the calls, or if the
    /// policy blocks valid calls too.
    pub valid: bool,
    /// The number of this attempt, from 1.
    pub attempt: u8,
    /// The number of allowed attempts.
    pub max_attempts: u8,
    /// The result of the call.
    pub status: CallStatus,
    /// Everything that was found. Of a valid call these are notes that go with its result.
    pub errors: Vec<ValidationError>,
    /// The repair that would make the call valid or, for a valid call, the repair that was applied. Secrets
    /// are redacted.
    pub repair: Option<Repair>,
    /// The result sent to the model if the call does not run.
    pub result: Option<ToolResult>,
    /// The question for a person, if the call is escalated.
    pub escalation: Option<Box<Escalation>>,
}

/// Counts the attempt of a checked call and returns the reply. The caller supplies the clock and the
/// randomness as `now` and `random`.
pub fn reply_to(
    checked: CheckedCall<'_>,
    tracker: &RetryTracker,
    now: Timestamp,
    random: [u8; 10],
) -> CallReply {
    let outcome = checked.track(tracker, now, random);
    checked.reply(outcome)
}

impl CheckedCall<'_> {
    /// Returns the reply after a tracker or a store counted the attempt.
    pub fn reply(self, outcome: AttemptOutcome) -> CallReply {
        let formatter = self.formatter.get();
        self.reply_with(outcome, formatter)
    }

    /// Returns the reply in the words of this formatter, instead of the formatter that the configuration
    /// selects.
    pub fn reply_with(
        mut self,
        outcome: AttemptOutcome,
        formatter: &dyn ErrorFormatter,
    ) -> CallReply {
        let max_attempts = self.settings.retry.max_attempts();
        let limit = self.settings.formatting.message_length();
        let (status, attempt, result, escalation) = match outcome {
            AttemptOutcome::Proceed(proceed) => {
                let status =
                    if self.unchecked.is_some() { CallStatus::Unchecked } else { CallStatus::Ok };
                (status, proceed.failed_attempts.saturating_add(1).min(max_attempts), None, None)
            }
            AttemptOutcome::Retry(retry) => {
                let formatting = &self.settings.formatting;
                let mut failure = self.failure();
                failure.repair = self.repair.as_ref().map(Repair::words);
                let content = message(failure, &retry, formatting, formatter);
                let result = ToolResult::error(self.tool_call_id.clone(), content);
                // If a person corrected the arguments, no other proposal is shown.
                self.repair.take_if(|_| fitting_correction(&retry, formatting).is_some());
                (CallStatus::Retry, retry.attempt, Some(result), None)
            }
            AttemptOutcome::Blocked(blocked) => {
                let allows_valid = blocked.allows_valid;
                let id = self.tool_call_id.clone();
                let result = blocked.escalation.tool_result(id, allows_valid, limit);
                (CallStatus::Blocked, blocked.attempt, Some(result), Some(blocked.escalation))
            }
            outcome @ (AttemptOutcome::Stopped { .. }
            | AttemptOutcome::Applied
            | AttemptOutcome::Ignored) => {
                let result = outcome.tool_result(&self.tool, &self.tool_call_id, limit);
                (CallStatus::Blocked, max_attempts, result, None)
            }
        };
        CallReply {
            valid: self.is_valid(),
            tool_call_id: self.tool_call_id,
            tool: self.tool,
            attempt,
            max_attempts,
            status,
            errors: self.findings,
            repair: self.repair.and_then(|repair| repair.without_secrets(self.schema)),
            result,
            escalation,
        }
    }

    /// Returns the warnings and notes of a valid call as text for the model, or `None` if there are none.
    pub fn notes(&self) -> Option<String> {
        let has_notes = self.is_valid() && !self.findings.is_empty();
        let formatter = self.formatter.get();
        has_notes.then(|| formatter.format(&self.failure(), &self.settings.formatting))
    }

    /// Returns the data for the message, in case the call does not run. Use it if the attempts are counted
    /// where the catalog is not available.
    pub fn message_inputs(&self) -> MessageInputs {
        let schema = self.schema.filter(|_| !self.is_valid());
        MessageInputs {
            tool: self.tool.clone(),
            tool_call_id: self.tool_call_id.clone(),
            findings: self.findings.clone(),
            schema: schema.map(Schema::shared_source),
            repair: self.repair.as_ref().map(|repair| repair.words().to_owned()),
            formatting: self.settings.formatting.clone(),
            formatter: self.formatter.clone(),
        }
    }

    fn failure(&self) -> CallFailure<'_> {
        let mut failure = CallFailure::new(&self.tool, &self.findings);
        failure.schema = self.schema.map(Schema::source);
        failure
    }
}

/// Holds the data for one call's message, independent of the catalog and the configuration. It owns its
/// data, so a unit of work can store it.
#[derive(Clone, Debug)]
pub struct MessageInputs {
    tool: String,
    tool_call_id: String,
    findings: Vec<ValidationError>,
    schema: Option<Arc<Value>>,
    repair: Option<String>,
    formatting: Formatting,
    formatter: SharedFormatter,
}

impl MessageInputs {
    /// Returns the result for the model if the call does not run. It equals the result of [`CheckedCall::reply`].
    pub fn result(&self, outcome: &AttemptOutcome) -> Option<ToolResult> {
        let AttemptOutcome::Retry(retry) = outcome else {
            let limit = self.formatting.message_length();
            return outcome.tool_result(&self.tool, &self.tool_call_id, limit);
        };
        let mut failure = CallFailure::new(&self.tool, &self.findings);
        failure.schema = self.schema.as_deref();
        failure.repair = self.repair.as_deref();
        let content = message(failure, retry, &self.formatting, self.formatter.get());
        Some(ToolResult::error(self.tool_call_id.clone(), content))
    }

    /// Returns all findings.
    pub fn findings(&self) -> &[ValidationError] {
        &self.findings
    }
}

fn message(
    failure: CallFailure<'_>,
    retry: &Retry,
    formatting: &Formatting,
    formatter: &dyn ErrorFormatter,
) -> String {
    let mut failure = failure
        .with_attempt(retry.attempt.into(), retry.max_attempts.into())
        .with_repetition(retry.repetition);
    // An unknown attempt has no recorded errors, so the message cannot report progress.
    failure.previous = Some(&retry.previous[..]).filter(|previous| !previous.is_empty());
    failure.previous_is_cut = retry.previous_is_cut;
    // If the message limit leaves no room for the correction, the model still learns that there is one.
    let too_long = retry.correction.as_ref().map(|_| TOO_LONG);
    match (fitting_correction(retry, formatting), retry.guidance.as_deref().or(too_long)) {
        // The correction replaces the whole message, so that nothing contradicts it.
        (Some(correction), _) => correction.to_owned(),
        (None, Some(guidance)) => guided(guidance, &failure, formatting, formatter),
        (None, None) => formatter.format(&failure, formatting),
    }
}

/// Returns a person's correction if it fits into the message limit.
fn fitting_correction<'r>(retry: &'r Retry, formatting: &Formatting) -> Option<&'r str> {
    let fits = |words: &&str| words.chars().count() < formatting.message_length();
    retry.correction.as_deref().filter(fits)
}

/// Puts a person's words before the message, which gets the room that is left. Words that leave too little
/// room are dropped entirely, because the message must be complete.
fn guided(
    guidance: &str,
    failure: &CallFailure<'_>,
    formatting: &Formatting,
    formatter: &dyn ErrorFormatter,
) -> String {
    let words = format!("A person answered: {guidance}\n\n");
    let left = formatting.message_length().saturating_sub(words.chars().count());
    if left < *Formatting::MESSAGE_LENGTHS.start() {
        return formatter.format(failure, formatting);
    }
    let formatting = formatting.clone().with_max_message_length(left);
    words + &formatter.format(failure, &formatting)
}

#[cfg(test)]
mod tests {
    use answerback_json::Limits;
    use serde_json::{Value, json};

    use super::*;
    use crate::case::Decision;
    use crate::checker::{CallRequest, ToolCatalog, check_call};
    use crate::config::ValidationConfig;

    fn catalog() -> ToolCatalog {
        ToolCatalog::read(&json!([
            {"name": "read_file", "inputSchema": {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "lines": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["path"],
            }},
            {"name": "log_in", "inputSchema": {
                "properties": {"word": {"type": "string", "writeOnly": true, "maxLength": 3}},
            }},
            {"name": "broken", "inputSchema": {"type": "dict"}},
        ]))
        .unwrap()
    }

    fn config(validation: Value) -> ValidationConfig {
        ValidationConfig::from_value("f", &json!({"tools": {"validation": validation}})).unwrap()
    }

    /// Returns the answers to calls of one conversation.
    fn answers(config: &ValidationConfig, calls: &[(&str, Value)]) -> Vec<CallReply> {
        let (catalog, tracker) = (catalog(), RetryTracker::new(config));
        let now = Timestamp::from_unix_millis(0);
        let answered = calls.iter().enumerate().map(|(index, (tool, arguments))| {
            let line =
                CallRequest::new(*tool, arguments.clone()).with_id(format!("c{}", index + 1));
            let checked = check_call(&catalog, line, config, Limits::default());
            reply_to(checked, &tracker, now, [1; 10])
        });
        answered.collect()
    }

    fn contents(answers: &[CallReply]) -> String {
        let content = |answer: &CallReply| {
            let told = answer.result.as_ref().map_or("-", |result| result.content.as_str());
            format!("{} {}\n{told}", answer.tool_call_id, answer.status.as_str())
        };
        answers.iter().map(content).collect::<Vec<_>>().join("\n\n")
    }

    #[test]
    fn the_line_is_as_promised() {
        let answers = answers(&ValidationConfig::default(), &[("read_file", json!({}))]);
        let line = serde_json::to_string(&answers[0]).unwrap();
        insta::assert_snapshot!(line, @r#"{"tool_call_id":"c1","tool":"read_file","valid":false,"attempt":1,"max_attempts":3,"status":"retry","errors":[{"error_code":"VAL-001","field_path":"/path","message":"Required field 'path' is missing","severity":"error","expected_value":"string","schema_path":"/required"}],"repair":null,"result":{"role":"tool","tool_call_id":"c1","content":"Validation failed for tool 'read_file' (attempt 1/3):\n\n• /path (VAL-001): Required field 'path' is missing\n  Expected: string\n\nPlease provide the missing 'path' field.","is_error":true},"escalation":null}"#);
    }

    #[test]
    fn a_tool_has_a_formatter_of_its_own() {
        struct Long;
        impl ErrorFormatter for Long {
            fn advice(&self, _: &CallFailure<'_>) -> Option<String> {
                Some(format!("Send one statement. {}", "word ".repeat(500)))
            }
        }
        let registered = ValidationConfig {
            formatters: crate::message::Formatters::default().with_tool("read_file", Long),
            ..ValidationConfig::default()
        };
        let content = contents(&answers(&registered, &[("read_file", json!({}))]));
        assert!(
            content.contains("Send one statement. word") && content.contains(" wo...\n"),
            "{content}"
        );
        assert!(content.chars().count() < 2000);
        let other = contents(&answers(&registered, &[("log_in", json!({"word": "long"}))]));
        assert!(!other.contains("Send one statement"), "{other}");

        let selected = config(json!({
            "overrides": {"read_file": {"formatting": {"formatter": "file_paths"}}},
        }));
        let content = contents(&answers(&selected, &[("read_file", json!({}))]));
        assert!(content.contains("list the directory first"), "{content}");
        // The wording gives the same result without the catalog.
        let catalog = catalog();
        let line = CallRequest::new("read_file", json!({}));
        let checked = check_call(&catalog, line, &selected, Limits::default());
        let outcome = checked.as_attempt(1, Timestamp::from_unix_millis(0), [1; 10]);
        let result = checked.message_inputs().result(&outcome).unwrap();
        assert!(result.content.contains("list the directory first"), "{}", result.content);
    }

    #[test]
    fn each_attempt_is_told_what_changed() {
        let calls = [
            ("read_file", json!({"lines": ["1", 2]})),
            ("read_file", json!({"path": 7, "lines": [1, "2"]})),
            ("read_file", json!({"path": "x"})),
            ("read_file", json!({"path": 7, "lines": [1, "2"]})),
        ];
        insta::assert_snapshot!(contents(&answers(&ValidationConfig::default(), &calls)), @r#"
        c1 retry
        Validation failed for tool 'read_file' (attempt 1/3):

        Errors:
        • /lines/0 (VAL-002): Type mismatch: expected integer, got string
          Expected: integer
          Actual: "1"
          Hint: Send it as JSON, not as a string: without the quotes around it.

        • /path (VAL-001): Required field 'path' is missing
          Expected: string

        Please provide the missing 'path' field and send '/lines/0' as an integer.

        c2 retry
        Validation failed for tool 'read_file' (attempt 2/3):

        Errors:
        • /lines/1 (VAL-002): Type mismatch: expected integer, got string
          Expected: integer
          Actual: "2"
          Hint: Send it as JSON, not as a string: without the quotes around it.

        • /path (VAL-002): Type mismatch: expected string, got integer
          Expected: string
          Actual: 7

        Fixed: none · Still failing: /lines/*, /path · New: none

        Proposed repair, if it is what you meant: write "7" for 7 in 'path'; write 2 for "2" in '/lines/1'

        Please send '/lines/1' as an integer and 'path' as a string.

        c3 ok
        -

        c4 retry
        Validation failed for tool 'read_file' (attempt 1/3):

        Errors:
        • /lines/1 (VAL-002): Type mismatch: expected integer, got string
          Expected: integer
          Actual: "2"
          Hint: Send it as JSON, not as a string: without the quotes around it.

        • /path (VAL-002): Type mismatch: expected string, got integer
          Expected: string
          Actual: 7

        Proposed repair, if it is what you meant: write "7" for 7 in 'path'; write 2 for "2" in '/lines/1'

        Please send '/lines/1' as an integer and 'path' as a string.
        "#);
    }

    #[test]
    fn the_words_are_the_same_wherever_attempts_are_counted() {
        let (catalog, config) = (catalog(), ValidationConfig::default());
        let (tracker, now) = (RetryTracker::new(2), Timestamp::from_unix_millis(0));
        for arguments in [json!({"lines": ["1"]}), json!({"path": 7}), json!({"path": 8})] {
            let line = CallRequest::new("read_file", arguments).with_id("c");
            let checked = check_call(&catalog, line, &config, Limits::default());
            let outcome = checked.track(&tracker, now, [1; 10]);
            let elsewhere = checked.message_inputs().result(&outcome);
            assert!(elsewhere.is_some());
            assert_eq!(elsewhere, checked.reply(outcome).result);
        }
    }

    #[test]
    fn circles_are_told_first() {
        let config =
            config(json!({"retry": {"max_attempts": 5}, "formatting": {"style": "compact"}}));
        let calls = [json!({}), json!({}), json!({"path": 1}), json!({})];
        let answers = answers(&config, &calls.map(|arguments| ("read_file", arguments)));
        insta::assert_snapshot!(contents(&answers[1..]), @r#"
        c2 retry
        Validation failed for tool 'read_file' (attempt 2/5):

        This call is identical to attempt 1, so it failed in the same way. Change the values named below before you call the tool again. 3 attempts are left.

        - /path: Required field 'path' is missing (expected: string)

        Fixed: none · Still failing: /path · New: none

        Please correct these errors and try again.

        c3 retry
        Validation failed for tool 'read_file' (attempt 3/5):

        - /path: Type mismatch: expected string, got integer (expected: string)

        Fixed: none · Still failing: /path · New: none

        Proposed repair, if it is what you meant: write "1" for 1 in 'path'

        Please correct these errors and try again.

        c4 retry
        Validation failed for tool 'read_file' (attempt 4/5):

        This call brings back the errors of attempt 2. Keep what was fixed since then and correct the places below together, in one call. One attempt is left.

        - /path: Required field 'path' is missing (expected: string)

        Fixed: none · Still failing: /path · New: none

        Please correct these errors and try again.
        "#);
    }

    #[test]
    fn what_is_not_the_models_fault_costs_nothing() {
        let calls = [
            ("broken", json!({"x": 1})),
            ("broken", json!("{'x'")),
            ("read_file", json!({"path": "x", "extra": 1})),
        ];
        let answers = answers(&ValidationConfig::default(), &calls);
        let seen: Vec<_> = answers
            .iter()
            .map(|answer| (answer.status, answer.valid, answer.errors.len(), answer.attempt))
            .collect();
        // A text that is not JSON is the model's fault, whatever the schema.
        assert_eq!(
            seen,
            [
                (CallStatus::Unchecked, true, 0, 1),
                (CallStatus::Retry, false, 1, 1),
                (CallStatus::Ok, true, 1, 1),
            ]
        );
    }

    #[test]
    fn repairs_are_offered_or_applied_or_neither() {
        let arguments = json!({"path": "x", "lines": "[1, 2]"});
        for (mode, status, repairs) in [
            ("off", CallStatus::Retry, false),
            ("offer", CallStatus::Retry, true),
            ("apply_lossless", CallStatus::Ok, true),
            ("apply_safe", CallStatus::Ok, true),
        ] {
            let config = config(json!({"repair": mode}));
            let answers = answers(&config, &[("read_file", arguments.clone())]);
            let answer = &answers[0];
            assert_eq!((answer.status, answer.repair.is_some()), (status, repairs), "{mode}");
            assert_eq!(answer.errors.len(), 1, "{mode}");
            let told = answer.result.as_ref().map_or("", |result| result.content.as_str());
            assert_eq!(told.contains("Proposed repair"), mode == "offer", "{told}");
        }
        let secret = json!({"path": "sk-proj-Zk3Qw9Lm2Xv8Rt5Yb7Nc4Hd6Jf1Gs0Pa", "lines": "[1]"});
        let answers = answers(&config(json!({})), &[("read_file", secret)]);
        let repair = serde_json::to_string(&answers[0].repair).unwrap();
        insta::assert_snapshot!(repair, @r#"{"patch":[{"op":"replace","path":"/lines","value":[1]}],"arguments":null,"confidence":"safe","redacted":true}"#);
    }

    /// Models and callers choose these names, so any of them may hold a secret.
    #[test]
    fn names_of_a_call_are_printed_without_secrets() {
        let secret = "sk-proj-Zk3Qw9Lm2Xv8Rt5Yb7Nc4Hd6Jf1Gs0Pa";
        let (catalog, config) = (catalog(), ValidationConfig::default());
        let tracker = RetryTracker::new(&config);
        let line = CallRequest::new(secret, json!({ secret: secret }))
            .with_id(secret)
            .with_conversation(secret);
        let line = CallRequest { model: Some(secret.to_owned()), ..line };
        let checked = check_call(&catalog, line, &config, Limits::default());
        assert!(!checked.key().as_str().contains(secret));
        assert_eq!(checked.model.as_deref(), Some("[redacted: API key]"));
        let line = serde_json::to_string(&reply_to(
            checked,
            &tracker,
            Timestamp::from_unix_millis(0),
            [1; 10],
        ));
        let line = line.unwrap();
        assert!(!line.contains(secret) && line.contains("[redacted: API key]"), "{line}");
    }

    /// Providers match a result to its call by the id, so the id must not change.
    #[test]
    fn ids_of_providers_stay_as_they_are() {
        for id in [
            "call_9pw9Xw8xPqGLqXxJx1aZ3cVb",
            "call_Xq7mPz2LkV0cB4nR8tY1wE5u",
            "toolu_01A09q90qw90lq917835lq9",
            "toolu_vrtx_01Kd8nU2sWqRz5TbHc4Yx9Pm",
            "toolu_bdrk_016Zx2Vc8Qw4Rt6Yb1Nm3Kj5",
            "chatcmpl-tool-2f5d0c1e9b7a4c8d8e6f3a2b1c0d9e8f",
            "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q",
            "fc_68d1c3a2b4e8819f9a7b6c5d4e3f2a1b",
            "functions.get_weather:0",
            "D681PevKs",
            "550e8400-e29b-41d4-a716-446655440000",
        ] {
            let line = CallRequest::new("read_file", json!({})).with_id(id);
            let (catalog, config) = (catalog(), ValidationConfig::default());
            assert_eq!(check_call(&catalog, line, &config, Limits::default()).tool_call_id, id);
        }
    }

    #[test]
    fn an_escalation_keeps_to_the_limit() {
        let config = config(json!({
            "retry": {"max_attempts": 10},
            "formatting": {"max_message_length": 500},
        }));
        let name = "x".repeat(300);
        let calls: Vec<_> = (0..10)
            .map(|index| ("read_file", json!({"path": index, &name: index, "lines": [name]})))
            .collect();
        let answers = answers(&config, &calls);
        let last = answers.last().unwrap();
        assert_eq!((last.status, last.attempt), (CallStatus::Blocked, 10));
        let content = &last.result.as_ref().unwrap().content;
        assert!(content.chars().count() < 500, "{content}");
        assert!(content.contains("after 10 attempts") && content.contains("Attempt 10: "));
        assert_eq!(last.escalation.as_ref().unwrap().attempts.len(), 10);
    }

    #[test]
    fn what_the_schema_hides_is_not_escalated() {
        let config = config(json!({"retry": {"max_attempts": 1}}));
        for arguments in [json!({"word": "hunter2"}), json!("{'word': 'hunter2'")] {
            let answers = answers(&config, &[("log_in", arguments)]);
            let line = serde_json::to_string(&answers[0]).unwrap();
            assert!(line.contains("\"blocked\"") && !line.contains("hunter2"), "{line}");
        }
    }

    #[test]
    fn a_persons_words_come_first() {
        let (catalog, config) = (catalog(), ValidationConfig::default());
        let (tracker, now) = (RetryTracker::new(3), Timestamp::from_unix_millis(0));
        let checked = || {
            check_call(
                &catalog,
                CallRequest::new("read_file", json!({})),
                &config,
                Limits::default(),
            )
        };
        let blocked = (0..3).map(|_| reply_to(checked(), &tracker, now, [1; 10])).last().unwrap();
        let case = blocked.escalation.unwrap().id;
        let decision = Decision::Respond { message: "The file is README.md.".to_owned() };
        tracker.decide(checked().key(), &case, &decision, now);
        let told = reply_to(checked(), &tracker, now, [1; 10]).result.unwrap().content;
        assert!(told.starts_with("A person answered: The file is README.md.\n\nValidation failed"));
    }

    #[test]
    fn a_correction_is_all_that_is_told() {
        let catalog = catalog();
        let wrong = json!({"path": 7, "lines": [1, "2"]});
        for (length, characters, is_told) in
            [(2000, 1, true), (500, 300, true), (500, 600, false), (800, 900, false)]
        {
            let config = config(json!({"formatting": {"max_message_length": length}}));
            let (tracker, now) = (RetryTracker::new(&config), Timestamp::from_unix_millis(0));
            let checked = || {
                let line = CallRequest::new("read_file", wrong.clone());
                check_call(&catalog, line, &config, Limits::default())
            };
            let blocked =
                (0..3).map(|_| reply_to(checked(), &tracker, now, [1; 10])).last().unwrap();
            let case = blocked.escalation.unwrap().id;
            let arguments = json!({"path": "a".repeat(characters)});
            let decision = Decision::Modify { arguments: arguments.clone() };
            tracker.decide(checked().key(), &case, &decision, now);
            let answer = reply_to(checked(), &tracker, now, [1; 10]);
            let told = answer.result.unwrap().content;
            assert!(told.chars().count() < length, "{told}");
            // No other text may look like arguments to send.
            for other in ["Proposed repair", "Please", "attempt 1"] {
                assert_eq!(told.contains(other), !is_told, "{other}: {told}");
            }
            let pasted = told.lines().find_map(|line| serde_json::from_str::<Value>(line).ok());
            assert_eq!(pasted, is_told.then_some(arguments), "{told}");
            assert_eq!(answer.repair.is_some(), !is_told);
            // Half a message is worse than none.
            let has_room = !is_told && length > 500;
            assert_eq!(told.contains("Ask them for the arguments"), has_room, "{told}");
        }
    }
}
