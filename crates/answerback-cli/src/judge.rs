//! One call, judged: what both `call` and `replay` do with it.

use answerback::call::{Options, Schema, SchemaError, check, hear};
use answerback::finding::{ValidationError, val};
use answerback::json::{Limits, Pointer};
use answerback::message::{Repair, repair, repair_malformed};
use serde::Serialize;
use serde_json::Value;

use crate::tools::Tools;

/// How many attempts a model has.
pub(crate) const MAX_ATTEMPTS: u32 = 3;
/// A message to the model stays below this many characters.
const MESSAGE_LIMIT: usize = 2000;

/// What came of judging one call.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) call_id: String,
    pub(crate) tool: String,
    pub(crate) findings: Vec<ValidationError>,
    /// The tool's schema is at fault: the call is passed on unchecked.
    pub(crate) unchecked: Option<SchemaError>,
    /// A change that would make the call valid.
    pub(crate) repair: Option<Repair>,
}

impl Judged {
    pub(crate) fn is_valid(&self) -> bool {
        !self.findings.iter().any(ValidationError::is_error)
    }
}

/// The line that `replay` and `call --format json` print.
#[derive(Debug, Serialize)]
pub(crate) struct Answer<'j> {
    tool_call_id: &'j str,
    tool: &'j str,
    valid: bool,
    attempt: u32,
    max_attempts: u32,
    status: &'static str,
    errors: &'j [ValidationError],
    repair: Option<&'j Repair>,
    result: Option<ToolResult<'j>>,
    escalation: Option<()>,
}

#[derive(Debug, Serialize)]
struct ToolResult<'j> {
    role: &'static str,
    tool_call_id: &'j str,
    content: String,
    is_error: bool,
}

/// Judges a call against the list of tools.
pub(crate) fn judge(
    call_id: String,
    tool: String,
    arguments: &Value,
    tools: &Tools,
    options: Options,
) -> Judged {
    let Some(known) = tools.find(&tool) else {
        let finding = unknown_tool(&tool, tools.names());
        return Judged { call_id, tool, findings: vec![finding], unchecked: None, repair: None };
    };
    judge_against(call_id, tool, arguments, known.schema(), options)
}

/// Judges a call against one schema.
pub(crate) fn judge_against(
    call_id: String,
    tool: String,
    arguments: &Value,
    schema: Result<&Schema, SchemaError>,
    options: Options,
) -> Judged {
    match schema.and_then(|schema| faults(schema, arguments, options)) {
        Ok((findings, repair)) => Judged { call_id, tool, findings, unchecked: None, repair },
        Err(fault) => {
            Judged { call_id, tool, findings: Vec::new(), unchecked: Some(fault), repair: None }
        }
    }
}

/// What is wrong with the arguments, and how it could be mended.
fn faults(
    schema: &Schema,
    arguments: &Value,
    options: Options,
) -> Result<(Vec<ValidationError>, Option<Repair>), SchemaError> {
    match hear(Some(arguments), Limits::default()) {
        Ok(heard) => {
            let mut findings = check(schema, &heard.value, options)?;
            let repair = repair(schema, &heard.value, &findings, options);
            findings.extend(heard.findings);
            Ok((findings, repair))
        }
        Err(malformed) => {
            let repair = repair_malformed(schema, &malformed, options);
            Ok((vec![malformed.finding()], repair))
        }
    }
}

/// The answer to a judged call, at some attempt.
pub(crate) fn answer(judged: &Judged, attempt: u32) -> Answer<'_> {
    let valid = judged.is_valid();
    let status = match (&judged.unchecked, valid) {
        (Some(_), _) => "unchecked",
        (None, true) => "ok",
        (None, false) => "retry",
    };
    let result = (!valid).then(|| ToolResult {
        role: "tool",
        tool_call_id: &judged.call_id,
        content: message(judged, attempt),
        is_error: true,
    });
    Answer {
        tool_call_id: &judged.call_id,
        tool: &judged.tool,
        valid,
        attempt,
        max_attempts: MAX_ATTEMPTS,
        status,
        errors: &judged.findings,
        repair: judged.repair.as_ref(),
        result,
        escalation: None,
    }
}

/// What the model is told: the findings, one a line, as many as there is room for.
pub(crate) fn message(judged: &Judged, attempt: u32) -> String {
    let mut text = format!(
        "Validation failed for tool '{}' (attempt {attempt}/{MAX_ATTEMPTS}):\n",
        judged.tool
    );
    let mut length = text.chars().count();
    for (index, finding) in judged.findings.iter().enumerate() {
        let place =
            if finding.field_path.is_root() { "(root)" } else { finding.field_path.as_str() };
        let expected =
            finding.expected_value.as_ref().map(|expected| format!(" (expected: {expected})"));
        let line = format!("\n- {place}: {}{}", finding.message, expected.unwrap_or_default());
        let line_length = line.chars().count();
        if length + line_length + 40 >= MESSAGE_LIMIT {
            return format!("{text}\n…and {} more errors", judged.findings.len() - index);
        }
        text.push_str(&line);
        length += line_length;
    }
    text
}

fn unknown_tool(name: &str, names: &[String]) -> ValidationError {
    const MOST_NAMED: usize = 20;
    let listed = names[..names.len().min(MOST_NAMED)].join(", ");
    let shown: String = name.chars().take(128).collect();
    ValidationError::of(&val::INVALID_ENUM_VALUE, Pointer::root())
        .with_message(format!("Unknown tool {}", Value::from(shown)))
        .with_expected(format!("one of: {listed}"))
        .with_schema_path(Pointer::root())
}
