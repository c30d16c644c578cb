//! Fields under a wrong name, or one level too deep.

use serde_json::{Map, Value};

use super::change::Change;
use super::choice::nearest;
use super::kinship::{Kinship, kinship};
use super::nothing::says_nothing;
use super::reading::resolved;
use crate::call::{Confidence, Schema, Types};
use crate::finding::secrets::kind_of_name;
use crate::finding::{ValidationError, val};
use crate::json::Pointer;
use crate::json::patch::Operation;

/// Beyond so many strange names an object is not a misspelt one but another.
const MOST_UNKNOWN: usize = 16;

/// Whether a finding is about a name: one that is missing, or one that nobody knows.
pub(super) fn concerns(finding: &ValidationError) -> bool {
    is_missing(finding) || is_unknown(finding)
}

fn is_missing(finding: &ValidationError) -> bool {
    finding.error_code == val::REQUIRED_FIELD_MISSING.code && finding.is_error()
}

fn is_unknown(finding: &ValidationError) -> bool {
    finding.error_code == val::UNKNOWN_FIELD.code
}

/// The changes for all findings about names, or `None` if one of them has to stay.
pub(super) fn changes(
    schema: &Schema,
    arguments: &Value,
    findings: &[ValidationError],
) -> Option<Vec<Change>> {
    let mut objects: Vec<Object<'_>> = Vec::new();
    for finding in findings.iter().filter(|finding| concerns(finding)) {
        let (place, name) = finding.field_path.split_last()?;
        let known = objects.iter().position(|object| object.place == place);
        let index = known.unwrap_or_else(|| {
            objects.push(Object { place, missing: Vec::new(), unknown: Vec::new() });
            objects.len() - 1
        });
        let object = &mut objects[index];
        let names = if is_missing(finding) { &mut object.missing } else { &mut object.unknown };
        // Two branches of a schema may miss the same field.
        if !names.iter().any(|field| field.name == name) {
            names.push(Field { name: name.into_owned(), finding });
        }
    }
    let mut changes = Vec::new();
    for object in objects {
        object.mend(schema, arguments, &mut changes)?;
    }
    // A field that is called a password is no misspelt path.
    Some(changes).filter(|changes| !changes.iter().any(Change::uncovers))
}

struct Field<'f> {
    name: String,
    finding: &'f ValidationError,
}

/// An object of the arguments, with the names that are wrong in it.
struct Object<'f> {
    place: Pointer,
    missing: Vec<Field<'f>>,
    unknown: Vec<Field<'f>>,
}

impl Object<'_> {
    fn mend(mut self, schema: &Schema, arguments: &Value, changes: &mut Vec<Change>) -> Option<()> {
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
        if let Some(change) = self.unwrapped(members, arguments) {
            changes.push(change);
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
        Some(())
    }

    /// All fields one level too deep, below a name that says nothing: `{"parameters": {…}}`.
    fn unwrapped(&self, members: &Map<String, Value>, arguments: &Value) -> Option<Change> {
        let [wrapper] = self.unknown.as_slice() else { return None };
        if kind_of_name(&wrapper.name).is_some() {
            return None;
        }
        let inner = members.get(&wrapper.name).filter(|_| members.len() == 1)?;
        let has_missing = self.missing.iter().any(|field| inner.get(&field.name).is_some());
        if !has_missing {
            return None;
        }
        let in_array = self
            .place
            .split_last()
            .and_then(|(above, _)| above.find(arguments))
            .is_some_and(Value::is_array);
        if in_array {
            // To move something to an element's place is to insert it there.
            return Some(Change::replace(&self.place, inner.clone(), Confidence::Safe));
        }
        let operation =
            Operation::Move { from: self.place.join(&wrapper.name), path: self.place.clone() };
        Some(Change { operation, confidence: Confidence::Safe })
    }

    /// Renames each unknown field that is kin to a missing one. Where two could be, nobody knows.
    fn pair_kin(&mut self, changes: &mut Vec<Change>) -> Option<()> {
        let mut kin: Vec<(Kinship, usize, usize)> = Vec::new();
        for (unknown, field) in self.unknown.iter().enumerate() {
            for (missing, other) in self.missing.iter().enumerate() {
                let kinship = kinship(&field.name, &other.name);
                kin.extend(kinship.map(|kinship| (kinship, unknown, missing)));
            }
        }
        let (mut known, mut found) = (Vec::new(), Vec::new());
        for rank in [Kinship::Spelling, Kinship::Typo, Kinship::Words] {
            let pairs: Vec<(usize, usize)> = kin
                .iter()
                .filter(|(kinship, unknown, missing)| {
                    *kinship == rank && !known.contains(unknown) && !found.contains(missing)
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
                let confidence =
                    if rank == Kinship::Words { Confidence::Guess } else { Confidence::Safe };
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
        changes: &mut Vec<Change>,
    ) -> Option<()> {
        if self.missing.is_empty() {
            return Some(());
        }
        let ([missing], [unknown]) = (self.missing.as_slice(), self.unknown.as_slice()) else {
            return None;
        };
        // Where the schema allows any name, a strange one is no evidence.
        if !unknown.finding.is_error() || !fits(schema, missing, members.get(&unknown.name)?) {
            return None;
        }
        changes.push(self.renamed(0, 0, Confidence::Guess));
        self.missing.clear();
        self.unknown.clear();
        Some(())
    }

    fn renamed(&self, unknown: usize, missing: usize, confidence: Confidence) -> Change {
        let from = self.place.join(&self.unknown[unknown].name);
        Change::rename(from, self.place.join(&self.missing[missing].name), confidence)
    }

    /// The change for a field that must not stay and is not the missing one: it is an optional field,
    /// misspelt, or it holds nothing.
    fn misnamed(
        &self,
        schema: &Schema,
        members: &Map<String, Value>,
        field: &Field<'_>,
    ) -> Option<Change> {
        let place = &field.finding.field_path;
        match members.get(&field.name)? {
            Value::Null => return Some(Change::remove(place, Confidence::Safe)),
            Value::String(text) if says_nothing(text) => {
                return Some(Change::remove(place, Confidence::Guess));
            }
            _ => {}
        }
        let (owner, _) = field.finding.schema_path.as_ref()?.split_last()?;
        let declared = schema.at(&owner)?.get("properties")?.as_object()?;
        let absent =
            declared.keys().map(String::as_str).filter(|name| !members.contains_key(*name));
        let (name, kinship) = nearest(&field.name, absent)?;
        let confidence = match kinship {
            Kinship::Spelling => Confidence::Safe,
            Kinship::Typo => Confidence::Guess,
            // An optional field may be absent on purpose.
            Kinship::Words => return None,
        };
        Some(Change::rename(place.clone(), self.place.join(name), confidence))
    }
}

/// Whether a value is of the type that a missing field asks for. One of no stated type takes all.
fn fits(schema: &Schema, missing: &Field<'_>, value: &Value) -> bool {
    let declared = missing.finding.schema_path.as_ref().and_then(|path| {
        let (owner, _) = path.split_last()?;
        resolved(schema, owner.join("properties").join(&missing.name))
    });
    let types = declared.and_then(|declared| declared.get("type")).map(Types::of_keyword);
    types.is_none_or(|types| types.meets(Types::of(value)))
}

fn take_out<T>(list: &mut Vec<T>, indices: &[usize]) {
    let mut index = 0;
    list.retain(|_| {
        index += 1;
        !indices.contains(&(index - 1))
    });
}
