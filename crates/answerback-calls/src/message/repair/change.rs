use std::fmt::Write;

use answerback_findings::neutral::push_name;
use answerback_findings::{Preview, kind_of_place};
use answerback_json::Pointer;
use answerback_json::patch::PatchOperation;
use answerback_parse::Confidence;
use answerback_redaction::{redact, redact_pointer};
use serde_json::Value;

use crate::call::{Schema, preview_argument};

/// The number of changes that the summary lists. It counts the rest.
const MOST_TOLD: usize = 4;
/// The longest name in a summary, in characters.
const NAME: usize = 64;

/// One step of a repair, and how sure it is.
#[derive(Debug)]
pub(super) struct RepairStep {
    pub(super) operation: PatchOperation,
    pub(super) confidence: Confidence,
    /// True if only the spelling changes and the value stays the same.
    pub(super) is_lossless: bool,
}

impl RepairStep {
    /// The same value, written in another way.
    pub(super) fn rewrite(place: &Pointer, value: Value, confidence: Confidence) -> Self {
        Self { is_lossless: true, ..Self::replace(place, value, confidence) }
    }

    pub(super) fn replace(place: &Pointer, value: Value, confidence: Confidence) -> Self {
        Self {
            operation: PatchOperation::Replace { path: place.clone(), value },
            confidence,
            is_lossless: false,
        }
    }

    pub(super) fn remove(place: &Pointer, confidence: Confidence) -> Self {
        Self {
            operation: PatchOperation::Remove { path: place.clone() },
            confidence,
            is_lossless: false,
        }
    }

    pub(super) fn rename(from: Pointer, path: Pointer, confidence: Confidence) -> Self {
        Self { operation: PatchOperation::Move { from, path }, confidence, is_lossless: false }
    }

    /// Returns true if the change moves a secret away from the name that marks it as a secret. The redaction
    /// would no longer find it there.
    pub(super) fn uncovers(&self) -> bool {
        match &self.operation {
            PatchOperation::Move { from, path } => {
                kind_of_place(from).is_some() && kind_of_place(path).is_none()
            }
            _ => false,
        }
    }

    /// The place whose value is no longer what it was.
    pub(super) fn place(&self) -> &Pointer {
        match &self.operation {
            PatchOperation::Test { path, .. }
            | PatchOperation::Add { path, .. }
            | PatchOperation::Remove { path }
            | PatchOperation::Replace { path, .. }
            | PatchOperation::Move { path, .. }
            | PatchOperation::Copy { path, .. } => path,
        }
    }
}

/// Returns true if a place equals another or is below it.
pub(super) fn lies_in(place: &Pointer, other: &Pointer) -> bool {
    let rest = place.as_str().strip_prefix(other.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The summary of the changes in words.
#[derive(Debug, Default)]
pub(super) struct Words {
    line: String,
    count: usize,
}

impl Words {
    /// Adds a step that is about to be taken on `arguments`.
    pub(super) fn add(&mut self, operation: &PatchOperation, arguments: &Value, schema: &Schema) {
        self.count += 1;
        if self.count > MOST_TOLD {
            return;
        }
        let line = &mut self.line;
        if !line.is_empty() {
            line.push_str("; ");
        }
        match operation {
            PatchOperation::Move { from, path } if lies_in(from, path) => {
                line.push_str("take the fields out of ");
                push_place(line, from);
            }
            PatchOperation::Move { from, path } => match (from.split_last(), path.split_last()) {
                (Some((object, _)), Some((same, name))) if object == same => {
                    line.push_str("rename ");
                    push_place(line, from);
                    line.push_str(" to ");
                    push_name(line, &redact(&name), NAME);
                }
                _ => {
                    line.push_str("move ");
                    push_place(line, from);
                    line.push_str(" to ");
                    push_place(line, path);
                }
            },
            PatchOperation::Remove { path } => {
                line.push_str("leave out ");
                push_place(line, path);
            }
            PatchOperation::Replace { path, value }
            | PatchOperation::Add { path, value }
            | PatchOperation::Test { path, value } => {
                let _ = write!(
                    line,
                    "write {}",
                    preview_argument(value, path, schema, &Preview::new())
                );
                if let Some(before) = path.find(arguments) {
                    let _ = write!(
                        line,
                        " for {}",
                        preview_argument(before, path, schema, &Preview::new())
                    );
                }
                line.push_str(" in ");
                push_place(line, path);
            }
            PatchOperation::Copy { from, path } => {
                line.push_str("copy ");
                push_place(line, from);
                line.push_str(" to ");
                push_place(line, path);
            }
        }
    }

    pub(super) fn into_line(mut self) -> String {
        match self.count.saturating_sub(MOST_TOLD) {
            0 => {}
            1 => self.line.push_str("; and 1 more change"),
            more => {
                let _ = write!(self.line, "; and {more} more changes");
            }
        }
        self.line
    }
}

/// Describes arguments that replace a text which was not JSON, and what they leave out of it.
pub(super) fn whole(arguments: &Value, schema: &Schema, omissions: &[&str]) -> String {
    let arguments = preview_argument(arguments, &Pointer::root(), schema, &Preview::new());
    match omissions {
        [] => format!("send {arguments}"),
        omissions => format!("send {arguments} ({})", omissions.join("; ")),
    }
}

/// A field by its name at the top, by its whole path below.
fn push_place(line: &mut String, place: &Pointer) {
    match place.split_last() {
        None => line.push_str("the arguments"),
        Some((parent, name)) if parent.is_root() => push_name(line, &redact(&name), NAME),
        Some(_) => push_name(line, &redact_pointer(place.as_str()), NAME),
    }
}
