//! The one of a closed set that was meant.

use answerback_findings::ValidationError;
use answerback_json::Pointer;
use answerback_parse::Confidence;
use serde_json::Value;

use super::similarity::{NameSimilarity, similarity};
use crate::call::Schema;

/// A larger set is a vocabulary: something in it is always near.
const MOST_OPTIONS: usize = 512;

/// The permitted value that was meant by one that is not, if only one can have been.
pub(super) fn intended_option(
    schema: &Schema,
    finding: &ValidationError,
    value: &Value,
) -> Option<(Value, Confidence)> {
    let options: Vec<&Value> = match &finding.facts.values {
        Some(values) => values.iter().collect(),
        None => options(schema, finding.schema_path.as_ref()?)?,
    };
    nearest_value(value, &options)
}

/// The one of several values that was meant by another, if only one can have been.
pub(in crate::message) fn nearest_value(
    value: &Value,
    options: &[&Value],
) -> Option<(Value, Confidence)> {
    if options.len() > MOST_OPTIONS {
        return None;
    }
    // The same text in another type: "5" for 5.
    let bare = |value: &Value| match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    };
    let written = bare(value)?;
    if let Some(option) =
        only(options.iter().filter(|option| bare(option).as_ref() == Some(&written)))
    {
        return Some(((**option).clone(), Confidence::Safe));
    }
    let word = value.as_str()?;
    let (option, similarity) = nearest(word, options.iter().filter_map(|option| option.as_str()))?;
    let confidence =
        if similarity == NameSimilarity::Spelling { Confidence::Safe } else { Confidence::Guess };
    Some((Value::from(option), confidence))
}

/// The word of a set that was meant by one that is not in it: the nearest, if no other is as near.
pub(super) fn nearest<'o>(
    word: &str,
    options: impl Iterator<Item = &'o str>,
) -> Option<(&'o str, NameSimilarity)> {
    let kin: Vec<(&str, NameSimilarity)> =
        options.filter_map(|option| Some((option, similarity(word, option)?))).collect();
    let best = kin.iter().map(|(_, similarity)| *similarity).min()?;
    let nearest: Vec<&str> = kin
        .iter()
        .filter(|(_, similarity)| *similarity == best)
        .map(|(option, _)| *option)
        .collect();
    if best == NameSimilarity::Words && nearest.len() > 1 {
        // "the last five years" names `five_years` more fully than `years`; but who names two that have
        // nothing to do with each other means neither.
        let fullest = nearest.iter().copied().max_by_key(|option| option.len())?;
        let is_part = |option: &&str| {
            option.len() <= word.len()
                && (**option == *fullest
                    || similarity(fullest, option) == Some(NameSimilarity::Words))
        };
        return nearest.iter().all(is_part).then_some((fullest, best));
    }
    Some((only(nearest.into_iter())?, best))
}

/// The permitted values. A union of constants is a set of them too.
fn options<'s>(schema: &'s Schema, path: &Pointer) -> Option<Vec<&'s Value>> {
    let (holder, keyword) = path.split_last()?;
    let of = |keyword: &str, value: &'s Value| match keyword {
        "enum" => value.as_array().map(|values| values.iter().collect()),
        "const" => Some(vec![value]),
        _ => None,
    };
    let above = holder
        .split_last()
        .and_then(|(union, _)| union.split_last().map(|(_, last)| last.into_owned()));
    if matches!(above.as_deref(), Some("anyOf" | "oneOf")) {
        let (union, _) = holder.split_last()?;
        let branches = schema.at(&union)?.as_array()?;
        let listed = branches.iter().filter_map(|branch| {
            let keyword =
                ["const", "enum"].into_iter().find(|keyword| branch.get(keyword).is_some())?;
            of(keyword, branch.get(keyword)?)
        });
        return Some(listed.flatten().collect());
    }
    of(&keyword, schema.at(path)?)
}

fn only<T>(mut several: impl Iterator<Item = T>) -> Option<T> {
    let first = several.next()?;
    several.next().is_none().then_some(first)
}
