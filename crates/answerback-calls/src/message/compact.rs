use answerback_findings::neutral::cut;

use super::budget::FindingLimits;
use super::entry::FindingEntry;

/// Appends a finding as one line: `- /path: Required field is missing (expected: string)`.
pub(super) fn push(message: &mut String, entry: &FindingEntry<'_>, room: &FindingLimits) {
    message.push_str("- ");
    message.push_str(&cut(&entry.place, room.place));
    entry.push_repeats(message);
    message.push_str(": ");
    if entry.text.is_empty() {
        entry.push_code(message);
    }
    message.push_str(&cut(&entry.text, room.text));
    if let Some(expected) = entry.expected(room) {
        message.push_str(" (expected: ");
        message.push_str(&cut(expected, room.expected));
        message.push(')');
    }
    if let Some(hint) = entry.hint.as_ref().filter(|_| room.hint > 0) {
        message.push_str(". ");
        message.push_str(&cut(hint, room.hint));
    }
}
