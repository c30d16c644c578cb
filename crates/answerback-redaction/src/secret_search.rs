use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::name::kind_of_name;
use super::pairs::{Elements, Siblings, depends_on_siblings};
use super::redact::{marked, redact};
use super::{SecretKind, can_hold_a_secret};

/// True if [`redact_value`](super::redact_value) would change anything, or if that is not known.
pub fn holds_secret(value: &Value) -> bool {
    has_one(value).unwrap_or(true)
}

/// Works like [`holds_secret`] for a document as text. It builds no tree, because most documents hold no secret. It
/// checks both values of a repeated name.
///
/// # Errors
///
/// Returns an error if the text is not JSON. The walk ends at the first secret, so later mistakes are not found.
pub fn text_holds_secret(document: &str) -> serde_json::Result<bool> {
    let mut reader = serde_json::Deserializer::from_str(document);
    Ok(has_one(&mut reader)? || reader.end().map(|()| false)?)
}

fn has_one<'de, D: Deserializer<'de>>(document: D) -> Result<bool, D::Error> {
    let mut has_secret = false;
    match (SecretWalk { has_secret: &mut has_secret, place: MemberPlace::default() })
        .deserialize(document)
    {
        Err(_) if has_secret => Ok(true),
        walked => walked.map(|()| false),
    }
}

/// True if a value with the name of a secret is not redacted yet.
fn holds_secret_as(kind: SecretKind, member: &Value) -> bool {
    if can_hold_a_secret(member) { member != kind.mark() } else { holds_secret(member) }
}

/// True if [`redact`] would change a text. Marks sometimes look like secrets themselves, and stay.
fn is_changed(text: &str) -> bool {
    redact(text) != text
}

/// Works like [`is_changed`] for the text of a member.
fn is_member_changed(siblings: Siblings, name: &str, text: &str) -> bool {
    marked(text, siblings.find(name, text)) != text
}

/// The walk through one value. It reports a secret as an error, which ends the walk.
struct SecretWalk<'f, 'n> {
    has_secret: &'f mut bool,
    place: MemberPlace<'f, 'n>,
}

/// The place of a value.
#[derive(Default)]
struct MemberPlace<'f, 'n> {
    /// The name of the member that holds the value, directly or in a list.
    name: Option<&'n str>,
    elements: Option<&'f mut ElementsSeen>,
    siblings: Option<&'f mut Siblings>,
}

/// The elements of an array seen so far.
struct ElementsSeen {
    elements: Elements,
    /// True if the last element is a secret if the array ends with it.
    is_pair: bool,
}

impl SecretWalk<'_, '_> {
    fn look_at<E: de::Error>(&mut self, is_secret: bool) -> Result<(), E> {
        if is_secret {
            *self.has_secret = true;
            return Err(E::custom("a secret"));
        }
        Ok(())
    }

    /// Walks through the elements of an array and returns their number.
    fn walk_elements<'de, A: SeqAccess<'de>>(mut self, mut items: A) -> Result<usize, A::Error> {
        self.pass();
        let mut seen = ElementsSeen { elements: Elements::new(), is_pair: false };
        let mut count = 0;
        loop {
            let place =
                MemberPlace { name: self.place.name, elements: Some(&mut seen), siblings: None };
            let walk = SecretWalk { has_secret: self.has_secret, place };
            if items.next_element_seed(walk)?.is_none() {
                break;
            }
            count += 1;
        }
        self.look_at(count == 2 && seen.is_pair)?;
        Ok(count)
    }

    /// Walks through the members of an object and returns their number. It builds a value only if the value is short
    /// or must be redacted as a whole. A full tree would hold only the last value of a repeated name.
    fn walk_members<'de, A: MapAccess<'de>>(mut self, mut members: A) -> Result<usize, A::Error> {
        self.pass();
        let mut siblings = Siblings::default();
        let mut waiting: Vec<(Cow<'de, str>, SearchedMember)> = Vec::new();
        let mut count = 0;
        while let Some(name) = members.next_key_seed(ScannedName(SecretWalk {
            has_secret: self.has_secret,
            place: MemberPlace::default(),
        }))? {
            count += 1;
            if let Some(kind) = kind_of_name(&name) {
                let member: Value = members.next_value()?;
                siblings.add(&name, member.as_str());
                self.look_at(holds_secret_as(kind, &member))?;
            } else if depends_on_siblings(&name) {
                let place = MemberPlace { name: Some(&name), elements: None, siblings: None };
                let seed = MemberSeed(SecretWalk { has_secret: self.has_secret, place });
                let member = members.next_value_seed(seed)?;
                siblings.add(&name, member.as_str());
                waiting.push((name, member));
            } else {
                let place = MemberPlace {
                    name: Some(&name),
                    elements: None,
                    siblings: Some(&mut siblings),
                };
                members.next_value_seed(SecretWalk { has_secret: self.has_secret, place })?;
            }
        }
        let siblings = siblings.among(count);
        for (name, member) in waiting {
            let is_secret = match &member {
                SearchedMember::Container { is_empty } => {
                    !is_empty && siblings.kind_of_name(&name).is_some()
                }
                SearchedMember::Scalar(member) => match (siblings.kind_of(&name, member), member) {
                    (Some(kind), _) => holds_secret_as(kind, member),
                    (None, Value::String(text)) => is_member_changed(siblings, &name, text),
                    (None, _) => false,
                },
            };
            self.look_at(is_secret)?;
        }
        Ok(count)
    }

    /// Records a value that is not a string.
    fn pass(&mut self) {
        if let Some(seen) = &mut self.place.elements {
            seen.is_pair = false;
            seen.elements.next(None);
        }
        if let (Some(siblings), Some(name)) = (&mut self.place.siblings, self.place.name) {
            siblings.add(name, None);
        }
    }
}

impl<'de> DeserializeSeed<'de> for SecretWalk<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for SecretWalk<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_str<E: de::Error>(mut self, text: &str) -> Result<(), E> {
        let mut is_secret = false;
        if let Some(seen) = &mut self.place.elements {
            let kind = seen.elements.next(Some(text));
            seen.is_pair = kind.is_some_and(|(kind, only_last)| only_last && text != kind.mark());
            is_secret = kind.is_some_and(|(kind, only_last)| !only_last && text != kind.mark());
        }
        if let (Some(siblings), Some(name)) = (&mut self.place.siblings, self.place.name) {
            siblings.add(name, Some(text));
        }
        is_secret = is_secret
            || match self.place.name {
                Some(name) => is_member_changed(Siblings::default(), name, text),
                None => is_changed(text),
            };
        self.look_at(is_secret)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        self.walk_elements(items).map(|_| ())
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        self.walk_members(members).map(|_| ())
    }

    fn visit_unit<E>(mut self) -> Result<(), E> {
        self.pass();
        Ok(())
    }

    fn visit_bool<E>(mut self, _: bool) -> Result<(), E> {
        self.pass();
        Ok(())
    }

    fn visit_i64<E>(mut self, _: i64) -> Result<(), E> {
        self.pass();
        Ok(())
    }

    fn visit_u64<E>(mut self, _: u64) -> Result<(), E> {
        self.pass();
        Ok(())
    }

    fn visit_f64<E>(mut self, _: f64) -> Result<(), E> {
        self.pass();
        Ok(())
    }
}

/// A member whose meaning depends on the other members of its object.
enum SearchedMember {
    Scalar(Value),
    /// An array or object in which no secret was found.
    Container {
        is_empty: bool,
    },
}

impl SearchedMember {
    fn as_str(&self) -> Option<&str> {
        match self {
            Self::Scalar(value) => value.as_str(),
            Self::Container { .. } => None,
        }
    }
}

/// Reads a [`SearchedMember`]: scalars are stored until the other members are known, and the rest is walked through.
struct MemberSeed<'f, 'n>(SecretWalk<'f, 'n>);

impl<'de> DeserializeSeed<'de> for MemberSeed<'_, '_> {
    type Value = SearchedMember;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<SearchedMember, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MemberSeed<'_, '_> {
    type Value = SearchedMember;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_str<E>(self, text: &str) -> Result<SearchedMember, E> {
        Ok(SearchedMember::Scalar(Value::from(text)))
    }

    fn visit_unit<E>(self) -> Result<SearchedMember, E> {
        Ok(SearchedMember::Scalar(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<SearchedMember, E> {
        Ok(SearchedMember::Scalar(Value::from(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<SearchedMember, E> {
        Ok(SearchedMember::Scalar(Value::from(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<SearchedMember, E> {
        Ok(SearchedMember::Scalar(Value::from(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<SearchedMember, E> {
        Ok(SearchedMember::Scalar(Value::from(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<SearchedMember, A::Error> {
        let count = self.0.walk_elements(items)?;
        Ok(SearchedMember::Container { is_empty: count == 0 })
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<SearchedMember, A::Error> {
        let count = self.0.walk_members(members)?;
        Ok(SearchedMember::Container { is_empty: count == 0 })
    }
}

/// Reads a member's name and searches it for secrets.
struct ScannedName<'f, 'n>(SecretWalk<'f, 'n>);

impl<'de> DeserializeSeed<'de> for ScannedName<'_, '_> {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl ScannedName<'_, '_> {
    fn look_at<E: de::Error>(&mut self, name: &str) -> Result<(), E> {
        // `serde_json` gives such names a special meaning when it builds a value, so the document is not a plain
        // object.
        if name.starts_with("$serde_json::private::") {
            return Err(E::custom("not a plain object"));
        }
        self.0.look_at(is_changed(name))
    }
}

impl<'de> Visitor<'de> for ScannedName<'_, '_> {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E: de::Error>(mut self, name: &str) -> Result<Self::Value, E> {
        self.look_at(name)?;
        Ok(Cow::Owned(name.to_owned()))
    }

    fn visit_borrowed_str<E: de::Error>(mut self, name: &'de str) -> Result<Self::Value, E> {
        self.look_at(name)?;
        Ok(Cow::Borrowed(name))
    }
}
