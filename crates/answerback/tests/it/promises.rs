//! What holds for every call, whatever stands in it and in its schema. The property tests and the fuzz targets
//! ask the same of what they make up.

use answerback::call::{CheckOptions, Malformed, Schema, check};
use answerback::checker::{CallRequest, ToolCatalog, check_call, reply_to};
use answerback::config::ValidationConfig;
use answerback::finding::codes;
use answerback::json::patch::{self, PatchOperation};
use answerback::json::{Limits, Pointer};
use answerback::message::{Repair, repair, repair_malformed};
use answerback::{RetryTracker, Timestamp, ValidationError};
use serde_json::{Value, json};

/// A check is consistent with itself: the same twice, both verdicts alike, every finding one that can be
/// explained and looked up, nothing in it that acts.
pub fn of_check(schema: &Schema, arguments: &Value) {
    let Ok(findings) = check(schema, arguments, ()) else { return };
    assert_eq!(Ok(&findings), check(schema, arguments, ()).as_ref());
    assert_eq!(schema.is_valid(arguments), Ok(is_valid(&findings)), "{findings:?}");
    assert!(findings.len() <= 1000);
    for finding in &findings {
        assert!(codes::find(&finding.error_code).is_some(), "{finding}");
        let place = match (finding.error_code.as_ref(), finding.field_path.split_last()) {
            ("VAL-001", Some((parent, _))) => parent,
            _ => finding.field_path.clone(),
        };
        assert!(place.find(arguments).is_some(), "{finding} is about nothing");
        let texts = [
            Some(&finding.message),
            finding.expected_value.as_ref(),
            finding.actual_value.as_ref(),
        ];
        for text in texts.into_iter().flatten() {
            assert!(!text.contains(char::is_control), "{text:?}");
        }
    }
    // Who is stricter finds no less.
    let strict = check(schema, arguments, CheckOptions::default().with_strict(true));
    assert!(strict.is_ok_and(|strict| !is_valid(&strict) || is_valid(&findings)));
}

/// A repair does what it says: its patch applies and gives its arguments, which are valid, and it changes
/// nothing that no finding is about.
pub fn of_repair(schema: &Schema, arguments: &Value) -> Option<Repair> {
    let findings = check(schema, arguments, ()).ok()?;
    let repair = repair(schema, arguments, &findings, ());
    if is_valid(&findings) {
        assert_eq!(repair, None, "nothing is wrong");
    }
    let repair = repair?;
    let steps = repair.patch.as_ref().expect("arguments that are JSON are patched");
    assert_eq!(patch::apply(arguments, steps).as_ref(), Ok(&repair.arguments));
    assert_valid(schema, &repair);
    let concerns =
        |path: &Pointer| findings.iter().any(|finding| lies_in(path, &finding.field_path));
    // A member that was renamed stands where nothing stood before.
    let is_renamed = |path: &Pointer| {
        steps.iter().any(|step| matches!(step, PatchOperation::Move { from, path: to } if lies_in(path, to) && concerns(from)))
    };
    // An element whose fields stood one level too deep is replaced as a whole.
    let is_unwrapped = |path: &Pointer| {
        let is_about_member = |to: &Pointer| {
            findings
                .iter()
                .any(|finding| lies_in(&finding.field_path, to) && finding.field_path != *to)
        };
        steps.iter().any(|step| matches!(step, PatchOperation::Replace { path: to, .. } if lies_in(path, to) && is_about_member(to)))
    };
    for step in patch::between(arguments, &repair.arguments) {
        let is_about_something = match &step {
            PatchOperation::Add { path, .. } => {
                concerns(path) || is_renamed(path) || is_unwrapped(path)
            }
            PatchOperation::Remove { path } | PatchOperation::Replace { path, .. } => {
                concerns(path)
            }
            _ => true,
        };
        assert!(is_about_something, "{step:?} concerns none of {findings:?}");
    }
    Some(repair)
}

/// The repair of a text that is not JSON is valid.
pub fn of_malformed_repair(schema: &Schema, malformed: &Malformed) -> Option<Repair> {
    let repair = repair_malformed(schema, malformed, ())?;
    assert_eq!(repair.patch, None);
    assert_valid(schema, &repair);
    Some(repair)
}

fn assert_valid(schema: &Schema, repair: &Repair) {
    assert_eq!(schema.is_valid(&repair.arguments), Ok(true), "{repair:?}");
    assert!(check(schema, &repair.arguments, ()).is_ok_and(|findings| is_valid(&findings)));
    assert_neutral(repair.words());
    // Ordinary readers can read it, also inside of a message.
    let message = json!({"result": {"_meta": {"repair": repair}}}).to_string();
    assert!(serde_json::from_str::<Value>(&message).is_ok(), "too deep");
}

/// Three tries of one call, each answered within the limit and in words that cannot act.
pub fn of_answers(catalogue: &ToolCatalog, tool: &str, arguments: &Value, limit: usize) {
    for style in ["detailed", "compact"] {
        let formatting = json!({"style": style, "max_message_length": limit});
        let config = json!({"tools": {"validation": {"formatting": formatting}}});
        let config = ValidationConfig::from_value("f", &config).expect("a good configuration");
        let (tracker, now) = (RetryTracker::new(&config), Timestamp::from_unix_millis(0));
        for _ in 0..3 {
            let judged = check_call(
                catalogue,
                CallRequest::new(tool, arguments.clone()),
                &config,
                Limits::default(),
            );
            if let Some(notes) = judged.notes() {
                of_message(&notes, limit);
            }
            let answer = reply_to(judged, &tracker, now, [7; 10]);
            assert_eq!(answer.valid, answer.result.is_none(), "{answer:?}");
            if let Some(result) = answer.result {
                of_message(&result.content, limit);
            }
        }
    }
}

/// A message is shorter than its limit, and nothing in it acts or poses as a tag.
pub fn of_message(message: &str, limit: usize) {
    let length = message.chars().count();
    assert!(length < limit, "{length} characters of {limit}: {message}");
    assert!(!message.is_empty());
    message.lines().for_each(assert_neutral);
}

fn assert_neutral(line: &str) {
    let acts = |character: char| {
        character.is_control()
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    assert!(!line.contains(acts), "{line:?}");
    assert!(!line.contains("```"), "{line:?}");
    for (at, _) in line.match_indices('<') {
        let next = line[at + 1..].chars().next();
        let opens =
            next.is_some_and(|next| next.is_alphabetic() || matches!(next, '/' | '!' | '?' | '|'));
        assert!(!opens, "{line:?}");
    }
}

fn is_valid(findings: &[ValidationError]) -> bool {
    !findings.iter().any(ValidationError::is_error)
}

/// Whether a place is another, or lies within it.
fn lies_in(place: &Pointer, other: &Pointer) -> bool {
    place
        .as_str()
        .strip_prefix(other.as_str())
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
