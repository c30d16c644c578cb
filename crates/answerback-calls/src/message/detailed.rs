use answerback_findings::neutral::cut;

use super::budget::FindingLimits;
use super::entry::{FindingEntry, cut_preview};

/// Appends a finding as a block: the bullet line, what was expected, what came, a hint.
pub(super) fn push(message: &mut String, entry: &FindingEntry<'_>, room: &FindingLimits) {
    message.push_str("• ");
    message.push_str(&cut(&entry.place, room.place));
    entry.push_repeats(message);
    message.push_str(" (");
    entry.push_code(message);
    message.push_str("): ");
    message.push_str(&cut(&entry.text, room.text));
    if entry.group.count() > 1 {
        line(message, "At", &places(entry), room.text);
    }
    if let Some(expected) = entry.expected(room) {
        line(message, "Expected", expected, room.expected);
    }
    if let Some(actual) = &entry.actual {
        message.push_str("\n  Actual: ");
        message.push_str(&cut_preview(actual, room.actual));
    }
    if let Some(hint) = entry.hint.as_ref().filter(|_| room.hint > 0) {
        line(message, "Hint", hint, room.hint);
    }
}

fn line(message: &mut String, label: &str, text: &str, room: usize) {
    message.push_str("\n  ");
    message.push_str(label);
    message.push_str(": ");
    message.push_str(&cut(text, room));
}

/// Returns a few places of a repeated finding, including the first and the last.
fn places(entry: &FindingEntry<'_>) -> String {
    const SHOWN: usize = 4;
    let group = entry.group;
    let shown: Vec<_> =
        group.examples(SHOWN).map(|path| super::entry::place(path.as_str())).collect();
    if group.count() > SHOWN {
        let (last, first) =
            shown.split_last().map_or(("", &[][..]), |(last, first)| (last.as_ref(), first));
        format!("{}, … {last}", first.join(", "))
    } else {
        shown.join(", ")
    }
}
