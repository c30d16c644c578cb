//! Finds secrets by their neighbors in a document: a name next to its value, an option before its argument.

use serde_json::{Map, Value};

use super::name::{is_public_name, kind_of_name, kind_of_weak_name};
use super::value::{is_key_like, is_stand_in};
use super::{SecretKind, SecretSpan, can_hold_a_secret, scan};

/// The role of a member that names the content of a neighboring member.
const LABEL: u8 = 1;
/// The role of a member that holds the value named by a neighboring member.
const VALUE: u8 = 2;
/// The role of a member that marks neighboring content as a file.
const MEDIA: u8 = 4;
/// The role of a member that holds a file.
const CONTENT: u8 = 8;
/// The role of a public member of a JSON Web Key.
const KEY_PUBLIC: u8 = 16;
/// The role of a secret member of a JSON Web Key.
const KEY_SECRET: u8 = 32;

/// Returns the roles that a member with this name can have in its object.
fn roles(name: &str) -> u8 {
    const LONGEST: usize = 16;
    let mut lower = [0; LONGEST];
    let Some(lower) = lower.get_mut(..name.len()) else { return 0 };
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    match &*lower {
        b"name" | b"key" | b"field" | b"label" | b"header" | b"selector" | b"element"
        | b"variable" | b"var" | b"env" | b"parameter" | b"param" | b"property" | b"id"
        | b"fieldname" | b"env_name" | b"variable_name" | b"target" | b"locator" => LABEL,
        b"value" | b"text" | b"val" | b"default" | b"values" | b"string" | b"input" => VALUE,
        b"content" | b"data" => VALUE | CONTENT,
        b"body" | b"blob" | b"bytes" | b"base64" | b"file" => CONTENT,
        b"mimetype" | b"mime_type" | b"media_type" | b"mediatype" | b"contenttype"
        | b"content_type" | b"encoding" => MEDIA,
        b"n" | b"x" | b"y" | b"e" => KEY_PUBLIC,
        b"d" | b"k" | b"p" | b"q" | b"dp" | b"dq" | b"qi" => KEY_SECRET,
        _ => 0,
    }
}

/// The maximum number of members of an object in which a label counts. A larger object is not a pair of name and
/// value.
const MOST_MEMBERS: usize = 32;

/// The facts about the members of one object that can make other members secret or public.
#[derive(Clone, Copy, Default)]
pub struct Siblings {
    label: Option<SecretKind>,
    is_media: bool,
    is_key: bool,
}

impl Siblings {
    /// Finds the members that name or describe the content of another member.
    pub fn of(members: &Map<String, Value>) -> Self {
        let mut siblings = Self::default();
        if members.len() <= MOST_MEMBERS {
            for (name, member) in members {
                siblings.add(name, member.as_str());
            }
        }
        siblings
    }

    /// Records a member. If there are several labels, the first one that announces a secret counts.
    pub(super) fn add(&mut self, name: &str, text: Option<&str>) {
        let roles = roles(name);
        if let Some(text) = text
            && roles & LABEL != 0
            && self.label.is_none()
        {
            self.label = kind_of_label(text);
        }
        self.is_media |= roles & MEDIA != 0;
        self.is_key |= name == "kty";
    }

    /// Returns these facts for an object with this many members: none if the object is too large.
    pub(super) fn among(self, members: usize) -> Self {
        if members <= MOST_MEMBERS { self } else { Self::default() }
    }

    /// Returns the kind of secret that a member's name announces, for any value.
    pub(super) fn kind_of_name(self, name: &str) -> Option<SecretKind> {
        if (self.label.is_some() || self.is_key) && !name.is_empty() {
            let roles = roles(name);
            if let Some(kind) = self.label
                && roles & VALUE != 0
            {
                return Some(kind);
            }
            if self.is_key && roles & KEY_SECRET != 0 {
                return Some(SecretKind::PrivateKey);
            }
        }
        kind_of_name(name)
    }

    /// Returns the kind of secret that a member's whole value is.
    pub fn kind_of(self, name: &str, member: &Value) -> Option<SecretKind> {
        match self.kind_of_name(name) {
            Some(kind) => Some(kind).filter(|_| can_hold_a_secret(member)),
            None => {
                let kind = kind_of_weak_name(name)?;
                member.as_str().is_some_and(is_key_like).then_some(kind)
            }
        }
    }

    /// Finds the secrets in the text of a member.
    pub fn find(self, name: &str, text: &str) -> Vec<SecretSpan> {
        if let Some(kind) = kind_of_weak_name(name)
            && is_key_like(text)
        {
            return vec![SecretSpan { range: 0..text.len(), kind }];
        }
        let found = scan::find(text);
        let is_public = || {
            let roles = roles(name);
            self.is_media && roles & CONTENT != 0
                || self.is_key && roles & KEY_PUBLIC != 0
                || is_one_word(text) && is_public_name(name)
        };
        // Most texts have no secrets and need no second search.
        if !found.is_empty() && is_public() { scan::find_public(text) } else { found }
    }
}

/// True if a text is a single word, as an id is, rather than a sentence that contains an id.
fn is_one_word(text: &str) -> bool {
    !text
        .trim()
        .contains(|character: char| character.is_whitespace() || matches!(character, ',' | ';'))
}

/// True if the meaning of members with this name depends on the other members of their object.
pub(super) fn depends_on_siblings(name: &str) -> bool {
    roles(name) & (VALUE | CONTENT | KEY_PUBLIC | KEY_SECRET) != 0
}

/// Returns the kind of secret that a label announces: an identifier, a selector of a page, or the caption of a field.
fn kind_of_label(label: &str) -> Option<SecretKind> {
    const LONGEST: usize = 128;
    const FIELDS: [&str; 8] =
        ["field", "input", "box", "textbox", "textfield", "entry", "form", "control"];
    if label.len() > LONGEST {
        return None;
    }
    let is_part =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    let mut label = label.trim_end_matches(|character| !is_part(character));
    while let Some((rest, last)) = label.rsplit_once(|character| !is_part(character))
        && FIELDS.iter().any(|field| last.eq_ignore_ascii_case(field))
    {
        label = rest.trim_end_matches(|character| !is_part(character));
    }
    // In a title, only the end counts: `Password reset` does not announce a password.
    let last = label.rfind(|character| !is_part(character)).unwrap_or_default();
    let phrase = label[..last].rfind(|character| !is_part(character)).unwrap_or_default();
    kind_of_name(&label[last..]).or_else(|| kind_of_name(&label[phrase..]))
}

/// The facts about the previous elements of an array that can make the next one secret.
#[derive(Clone, Copy, Default)]
pub struct Elements {
    count: usize,
    /// The announcement, if the last element was an option or a name.
    previous: Option<(SecretKind, Argument)>,
}

/// The way in which an element announces the next one.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Argument {
    /// An option such as `--password` announces any next element.
    Option,
    /// An option such as `-u` announces an element with a colon.
    User,
    /// A name such as `Authorization`, as the first of two elements.
    Pair,
}

impl Elements {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Records the next element. Returns the kind of secret that it is, and true if it is one only as the last
    /// element of the array.
    pub(super) fn next(&mut self, text: Option<&str>) -> Option<(SecretKind, bool)> {
        let index = self.count;
        self.count += 1;
        let found = text.zip(self.previous).and_then(|(text, (kind, argument))| {
            let holds = match argument {
                Argument::Option => !text.starts_with('-') && !is_stand_in(text, kind),
                Argument::User => text.split_once(':').is_some_and(|(user, password)| {
                    !user.is_empty()
                        && !user.contains('/')
                        && password.bytes().any(|byte| !byte.is_ascii_digit())
                        && !is_stand_in(password, kind)
                }),
                Argument::Pair => index == 1 && is_value(text) && !is_stand_in(text, kind),
            };
            holds.then_some((kind, argument == Argument::Pair))
        });
        self.previous = text.and_then(|text| {
            if matches!(text, "-u" | "--user" | "--proxy-user" | "-U") {
                return Some((SecretKind::Password, Argument::User));
            }
            let argument = if text.starts_with("--") && !text.contains('=') {
                Argument::Option
            } else if index == 0 && !text.contains(char::is_whitespace) {
                // A phrase is not a name, but the first of several values: `["Camping Pass", "Parking Pass"]`.
                Argument::Pair
            } else {
                return None;
            };
            kind_of_name(text).map(|kind| (kind, argument))
        });
        found
    }

    /// Returns the kind of secret that an element of an array is. Only the element before it counts.
    pub fn kind_at(items: &[Value], index: usize) -> Option<SecretKind> {
        let before = index.checked_sub(1)?;
        let mut elements = Self { count: before, previous: None };
        elements.next(items[before].as_str());
        let (kind, only_last) = elements.next(items[index].as_str())?;
        (!only_last || items.len() == 2).then_some(kind)
    }
}

/// True if the second of two texts is a value and not another name: `["password", "email"]` are two names.
fn is_value(text: &str) -> bool {
    !text.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-'))
}
