use super::commitments::{PartCommitments, commitments};
use super::kind::EntryKind;
use super::member::{ALLOWED, LeafMember, MEMBERS, NAMES, ValueForm};
use super::span::LeafSpan;
use super::values::{flags, is_uuid, token, tokens, uuid, verdict};
use crate::checkpoint::decimal;
use crate::hash::MerkleHash;
use crate::hex::is_hex;
use crate::json::{CanonicalReader, FormError};
use crate::time;

/// The maximum length of a leaf in bytes.
pub(super) const LONGEST: usize = 8_192;

/// A parsed leaf: its kind, its time, and the positions of its other values.
#[derive(Clone, Debug)]
pub(crate) struct ParsedLeaf {
    pub(crate) kind: EntryKind,
    pub(crate) ts: i64,
    pub(crate) parts: PartCommitments,
    /// The members that no kind allows.
    pub(crate) unknown: Vec<String>,
    values: [LeafSpan; MEMBERS.len()],
    seen: u64,
}

impl ParsedLeaf {
    /// Parses a leaf.
    ///
    /// # Errors
    ///
    /// Returns an error if the leaf is not canonical, or a value does not have its member's form.
    pub(crate) fn read(leaf: &[u8]) -> Result<Self, FormError> {
        if leaf.len() > LONGEST {
            return Err(FormError { at: LONGEST, what: "the leaf is longer than 8,192 bytes" });
        }
        let mut reader = CanonicalReader::new(leaf)
            .map_err(|at| FormError { at, what: "the leaf is not UTF-8" })?;
        let mut facts = Self {
            kind: EntryKind::Config,
            ts: 0,
            parts: PartCommitments::default(),
            unknown: Vec::new(),
            values: [LeafSpan::default(); MEMBERS.len()],
            seen: 0,
        };
        reader.object(&NAMES, |reader, name| {
            if let Some(number) = name.known {
                facts.seen |= 1 << number;
                facts.values[number] = facts.value(reader, MEMBERS[number].1)?;
                Ok(())
            } else {
                facts.unknown.push(name.text.escape_ascii().to_string());
                reader.skip()
            }
        })?;
        reader.end()?;
        for member in [LeafMember::V, LeafMember::Kind, LeafMember::Ts] {
            if !facts.has(member) {
                return reader.error("v, kind or ts is missing");
            }
        }
        Ok(facts)
    }

    /// Parses one value. For a verdict it returns the position of the result.
    fn value(
        &mut self,
        reader: &mut CanonicalReader<'_>,
        form: ValueForm,
    ) -> Result<LeafSpan, FormError> {
        let checked = |reader: &mut CanonicalReader<'_>, holds: fn(&[u8]) -> bool, what| {
            let text = reader.plain()?;
            if holds(text) { Ok(LeafSpan::before_reader(reader, text)) } else { reader.error(what) }
        };
        match form {
            ValueForm::Token => token(reader).map(|(span, _)| span),
            ValueForm::Uuid => match reader.fixed::<36>(is_uuid) {
                Some(text) => Ok(LeafSpan::before_reader(reader, text)),
                None => checked(reader, |_| false, "expected a UUID in lower case"),
            },
            ValueForm::Hex => match reader.fixed::<64>(is_hex) {
                Some(text) => Ok(LeafSpan::before_reader(reader, text)),
                None => checked(reader, |_| false, "expected 64 lower-case hexadecimal digits"),
            },
            ValueForm::Decimal => {
                checked(reader, |text| decimal(text).is_some(), "expected a decimal number as text")
            }
            ValueForm::Key => checked(reader, |text| !text.is_empty(), "expected a verifier key"),
            ValueForm::Time => {
                let text = reader.plain()?;
                let Some(micros) = time::micros(text) else {
                    return reader.error("expected a time in UTC with six digits of fraction");
                };
                // `claimed_ts` sorts before `ts`, so the last time that is parsed is the ledger's.
                self.ts = micros;
                Ok(LeafSpan::before_reader(reader, text))
            }
            ValueForm::Kind => {
                let text = reader.plain()?;
                let Some(kind) = EntryKind::parse(text) else {
                    return reader.error("the kind is unknown");
                };
                self.kind = kind;
                Ok(LeafSpan::before_reader(reader, text))
            }
            ValueForm::Choice(choices) => {
                let text = reader.plain()?;
                if choices.iter().any(|choice| choice.as_bytes() == text) {
                    Ok(LeafSpan::before_reader(reader, text))
                } else {
                    reader.error("the value is not one of those that are allowed")
                }
            }
            ValueForm::One => match reader.number()? {
                1 => Ok(LeafSpan::default()),
                _ => reader.error("the leaf's version is unknown"),
            },
            ValueForm::Number => reader.number().map(|_| LeafSpan::default()),
            ValueForm::Tokens => tokens(reader).map(|()| LeafSpan::default()),
            ValueForm::Flags => flags(reader).map(|()| LeafSpan::default()),
            ValueForm::Verdict => verdict(reader),
            ValueForm::Parts => {
                self.parts = commitments(reader)?;
                Ok(LeafSpan::default())
            }
        }
    }

    pub(crate) fn has(&self, member: LeafMember) -> bool {
        self.seen >> member as u32 & 1 == 1
    }

    /// Returns the text of a member if the leaf has it.
    pub(crate) fn text<'a>(&self, leaf: &'a [u8], member: LeafMember) -> Option<&'a [u8]> {
        self.has(member).then(|| self.values[member as usize].text(leaf))
    }

    pub(crate) fn number(&self, leaf: &[u8], member: LeafMember) -> Option<u64> {
        decimal(self.text(leaf, member)?)
    }

    pub(crate) fn hash(&self, leaf: &[u8], member: LeafMember) -> Option<MerkleHash> {
        MerkleHash::from_hex(self.text(leaf, member)?)
    }

    pub(crate) fn uuid(&self, leaf: &[u8], member: LeafMember) -> Option<[u8; 16]> {
        uuid(self.text(leaf, member)?)
    }

    /// Returns the members that the entry's kind does not allow.
    pub(crate) fn misplaced(&self) -> impl Iterator<Item = &'static str> {
        let mut strangers = self.seen & !ALLOWED[self.kind as usize];
        std::iter::from_fn(move || {
            let number = (strangers != 0).then(|| strangers.trailing_zeros() as usize)?;
            strangers &= strangers - 1;
            Some(MEMBERS[number].0)
        })
    }

    /// Returns the members that the entry's kind requires but the leaf does not have.
    pub(crate) fn lacking(&self, leaf: &[u8]) -> impl Iterator<Item = &'static str> {
        let needed: &[LeafMember] = match self.kind {
            EntryKind::Config => match self.text(leaf, LeafMember::Subject) {
                Some(b"manifest" | b"lock") => &[LeafMember::Sha256],
                Some(b"key") => &[LeafMember::Vkey],
                Some(_) => &[],
                None => &[LeafMember::Subject],
            },
            EntryKind::Erasure => {
                &[LeafMember::TargetIndex, LeafMember::TargetPart, LeafMember::Basis]
            }
            EntryKind::Prune => &[LeafMember::Below, LeafMember::Root],
            _ => &[],
        };
        needed.iter().filter(|member| !self.has(**member)).map(|member| member.name())
    }
}
