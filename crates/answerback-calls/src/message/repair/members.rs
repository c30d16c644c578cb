//! Fields under a wrong name, or one level too deep.

use answerback_findings::{ValidationError, call_codes};
use answerback_json::Pointer;
use answerback_json::patch::PatchOperation;
use answerback_parse::Confidence;
use answerback_redaction::kind_of_name;
use serde_json::{Map, Value};

use super::change::RepairStep;
use super::choice::nearest;
use super::reading::{self, object_in_text, resolved};
use super::similarity::{NameSimilarity, similarity};
use crate::call::{Schema, Types, says_nothing};

/// Beyond so many strange names an object is not a misspelt one but another.
const MOST_UNKNOWN: usize = 16;

/// Returns true if a finding is about a name: a missing or an unknown one.
pub(super) fn concerns(finding: &ValidationError) -> bool {
    is_missing(finding) || is_unknown(finding)
}

fn is_missing(finding: &ValidationError) -> bool {
    finding.error_code == call_codes::REQUIRED_FIELD_MISSING.code && finding.is_error()
}

fn is_unknown(finding: &ValidationError) -> bool {
    finding.error_code == call_codes::UNKNOWN_FIELD.code
}

/// The changes for all findings about names, or `None` if one of them has to stay.
pub(super) fn changes(
    schema: &Schema,
    arguments: &Value,
    findings: &[ValidationError],
) -> Option<Vec<RepairStep>> {
    let mut objects: Vec<RepairObject<'_>> = Vec::new();
    for finding in findings.iter().filter(|finding| concerns(finding)) {
        let (place, name) = finding.field_path.split_last()?;
        let known = objects.iter().position(|object| object.place == place);
        let index = known.unwrap_or_else(|| {
            objects.push(RepairObject { place, missing: Vec::new(), unknown: Vec::new() });
            objects.len() - 1
        });
        let object = &mut objects[index];
        let names = if is_missing(finding) { &mut object.missing } else { &mut object.unknown };
        // Two branches of a schema may miss the same field.
        if !names.iter().any(|field| field.name == name) {
            names.push(RepairField { name: name.into_owned(), finding });
        }
    }
    let mut changes = Vec::new();
    for object in objects {
        object.fix(schema, arguments, &mut changes)?;
    }
    // A field that is called a password is no misspelt path.
    Some(changes).filter(|changes| !changes.iter().any(RepairStep::uncovers))
}

struct RepairField<'f> {
    name: String,
    finding: &'f ValidationError,
}

/// An object of the arguments, with the names that are wrong in it.
struct RepairObject<'f> {
    place: Pointer,
    missing: Vec<RepairField<'f>>,
    unknown: Vec<RepairField<'f>>,
}

impl RepairObject<'_> {
    fn fix(
        mut self,
        schema: &Schema,
        arguments: &Value,
        changes: &mut Vec<RepairStep>,
    ) -> Option<()> {
        // A name that is only not foreseen need not go; it may still be the one that is missing.
        let has_to_change =
            !self.missing.is_empty() || self.unknown.iter().any(|field| field.finding.is_error());
        if !has_to_change {
            return Some(());
        }
        if !(1..=MOST_UNKNOWN).contains(&self.unknown.len()) {
            return None;
        }
        let members = self.place.find(arguments)?.as_object()?;
        if let Some(unwrapping) = self.unwrapped(schema, members, arguments) {
            changes.extend(unwrapping);
            return Some(());
        }
        self.pair_kin(changes)?;
        self.pair_last(schema, members, changes)?;
        for field in self.unknown.iter().filter(|field| field.finding.is_error()) {
            let change = self.misnamed(schema, members, field)?;
            // Of two fields that would go to one place, one would be lost.
            if changes.iter().any(|other| other.place() == change.place()) {
                return None;
            }
            changes.push(change);
        }
        for field in self.unknown.iter().filter(|field| !field.finding.is_error()) {
            self.place_unforeseen(schema, members, field, changes)?;
        }
        Some(())
    }

    /// Renames a field that the schema allows but does not name, where the call is changed anyway.
    ///
    /// Most tools ignore such a field. To rename one misnamed field and to leave another to be ignored loses
    /// data, so either both find their place or nothing is proposed.
    fn place_unforeseen(
        &self,
        schema: &Schema,
        members: &Map<String, Value>,
        field: &RepairField<'_>,
        changes: &mut Vec<RepairStep>,
    ) -> Option<()> {
        let value = members.get(&field.name).filter(|value| !value.is_null());
        let Some(value) = value else { return Some(()) };
        let (owner, _) = field.finding.schema_path.as_ref()?.split_last()?;
        let declared = schema.at(&owner).and_then(|part| part.get("properties")?.as_object());
        let absent: Vec<&str> = declared
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .filter(|name| {
                let place = self.place.join(name);
                !members.contains_key(*name)
                    && !changes.iter().any(|change| *change.place() == place)
            })
            .collect();
        if let Some((name, similarity)) = nearest(&field.name, absent.iter().copied())
            && let Some(confidence) = confidence_of_optional(similarity)
        {
            let from = field.finding.field_path.clone();
            changes.push(RepairStep::rename(from, self.place.join(name), confidence));
            return Some(());
        }
        let may_be_meant = absent.iter().any(|name| fits(schema, &owner, name, value));
        (!may_be_meant).then_some(())
    }

    /// All fields are one level too deep, below a meaningless name: `{"parameters": {…}}`.
    fn unwrapped(
        &self,
        schema: &Schema,
        members: &Map<String, Value>,
        arguments: &Value,
    ) -> Option<Vec<RepairStep>> {
        let [wrapper] = self.unknown.as_slice() else { return None };
        if kind_of_name(&wrapper.name).is_some() {
            return None;
        }
        let inner = members.get(&wrapper.name).filter(|_| members.len() == 1)?;
        let read = inner.as_str().and_then(object_in_text);
        let is_read = read.is_some();
        let (inner, confidence) = read.unwrap_or_else(|| (inner.clone(), Confidence::Safe));
        if !self.belongs_here(schema, wrapper, inner.as_object()?) {
            return None;
        }
        let in_array = self
            .place
            .split_last()
            .and_then(|(above, _)| above.find(arguments))
            .is_some_and(Value::is_array);
        if in_array {
            // To move something to an element's place is to insert it there.
            return Some(vec![RepairStep::replace(&self.place, inner, confidence)]);
        }
        let from = self.place.join(&wrapper.name);
        let read = is_read.then(|| RepairStep::replace(&from, inner, confidence));
        let operation = PatchOperation::Move { from, path: self.place.clone() };
        Some(
            read.into_iter()
                .chain([RepairStep { operation, confidence, is_lossless: false }])
                .collect(),
        )
    }

    /// Returns true if an object holds what this one lacks: a required field, or fields of this object only.
    fn belongs_here(
        &self,
        schema: &Schema,
        wrapper: &RepairField<'_>,
        inner: &Map<String, Value>,
    ) -> bool {
        if self.missing.iter().any(|field| inner.contains_key(&field.name)) {
            return true;
        }
        let declared = || {
            let (owner, _) = wrapper.finding.schema_path.as_ref()?.split_last()?;
            schema.at(&owner)?.get("properties")?.as_object()
        };
        wrapper.finding.is_error()
            && self.missing.is_empty()
            && !inner.is_empty()
            && declared()
                .is_some_and(|declared| inner.keys().all(|name| declared.contains_key(name)))
    }

    /// Renames each unknown field that is similar to a missing one. If two are similar, it renames none.
    fn pair_kin(&mut self, changes: &mut Vec<RepairStep>) -> Option<()> {
        let mut kin: Vec<(NameSimilarity, usize, usize)> = Vec::new();
        for (unknown, field) in self.unknown.iter().enumerate() {
            for (missing, other) in self.missing.iter().enumerate() {
                let similarity = similarity(&field.name, &other.name);
                kin.extend(similarity.map(|similarity| (similarity, unknown, missing)));
            }
        }
        let (mut known, mut found) = (Vec::new(), Vec::new());
        for rank in [NameSimilarity::Spelling, NameSimilarity::Typo, NameSimilarity::Words] {
            let pairs: Vec<(usize, usize)> = kin
                .iter()
                .filter(|(similarity, unknown, missing)| {
                    *similarity == rank && !known.contains(unknown) && !found.contains(missing)
                })
                .map(|(_, unknown, missing)| (*unknown, *missing))
                .collect();
            let is_shared = |pair: &(usize, usize)| {
                pairs.iter().any(|other| other != pair && (other.0 == pair.0 || other.1 == pair.1))
            };
            if pairs.iter().any(is_shared) {
                return None;
            }
            for (unknown, missing) in pairs {
                let confidence = if rank == NameSimilarity::Words {
                    Confidence::Guess
                } else {
                    Confidence::Safe
                };
                changes.push(self.renamed(unknown, missing, confidence));
                known.push(unknown);
                found.push(missing);
            }
        }
        take_out(&mut self.unknown, &known);
        take_out(&mut self.missing, &found);
        Some(())
    }

    /// One field is missing and one is not known: they are the same, if the value fits.
    fn pair_last(
        &mut self,
        schema: &Schema,
        members: &Map<String, Value>,
        changes: &mut Vec<RepairStep>,
    ) -> Option<()> {
        if self.missing.is_empty() {
            return Some(());
        }
        let ([missing], [unknown]) = (self.missing.as_slice(), self.unknown.as_slice()) else {
            return None;
        };
        // Where the schema allows any name, a strange one is no evidence.
        let (owner, _) = missing.finding.schema_path.as_ref()?.split_last()?;
        let value = members.get(&unknown.name)?;
        let fits = || {
            fits(schema, &owner, &missing.name, value)
                || fits_when_read(schema, &owner, &missing.name, value)
        };
        if !unknown.finding.is_error() || !fits() {
            return None;
        }
        changes.push(self.renamed(0, 0, Confidence::Guess));
        self.missing.clear();
        self.unknown.clear();
        Some(())
    }

    fn renamed(&self, unknown: usize, missing: usize, confidence: Confidence) -> RepairStep {
        let from = self.place.join(&self.unknown[unknown].name);
        RepairStep::rename(from, self.place.join(&self.missing[missing].name), confidence)
    }

    /// The change for a field that must not stay and is not the missing one: it is an optional field,
    /// misspelt, or it holds nothing.
    fn misnamed(
        &self,
        schema: &Schema,
        members: &Map<String, Value>,
        field: &RepairField<'_>,
    ) -> Option<RepairStep> {
        let place = &field.finding.field_path;
        match members.get(&field.name)? {
            Value::Null => return Some(RepairStep::remove(place, Confidence::Safe)),
            Value::String(text) if says_nothing(text) => {
                return Some(RepairStep::remove(place, Confidence::Guess));
            }
            _ => {}
        }
        let (owner, _) = field.finding.schema_path.as_ref()?.split_last()?;
        let declared = schema.at(&owner)?.get("properties")?.as_object()?;
        let absent =
            declared.keys().map(String::as_str).filter(|name| !members.contains_key(*name));
        let (name, similarity) = nearest(&field.name, absent)?;
        let confidence = confidence_of_optional(similarity)?;
        Some(RepairStep::rename(place.clone(), self.place.join(name), confidence))
    }
}

/// Returns the confidence with which a misnamed field is taken for an optional one.
fn confidence_of_optional(similarity: NameSimilarity) -> Option<Confidence> {
    match similarity {
        NameSimilarity::Spelling => Some(Confidence::Safe),
        NameSimilarity::Typo => Some(Confidence::Guess),
        // An optional field may be absent on purpose.
        NameSimilarity::Words => None,
    }
}

/// Returns true if a value is of the type that an absent field of an object asks for. A field without a type
/// takes any value.
fn fits(schema: &Schema, owner: &Pointer, name: &str, value: &Value) -> bool {
    let types = types_of(schema, owner, name);
    types.is_none_or(|types| types.meets(Types::of(value)))
}

/// Returns true if a value can be converted to the type that a field asks for.
///
/// It reads the whole value, so it is called for one field of an object only.
fn fits_when_read(schema: &Schema, owner: &Pointer, name: &str, value: &Value) -> bool {
    let declared = resolved(schema, owner.join("properties").join(name));
    let types = types_of(schema, owner, name).unwrap_or(Types::NONE);
    declared.is_some_and(|declared| reading::as_type(declared, types, value).is_some())
}

fn types_of(schema: &Schema, owner: &Pointer, name: &str) -> Option<Types> {
    let declared = resolved(schema, owner.join("properties").join(name))?;
    declared.get("type").map(Types::of_keyword)
}

fn take_out<T>(list: &mut Vec<T>, indices: &[usize]) {
    let mut index = 0;
    list.retain(|_| {
        index += 1;
        !indices.contains(&(index - 1))
    });
}
