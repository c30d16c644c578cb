use std::fmt::Write;

use answerback_findings::neutral::push_name;
use answerback_findings::{Aggregate, FindingGroup, ValidationError, window};
use answerback_json::Pointer;
use answerback_redaction::redact_pointer;

use super::CallFailure;
use super::entry::{clean, secret_kind};
use super::hint::{
    NAME, alternatives, expected_types, intended_field, nearest_options, other_type, with_article,
};
use super::schema::keyword;
use super::tools::Offer;

/// The call to action that every layout can end in.
pub(super) const GENERIC: &str = "Please correct these errors and try again.";
/// The highest number of fields that one clause names.
const FIELDS: usize = 3;

/// One sentence that says what to do, in at most `limit` characters: "Please provide the missing
/// 'path' field and reduce 'content' length."
pub(super) fn call_to_action(
    failure: &CallFailure<'_>,
    aggregate: &Aggregate<'_>,
    limit: usize,
) -> String {
    let clauses = clauses(failure, aggregate);
    // As many clauses as fit; what is not said then still counts.
    for kept in (1..=clauses.len()).rev() {
        let rest = kept < clauses.len() || aggregate.left_out > 0;
        let sentence = sentence(&clauses[..kept], rest);
        if sentence.chars().count() <= limit {
            return sentence;
        }
    }
    GENERIC.to_owned()
}

/// Returns true if the tool does not exist. Then there is nothing to correct in the arguments.
pub(super) fn is_unknown_tool_call(aggregate: &Aggregate<'_>) -> bool {
    aggregate.groups.iter().any(|group| kind(group.finding) == CorrectionKind::Tool)
}

fn sentence(clauses: &[String], rest: bool) -> String {
    let mut sentence = String::from("Please ");
    for (index, clause) in clauses.iter().enumerate() {
        let is_last = index + 1 == clauses.len() && !rest;
        sentence.push_str(match index {
            0 => "",
            _ if is_last => " and ",
            _ => ", ",
        });
        sentence.push_str(clause);
    }
    sentence.push_str(if rest { ", and correct the other errors." } else { "." });
    sentence
}

/// The kinds of correction, in the order of the sentence.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
enum CorrectionKind {
    Json,
    Tool,
    Provide,
    Rename,
    Place,
    Remove,
    Omit,
    Retype,
    Choose,
    Avoid,
    Raise,
    Lower,
    Exceed,
    Undercut,
    Bound,
    Fewer,
    More,
    Unique,
    Items,
    Shorten,
    Lengthen,
    Length,
    Pattern,
    Format,
    Other,
    Report,
}

fn clauses(failure: &CallFailure<'_>, aggregate: &Aggregate<'_>) -> Vec<String> {
    let mut parts: Vec<(CorrectionKind, String)> = Vec::with_capacity(aggregate.groups.len());
    let errors = || aggregate.groups.iter().filter(|group| group.finding.is_error());
    let renamed: Vec<String> =
        errors().filter_map(|group| rename_target(failure, group.finding)).collect();
    for group in errors() {
        parts.push(part(failure, group, &renamed));
    }
    // To rename one misnamed field and to remove the other could lose what the other holds.
    if !renamed.is_empty() {
        for (kind, _) in &mut parts {
            if *kind == CorrectionKind::Remove {
                *kind = CorrectionKind::Place;
            }
        }
    }
    // What is sent under another name is there already, unless two fields could be meant by it.
    let is_renamed =
        |group: &&FindingGroup<'_>| renamed.iter().filter(|path| **path == group.path).count() == 1;
    let sent: Vec<String> = aggregate.groups.iter().filter(is_renamed).map(name).collect();
    parts.retain(|(kind, detail)| *kind != CorrectionKind::Provide || !sent.contains(detail));
    parts.sort_by_key(|(kind, _)| *kind);
    // Several rules that one value breaks can call for the same correction.
    let mut seen: Vec<(CorrectionKind, String)> = Vec::with_capacity(parts.len());
    parts.retain(|part| {
        let is_new = !seen.contains(part);
        if is_new {
            seen.push(part.clone());
        }
        is_new
    });

    let mut clauses = Vec::new();
    for same in parts.chunk_by(|(a, _), (b, _)| a == b) {
        let shown: Vec<&str> =
            same.iter().take(FIELDS).map(|(_, detail)| detail.as_str()).collect();
        clauses.push(clause(same[0].0, &list(&shown, same.len() - shown.len()), same.len()));
    }
    clauses
}

/// Returns the place that an unknown field probably belongs to.
fn rename_target(failure: &CallFailure<'_>, finding: &ValidationError) -> Option<String> {
    if kind(finding) != CorrectionKind::Remove {
        return None;
    }
    let (parent, _) = finding.field_path.split_last()?;
    Some(parent.join(&intended_field(failure, finding)?).as_str().to_owned())
}

/// Returns the kind of correction that a finding calls for, and its target. `renamed` lists all places that
/// get the value of an unknown field.
fn part(
    failure: &CallFailure<'_>,
    group: &FindingGroup<'_>,
    renamed: &[String],
) -> (CorrectionKind, String) {
    let finding = group.finding;
    let mut field = name(group);
    let is_omittable = |other: &&ValidationError| {
        other.facts.is_omittable && other.field_path == finding.field_path
    };
    if failure.findings.iter().find(is_omittable).is_some() {
        return (CorrectionKind::Omit, field);
    }
    let mut kind = kind(finding);
    match kind {
        CorrectionKind::Raise
        | CorrectionKind::Lower
        | CorrectionKind::Exceed
        | CorrectionKind::Undercut => {
            let limit;
            (kind, limit) = bound(failure, finding, kind);
            let (word, unknown) = match kind {
                CorrectionKind::Raise => (" to at least ", " to the minimum or above"),
                CorrectionKind::Lower => (" to at most ", " to the maximum or below"),
                CorrectionKind::Exceed => (" greater than ", " greater than the limit"),
                _ => (" less than ", " less than the limit"),
            };
            match limit {
                Some(limit) => {
                    field.push_str(word);
                    field.push_str(&limit.to_string());
                }
                None => field.push_str(unknown),
            }
        }
        CorrectionKind::Remove => {
            if let Some(target) = rename_target(failure, finding)
                && let Some(meant) = intended_field(failure, finding)
            {
                // Of two values for one field, one would be lost.
                if renamed.iter().filter(|other| **other == target).count() > 1 {
                    return (CorrectionKind::Place, field);
                }
                field.push_str(" to ");
                push_name(&mut field, &meant, NAME);
                if let Some(wanted) = other_type(failure, finding, &meant) {
                    let _ = write!(field, " (sent as {})", with_article(&wanted));
                }
                kind = CorrectionKind::Rename;
            }
        }
        CorrectionKind::Retype => {
            let wanted: Vec<String> =
                expected_types(failure, finding).iter().map(|name| with_article(name)).collect();
            if wanted.is_empty() {
                kind = CorrectionKind::Other;
            } else {
                let _ = write!(field, " as {}", alternatives(&wanted));
            }
        }
        CorrectionKind::Choose if !is_secret(failure, finding) => {
            let near = nearest_options(failure, finding);
            if !near.is_empty() {
                let _ = write!(field, " (did you mean {}?)", alternatives(&near));
            }
        }
        CorrectionKind::Tool => {
            field = match Offer::of(finding) {
                Offer::Tool(tool) => {
                    let tool = clean(tool, None);
                    format!("call {tool} if that is what you meant, or another of the tools named")
                }
                Offer::Named => "call one of the tools named, by its exact name".to_owned(),
                Offer::Nothing => "go on without tools".to_owned(),
            }
        }
        CorrectionKind::Avoid if group.path.is_empty() => kind = CorrectionKind::Other,
        _ => {}
    }
    (kind, field)
}

/// The limit that a number breaks, and the kind of correction that follows from it.
fn bound(
    failure: &CallFailure<'_>,
    finding: &ValidationError,
    said: CorrectionKind,
) -> (CorrectionKind, Option<serde_json::Number>) {
    let Some(part) = failure.part(finding) else { return (said, None) };
    let number =
        |keyword: &str| part.holder.get(keyword).and_then(|limit| limit.as_number().cloned());
    // In draft 4 the exclusive bounds are flags next to the bounds.
    let is_flagged = |keyword: &str| part.holder.get(keyword).is_some_and(|flag| flag == true);
    match keyword(finding).as_deref() {
        Some("minimum" | "exclusiveMinimum") if is_flagged("exclusiveMinimum") => {
            (CorrectionKind::Exceed, number("minimum"))
        }
        Some("maximum" | "exclusiveMaximum") if is_flagged("exclusiveMaximum") => {
            (CorrectionKind::Undercut, number("maximum"))
        }
        Some("minimum") => (CorrectionKind::Raise, number("minimum")),
        Some("maximum") => (CorrectionKind::Lower, number("maximum")),
        Some("exclusiveMinimum") => (CorrectionKind::Exceed, number("exclusiveMinimum")),
        Some("exclusiveMaximum") => (CorrectionKind::Undercut, number("exclusiveMaximum")),
        _ => (said, None),
    }
}

fn clause(kind: CorrectionKind, fields: &str, count: usize) -> String {
    let (field, value) =
        if count == 1 { ("field", "an allowed value") } else { ("fields", "allowed values") };
    match kind {
        CorrectionKind::Json => "send the arguments as one valid JSON object".to_owned(),
        CorrectionKind::Tool => fields.to_owned(),
        CorrectionKind::Provide => format!("provide the missing {fields} {field}"),
        CorrectionKind::Rename => format!("rename {fields}"),
        CorrectionKind::Place if count == 1 => {
            format!("send {fields} under the name of the field that you mean, or leave it out")
        }
        CorrectionKind::Place => {
            format!("send {fields} under the names of the fields that you mean, or leave them out")
        }
        CorrectionKind::Remove => format!("remove the unknown {fields} {field}"),
        CorrectionKind::Retype => format!("send {fields}"),
        CorrectionKind::Choose => format!("choose {value} for {fields}"),
        CorrectionKind::Omit if count == 1 => {
            format!("leave out {fields} unless you have a value for it")
        }
        CorrectionKind::Omit => format!("leave out {fields} unless you have values for them"),
        CorrectionKind::Avoid => format!("send another value for {fields}"),
        CorrectionKind::Raise => format!("raise {fields}"),
        CorrectionKind::Lower => format!("lower {fields}"),
        CorrectionKind::Exceed | CorrectionKind::Undercut => format!("make {fields}"),
        CorrectionKind::Bound => format!("bring {fields} within the bounds"),
        CorrectionKind::Fewer => format!("send fewer items in {fields}"),
        CorrectionKind::More => {
            format!("send more items in {fields} if you have them (otherwise ask)")
        }
        CorrectionKind::Unique => format!("remove repeated items from {fields}"),
        CorrectionKind::Items => format!("send a permitted number of items in {fields}"),
        CorrectionKind::Shorten => format!("reduce {fields} length"),
        CorrectionKind::Lengthen => {
            format!("send the full text of {fields} (ask if you do not have it)")
        }
        CorrectionKind::Length => format!("bring {fields} to a permitted length"),
        CorrectionKind::Pattern => format!("write {fields} in the form of the pattern"),
        CorrectionKind::Format => format!("write {fields} in the required format"),
        CorrectionKind::Other => format!("correct {fields}"),
        CorrectionKind::Report => {
            format!("report that the tool's schema contradicts itself about {fields}")
        }
    }
}

fn kind(finding: &ValidationError) -> CorrectionKind {
    let keyword = keyword(finding);
    let keyword = keyword.as_deref().unwrap_or_default();
    // Without the schema's keyword the wording tells the direction.
    let says = |words: &[&str]| words.iter().any(|word| finding.message.contains(word));
    let exceeds = || says(&["exceeds", "above"]);
    let is_below = || says(&["below", "shorter", "fewer"]);
    if finding.facts.is_contradiction {
        return CorrectionKind::Report;
    }
    match finding.error_code.as_ref() {
        "VAL-001" => CorrectionKind::Provide,
        "VAL-002" => CorrectionKind::Retype,
        "VAL-003" => match keyword {
            "minimum" => CorrectionKind::Raise,
            "maximum" => CorrectionKind::Lower,
            "exclusiveMinimum" => CorrectionKind::Exceed,
            "exclusiveMaximum" => CorrectionKind::Undercut,
            "not" => CorrectionKind::Avoid,
            "" if says(&["not greater than"]) => CorrectionKind::Exceed,
            "" if says(&["not less than"]) => CorrectionKind::Undercut,
            "" if exceeds() => CorrectionKind::Lower,
            "" if is_below() => CorrectionKind::Raise,
            "" | "multipleOf" | "minProperties" | "maxProperties" => CorrectionKind::Bound,
            _ => CorrectionKind::Other,
        },
        "VAL-004" => CorrectionKind::Json,
        "VAL-005" => CorrectionKind::Remove,
        "VAL-006" => match keyword {
            "maxItems" | "maxContains" | "additionalItems" | "unevaluatedItems" => {
                CorrectionKind::Fewer
            }
            "minItems" | "minContains" | "contains" => CorrectionKind::More,
            "uniqueItems" => CorrectionKind::Unique,
            _ if exceeds() => CorrectionKind::Fewer,
            _ if is_below() => CorrectionKind::More,
            _ => CorrectionKind::Items,
        },
        "VAL-007" => CorrectionKind::Pattern,
        // No keyword of a schema failed: the tool itself is not there.
        "VAL-008"
            if finding.field_path.is_root()
                && finding.schema_path.as_ref().is_none_or(Pointer::is_root) =>
        {
            CorrectionKind::Tool
        }
        "VAL-008" => CorrectionKind::Choose,
        "VAL-009" => match keyword {
            "maxLength" => CorrectionKind::Shorten,
            "minLength" => CorrectionKind::Lengthen,
            _ if exceeds() => CorrectionKind::Shorten,
            _ if is_below() => CorrectionKind::Lengthen,
            _ => CorrectionKind::Length,
        },
        "VAL-010" => CorrectionKind::Format,
        _ => CorrectionKind::Other,
    }
}

fn is_secret(failure: &CallFailure<'_>, finding: &ValidationError) -> bool {
    secret_kind(finding, failure.part(finding).as_ref()).is_some()
}

/// A field as a sentence names it: by its name at the top, by its whole path below.
fn name(group: &FindingGroup<'_>) -> String {
    let mut shown = String::new();
    if group.path.is_empty() {
        return String::from("the arguments");
    }
    // This limit is far above what is displayed. Only a crafted path is longer.
    let (path, _) = window(&group.path, 8 * NAME);
    let redacted = redact_pointer(path);
    let inner = &redacted[1..];
    if inner.contains('/') {
        push_name(&mut shown, &redacted, NAME / 2);
    } else if !inner.contains('~') {
        push_name(&mut shown, inner, NAME / 2);
    } else {
        push_name(&mut shown, &inner.replace("~1", "/").replace("~0", "~"), NAME / 2);
    }
    shown
}

/// `'a'`, `'a' and 'b'`, `'a', 'b', 'c' and 2 more`.
fn list(shown: &[&str], more: usize) -> String {
    match (shown, more) {
        ([only], 0) => (*only).to_owned(),
        ([first @ .., last], 0) => format!("{} and {last}", first.join(", ")),
        (all, more) => format!("{} and {more} more", all.join(", ")),
    }
}
