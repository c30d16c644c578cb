use std::fmt::Write;

use super::Failure;
use super::entry::{clean, secret_kind};
use super::hint::{NAME, expected_type, meant_field, nearest_option};
use super::schema::keyword;
use super::tools::Offer;
use crate::finding::neutral::push_name;
use crate::finding::secrets::redact_pointer;
use crate::finding::{Aggregate, Group, ValidationError, window};
use crate::json::Pointer;

/// The call to action that every layout can end in.
pub(super) const GENERIC: &str = "Please correct these errors and try again.";
/// How many fields a clause names.
const FIELDS: usize = 3;

/// One sentence that says what to do, in at most `limit` characters: "Please provide the missing
/// 'path' field and reduce 'content' length."
pub(super) fn call_to_action(
    failure: &Failure<'_>,
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

/// Whether the tool itself is not there: then there is nothing to correct in the arguments.
pub(super) fn asks_for_a_tool(aggregate: &Aggregate<'_>) -> bool {
    aggregate.groups.iter().any(|group| kind(group.finding) == Kind::Tool)
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

/// What kinds of correction there are, in the order in which they are said.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
enum Kind {
    Json,
    Tool,
    Provide,
    Rename,
    Remove,
    Retype,
    Choose,
    Raise,
    Lower,
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
}

fn clauses(failure: &Failure<'_>, aggregate: &Aggregate<'_>) -> Vec<String> {
    let mut parts: Vec<(Kind, String)> = Vec::with_capacity(aggregate.groups.len());
    let mut renamed: Vec<String> = Vec::new();
    for group in aggregate.groups.iter().filter(|group| group.finding.is_error()) {
        parts.push(part(failure, group, &mut renamed));
    }
    // What is sent under another name is there already.
    let is_renamed = |group: &&Group<'_>| renamed.iter().any(|path| *path == group.path);
    let sent: Vec<String> = aggregate.groups.iter().filter(is_renamed).map(name).collect();
    parts.retain(|(kind, detail)| *kind != Kind::Provide || !sent.contains(detail));
    parts.sort_by_key(|(kind, _)| *kind);

    let mut clauses = Vec::new();
    for same in parts.chunk_by(|(a, _), (b, _)| a == b) {
        let shown: Vec<&str> =
            same.iter().take(FIELDS).map(|(_, detail)| detail.as_str()).collect();
        clauses.push(clause(same[0].0, &list(&shown, same.len() - shown.len()), same.len()));
    }
    clauses
}

/// What kind of correction a finding calls for, and of what; notes a field that gets another's value.
fn part(failure: &Failure<'_>, group: &Group<'_>, renamed: &mut Vec<String>) -> (Kind, String) {
    let finding = group.finding;
    let mut field = name(group);
    let mut kind = kind(finding);
    match kind {
        Kind::Remove => {
            if let Some(meant) = meant_field(failure, finding)
                && let Some((parent, _)) = finding.field_path.split_last()
            {
                renamed.push(parent.join(&meant).as_str().to_owned());
                field.push_str(" to ");
                push_name(&mut field, &meant, NAME);
                kind = Kind::Rename;
            }
        }
        Kind::Retype => match expected_type(failure, finding) {
            Some(wanted) => {
                field.push_str(if wanted.starts_with(['a', 'e', 'i', 'o', 'u']) {
                    " as an "
                } else {
                    " as a "
                });
                field.push_str(&wanted);
            }
            None => kind = Kind::Other,
        },
        Kind::Choose => {
            if !is_secret(failure, finding)
                && let Some(near) = nearest_option(failure, finding)
            {
                let _ = write!(field, " (did you mean {near}?)");
            }
        }
        Kind::Tool => {
            field = match Offer::of(finding) {
                Offer::Tool(tool) => {
                    let tool = clean(tool, None);
                    format!("call {tool} if that is what you meant, or another of the tools named")
                }
                Offer::Named => "call one of the tools named, by its exact name".to_owned(),
                Offer::Nothing => "go on without tools".to_owned(),
            }
        }
        _ => {}
    }
    (kind, field)
}

fn clause(kind: Kind, fields: &str, count: usize) -> String {
    let (field, value) =
        if count == 1 { ("field", "an allowed value") } else { ("fields", "allowed values") };
    match kind {
        Kind::Json => "send the arguments as one valid JSON object".to_owned(),
        Kind::Tool => fields.to_owned(),
        Kind::Provide => format!("provide the missing {fields} {field}"),
        Kind::Rename => format!("rename {fields}"),
        Kind::Remove => format!("remove the unknown {fields} {field}"),
        Kind::Retype => format!("send {fields}"),
        Kind::Choose => format!("choose {value} for {fields}"),
        Kind::Raise => format!("raise {fields} to the minimum or above"),
        Kind::Lower => format!("lower {fields} to the maximum or below"),
        Kind::Bound => format!("bring {fields} within the bounds"),
        Kind::Fewer => format!("send fewer items in {fields}"),
        Kind::More => format!("send more items in {fields} if you have them (otherwise ask)"),
        Kind::Unique => format!("remove repeated items from {fields}"),
        Kind::Items => format!("send a permitted number of items in {fields}"),
        Kind::Shorten => format!("reduce {fields} length"),
        Kind::Lengthen => format!("send the full text of {fields} (ask if you do not have it)"),
        Kind::Length => format!("bring {fields} to a permitted length"),
        Kind::Pattern => format!("write {fields} in the form of the pattern"),
        Kind::Format => format!("write {fields} in the required format"),
        Kind::Other => format!("correct {fields}"),
    }
}

fn kind(finding: &ValidationError) -> Kind {
    let keyword = keyword(finding);
    let keyword = keyword.as_deref().unwrap_or_default();
    // Without the schema's keyword the wording tells the direction.
    let says = |words: &[&str]| words.iter().any(|word| finding.message.contains(word));
    let exceeds = || says(&["exceeds", "above"]);
    let is_below = || says(&["below", "shorter", "fewer"]);
    match finding.error_code.as_ref() {
        "VAL-001" => Kind::Provide,
        "VAL-002" => Kind::Retype,
        "VAL-003" => match keyword {
            "minimum" | "exclusiveMinimum" => Kind::Raise,
            "maximum" | "exclusiveMaximum" => Kind::Lower,
            "" if exceeds() => Kind::Lower,
            "" if is_below() => Kind::Raise,
            "" | "multipleOf" | "minProperties" | "maxProperties" => Kind::Bound,
            _ => Kind::Other,
        },
        "VAL-004" => Kind::Json,
        "VAL-005" => Kind::Remove,
        "VAL-006" => match keyword {
            "maxItems" | "maxContains" | "additionalItems" | "unevaluatedItems" => Kind::Fewer,
            "minItems" | "minContains" | "contains" => Kind::More,
            "uniqueItems" => Kind::Unique,
            _ if exceeds() => Kind::Fewer,
            _ if is_below() => Kind::More,
            _ => Kind::Items,
        },
        "VAL-007" => Kind::Pattern,
        // No keyword of a schema failed: the tool itself is not there.
        "VAL-008"
            if finding.field_path.is_root()
                && finding.schema_path.as_ref().is_none_or(Pointer::is_root) =>
        {
            Kind::Tool
        }
        "VAL-008" => Kind::Choose,
        "VAL-009" => match keyword {
            "maxLength" => Kind::Shorten,
            "minLength" => Kind::Lengthen,
            _ if exceeds() => Kind::Shorten,
            _ if is_below() => Kind::Lengthen,
            _ => Kind::Length,
        },
        "VAL-010" => Kind::Format,
        _ => Kind::Other,
    }
}

fn is_secret(failure: &Failure<'_>, finding: &ValidationError) -> bool {
    secret_kind(finding, failure.part(finding).as_ref()).is_some()
}

/// A field as a sentence names it: by its name at the top, by its whole path below.
fn name(group: &Group<'_>) -> String {
    let mut shown = String::new();
    if group.path.is_empty() {
        return String::from("the arguments");
    }
    // Far more than is shown; a path is longer only if somebody wants it to be.
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
