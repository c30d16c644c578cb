use answerback_findings::neutral::cut;

use super::CallFailure;
use super::entry::place;
use crate::retry::{Repetition, noted_place};

/// The number of places that each list of the progress line names.
const PLACES: usize = 3;
/// The longest place in it, in characters.
const PLACE: usize = 48;

/// From the second attempt on: "Fixed: /path · Still failing: /limit · New: none".
pub(super) fn progress(failure: &CallFailure<'_>) -> Option<String> {
    let previous = failure.previous.filter(|_| failure.attempt > 1)?;
    let errors = failure.findings.iter().filter(|finding| finding.is_error());
    let now: Vec<String> = errors.map(|finding| noted_place(&finding.field_path)).collect();
    let is_now = |path: &str| now.iter().any(|other| other == path);
    let was = |path: &str| previous.iter().any(|noted| noted.path == path);
    // Compared by place: a field that is wrong in another way is still failing.
    let before = previous.iter().map(|noted| noted.path.as_str());
    let fixed = list(before.filter(|path| !is_now(path)));
    let now = now.iter().map(String::as_str);
    let still = list(now.clone().filter(|path| was(path)));
    if failure.previous_is_cut {
        return Some(format!("Fixed: {fixed} · Still failing: {still}"));
    }
    let new = list(now.filter(|path| !was(path)));
    Some(format!("Fixed: {fixed} · Still failing: {still} · New: {new}"))
}

/// Returns the first line of the message for a call that repeats a failed one. It asks for a different call.
pub(super) fn repetition(failure: &CallFailure<'_>) -> Option<String> {
    let left = failure.max_attempts.saturating_sub(failure.attempt);
    let chances = match left {
        0 => String::new(),
        1 => " One attempt is left.".to_owned(),
        more => format!(" {more} attempts are left."),
    };
    Some(match failure.repetition {
        Repetition::None => return None,
        Repetition::SameCall { attempt } => format!(
            "This call is identical to attempt {attempt}, so it failed in the same way. Change the values named below before you call the tool again.{chances}"
        ),
        Repetition::SameErrors { .. } => format!(
            "The arguments changed, but the errors are the same as before: the change was made elsewhere. Change exactly the places named below.{chances}"
        ),
        Repetition::SameRules { .. } => format!(
            "The arguments changed, but the same rules are broken at the same places. Read below what each place must hold.{chances}"
        ),
        Repetition::Oscillation { attempt } => format!(
            "This call brings back the errors of attempt {attempt}. Keep what was fixed since then and correct the places below together, in one call.{chances}"
        ),
    })
}

fn list<'p>(paths: impl Iterator<Item = &'p str>) -> String {
    let mut seen: Vec<&str> = paths.collect();
    seen.sort_unstable();
    seen.dedup();
    if seen.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> =
        seen.iter().take(PLACES).map(|path| cut(&place(path), PLACE).into_owned()).collect();
    let more = seen.len() - shown.len();
    let list = shown.join(", ");
    if more > 0 { format!("{list} ({more} more)") } else { list }
}
