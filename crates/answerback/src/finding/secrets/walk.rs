use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::name::kind_of_name;
use super::{SecretKind, can_hold_a_secret, redact};

/// Whether [`redact_value`](super::redact_value) would change anything; yes, where that cannot be told.
pub fn holds_secret(value: &Value) -> bool {
    has_one(value).unwrap_or(true)
}

/// [`holds_secret`] for a document as text. Nothing is built to see that there is none, which is by far the usual case, and
/// of a name that stands twice both values are looked at.
///
/// # Errors
///
/// When the text is not JSON, as far as it was read: a secret ends the walk.
pub fn text_holds_secret(document: &str) -> serde_json::Result<bool> {
    let mut reader = serde_json::Deserializer::from_str(document);
    Ok(has_one(&mut reader)? || reader.end().map(|()| false)?)
}

fn has_one<'de, D: Deserializer<'de>>(document: D) -> Result<bool, D::Error> {
    let mut has_found = false;
    match (Walk { has_found: &mut has_found }).deserialize(document) {
        Err(_) if has_found => Ok(true),
        walked => walked.map(|()| false),
    }
}

/// Below a name that says so of its value.
fn holds_secret_as(kind: SecretKind, member: &Value) -> bool {
    if can_hold_a_secret(member) { member != kind.mark() } else { holds_secret(member) }
}

/// Whether [`redact`] would change a text. Its own marks read like secrets now and then, and stay.
fn is_changed(text: &str) -> bool {
    redact(text) != text
}

/// The way through one value. What it finds is an error, which ends it.
struct Walk<'f> {
    has_found: &'f mut bool,
}

impl Walk<'_> {
    fn again(&mut self) -> Walk<'_> {
        Walk { has_found: self.has_found }
    }

    fn look_at<E: de::Error>(&mut self, is_secret: bool) -> Result<(), E> {
        if is_secret {
            *self.has_found = true;
            return Err(E::custom("a secret"));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_str<E: de::Error>(mut self, text: &str) -> Result<(), E> {
        self.look_at(is_changed(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self.again())?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        while let Some(kind) = members.next_key_seed(Name(self.again()))? {
            match kind {
                Some(kind) => {
                    let member: Value = members.next_value()?;
                    self.look_at(holds_secret_as(kind, &member))?;
                }
                None => members.next_value_seed(self.again())?,
            }
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
}

/// A member's name: looked through, and what it says of its value.
struct Name<'f>(Walk<'f>);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Option<SecretKind>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Option<SecretKind>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E: de::Error>(mut self, name: &str) -> Result<Self::Value, E> {
        // By such a name a tree takes a text for a value, and is to be looked at itself.
        if name.starts_with("$serde_json::private::") {
            return Err(E::custom("not a plain object"));
        }
        self.0.look_at(is_changed(name))?;
        Ok(kind_of_name(name))
    }
}
