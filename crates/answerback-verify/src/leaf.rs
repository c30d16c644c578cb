//! Parses an entry of the log from its exact bytes.
//!
//! One pass over the leaf checks its form and records the position of each value. It copies no
//! value.

use crate::{
    checkpoint::decimal,
    hash::Hash,
    hex::{from_hex, is_hex},
    json::{CanonicalReader, FormError},
    names::{NameSet, Spelling},
    time,
};

/// The maximum length of a leaf in bytes.
pub(crate) const LONGEST: usize = 8_192;
const LONGEST_TOKEN: usize = 128;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Config,
    Request,
    Response,
    Rejected,
    Validation,
    Escalation,
    Decision,
    Erasure,
    Prune,
}

impl Kind {
    const ALL: [(&'static str, Self); 9] = [
        ("config", Self::Config),
        ("request", Self::Request),
        ("response", Self::Response),
        ("rejected", Self::Rejected),
        ("validation", Self::Validation),
        ("escalation", Self::Escalation),
        ("decision", Self::Decision),
        ("erasure", Self::Erasure),
        ("prune", Self::Prune),
    ];

    fn parse(text: &[u8]) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| name.as_bytes() == text).map(|(_, kind)| *kind)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

/// The form of a member's value.
#[derive(Clone, Copy)]
enum ValueForm {
    Token,
    Tokens,
    Uuid,
    Hex,
    Time,
    Decimal,
    Number,
    One,
    Kind,
    Key,
    Choice(&'static [&'static str]),
    Flags,
    Verdict,
    Parts,
}

macro_rules! members {
    ($($member:ident $name:literal $form:expr, $kinds:expr;)*) => {
        /// The members of leaves, sorted by name.
        #[expect(dead_code, reason = "the table lists every member, but only some are used")]
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub(crate) enum Member { $($member),* }

        /// The name, form and kinds of every member, sorted by name as in a leaf.
        const MEMBERS: &[(&str, ValueForm, u16)] = &[$(($name, $form, $kinds)),*];
    };
}

/// Builds the [`NameSet`] of a list of names.
macro_rules! names {
    ($($name:expr),*) => {{
        const SPELLINGS: &[Spelling] = &[$(Spelling::of($name.as_bytes())),*];
        NameSet::new(SPELLINGS)
    }};
}

static NAMES: NameSet = {
    const SPELLINGS: [Spelling; MEMBERS.len()] = {
        let mut spellings = [Spelling::of(b""); MEMBERS.len()];
        let mut at = 0;
        while at < MEMBERS.len() {
            spellings[at] = Spelling::of(MEMBERS[at].0.as_bytes());
            at += 1;
        }
        spellings
    };
    NameSet::new(&SPELLINGS)
};

/// The members that each kind allows, as a bit set per kind.
const ALLOWED: [u64; Kind::ALL.len()] = {
    let mut allowed = [0; Kind::ALL.len()];
    let mut kind = 0;
    while kind < allowed.len() {
        let mut member = 0;
        while member < MEMBERS.len() {
            if MEMBERS[member].2 >> kind & 1 == 1 {
                allowed[kind] |= 1 << member;
            }
            member += 1;
        }
        kind += 1;
    }
    allowed
};

/// Returns the bit of a kind in the table of members.
const fn of(kind: Kind) -> u16 {
    1 << kind as u16
}
const ANY: u16 = u16::MAX;
const ANSWERS: u16 = of(Kind::Response) | of(Kind::Rejected);
const IDENTITY: u16 = ANSWERS | of(Kind::Request);
const ATTEMPTS: u16 = of(Kind::Validation) | of(Kind::Escalation);
const DECISIONS: u16 = of(Kind::Decision) | of(Kind::Escalation);

members! {
    AgentId "agent_id" ValueForm::Token, IDENTITY;
    AgentType "agent_type" ValueForm::Token, IDENTITY;
    AgentVersion "agent_version" ValueForm::Token, IDENTITY;
    Attempt "attempt" ValueForm::Number, ATTEMPTS;
    Basis "basis" ValueForm::Choice(&["legal", "request", "retention", "secret"]), of(Kind::Erasure);
    Below "below" ValueForm::Decimal, of(Kind::Prune);
    CaseId "case_id" ValueForm::Uuid, ANY;
    Claimed "claimed" ValueForm::Flags, ANSWERS;
    ClaimedTs "claimed_ts" ValueForm::Time, ANY;
    Codes "codes" ValueForm::Tokens, ATTEMPTS | of(Kind::Rejected);
    Contract "contract" ValueForm::Token, ANY;
    CorrelationId "correlation_id" ValueForm::Uuid, ANY;
    Decision "decision" ValueForm::Token, DECISIONS;
    Digest "digest" ValueForm::Hex, DECISIONS;
    Kind "kind" ValueForm::Kind, ANY;
    LockSha256 "lock_sha256" ValueForm::Hex, ANSWERS;
    ManifestSha256 "manifest_sha256" ValueForm::Hex, ANSWERS;
    MaxAttempts "max_attempts" ValueForm::Number, ATTEMPTS;
    Outcome "outcome" ValueForm::Token, ANY;
    Parts "parts" ValueForm::Parts, ANY;
    Principal "principal" ValueForm::Token, ANY;
    PromptSha256 "prompt_sha256" ValueForm::Hex, ANSWERS;
    ReplyId "reply_id" ValueForm::Uuid, ANY;
    RequestId "request_id" ValueForm::Uuid, ANY;
    RequestIndex "request_index" ValueForm::Decimal, ANSWERS;
    ResponseId "response_id" ValueForm::Uuid, ANY;
    Revision "revision" ValueForm::Number, DECISIONS;
    Root "root" ValueForm::Hex, of(Kind::Prune);
    Sha256 "sha256" ValueForm::Hex, of(Kind::Config);
    Status "status" ValueForm::Token, ANY;
    Subject "subject" ValueForm::Choice(&["catalogue", "clock", "key", "lock", "manifest", "migrate", "policy", "start", "stop"]), of(Kind::Config);
    TargetIndex "target_index" ValueForm::Decimal, of(Kind::Erasure);
    TargetPart "target_part" ValueForm::Token, of(Kind::Erasure);
    Tool "tool" ValueForm::Token, ANY;
    ToolSha256 "tool_sha256" ValueForm::Hex, ANY;
    Ts "ts" ValueForm::Time, ANY;
    Upstream "upstream" ValueForm::Token, ANY;
    V "v" ValueForm::One, ANY;
    Verdict "verdict" ValueForm::Verdict, ANSWERS;
    Vkey "vkey" ValueForm::Key, of(Kind::Config);
}

impl Member {
    pub(crate) fn name(self) -> &'static str {
        MEMBERS[self as usize].0
    }
}

/// The position of a value in its leaf. A leaf is shorter than 2^16 bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct LeafSpan {
    start: u16,
    end: u16,
}

impl LeafSpan {
    /// Returns the position of the string that the parser has just read.
    fn behind(reader: &CanonicalReader<'_>, text: &[u8]) -> Self {
        // The length of a leaf is checked against `LONGEST` before any span is created.
        let place = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        let end = reader.at().saturating_sub(1);
        Self { start: place(end.saturating_sub(text.len())), end: place(end) }
    }

    pub(crate) fn text(self, leaf: &[u8]) -> &[u8] {
        leaf.get(usize::from(self.start)..usize::from(self.end)).unwrap_or_default()
    }
}

/// The commitment of a leaf to one part.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Commitment {
    pub(crate) name: LeafSpan,
    pub(crate) commit: Hash,
    pub(crate) length: u64,
}

/// The commitments of a leaf to its parts. Most leaves have one part, which needs no allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commitments {
    first: Option<Commitment>,
    more: Vec<Commitment>,
}

impl Commitments {
    fn push(&mut self, commitment: Commitment) {
        match &mut self.first {
            None => self.first = Some(commitment),
            Some(_) => self.more.push(commitment),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Commitment> {
        self.first.iter().chain(&self.more)
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }
}

/// A parsed leaf: its kind, its time, and the positions of its other values.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    pub(crate) ts: i64,
    pub(crate) parts: Commitments,
    /// The members that no kind allows.
    pub(crate) unknown: Vec<String>,
    values: [LeafSpan; MEMBERS.len()],
    seen: u64,
}

impl Facts {
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
            kind: Kind::Config,
            ts: 0,
            parts: Commitments::default(),
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
        for member in [Member::V, Member::Kind, Member::Ts] {
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
            if holds(text) { Ok(LeafSpan::behind(reader, text)) } else { reader.error(what) }
        };
        match form {
            ValueForm::Token => token(reader).map(|(span, _)| span),
            ValueForm::Uuid => match reader.fixed::<36>(is_uuid) {
                Some(text) => Ok(LeafSpan::behind(reader, text)),
                None => checked(reader, |_| false, "expected a UUID in lower case"),
            },
            ValueForm::Hex => match reader.fixed::<64>(is_hex) {
                Some(text) => Ok(LeafSpan::behind(reader, text)),
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
                Ok(LeafSpan::behind(reader, text))
            }
            ValueForm::Kind => {
                let text = reader.plain()?;
                let Some(kind) = Kind::parse(text) else {
                    return reader.error("the kind is unknown");
                };
                self.kind = kind;
                Ok(LeafSpan::behind(reader, text))
            }
            ValueForm::Choice(choices) => {
                let text = reader.plain()?;
                if choices.iter().any(|choice| choice.as_bytes() == text) {
                    Ok(LeafSpan::behind(reader, text))
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

    pub(crate) fn has(&self, member: Member) -> bool {
        self.seen >> member as u32 & 1 == 1
    }

    /// Returns the text of a member if the leaf has it.
    pub(crate) fn text<'a>(&self, leaf: &'a [u8], member: Member) -> Option<&'a [u8]> {
        self.has(member).then(|| self.values[member as usize].text(leaf))
    }

    pub(crate) fn number(&self, leaf: &[u8], member: Member) -> Option<u64> {
        decimal(self.text(leaf, member)?)
    }

    pub(crate) fn hash(&self, leaf: &[u8], member: Member) -> Option<Hash> {
        Hash::from_hex(self.text(leaf, member)?)
    }

    pub(crate) fn uuid(&self, leaf: &[u8], member: Member) -> Option<[u8; 16]> {
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
        let needed: &[Member] = match self.kind {
            Kind::Config => match self.text(leaf, Member::Subject) {
                Some(b"manifest" | b"lock") => &[Member::Sha256],
                Some(b"key") => &[Member::Vkey],
                Some(_) => &[],
                None => &[Member::Subject],
            },
            Kind::Erasure => &[Member::TargetIndex, Member::TargetPart, Member::Basis],
            Kind::Prune => &[Member::Below, Member::Root],
            _ => &[],
        };
        needed.iter().filter(|member| !self.has(**member)).map(|member| member.name())
    }
}

/// Parses a token and returns its position and text.
fn token<'a>(reader: &mut CanonicalReader<'a>) -> Result<(LeafSpan, &'a [u8]), FormError> {
    let Some(text) = reader.fit(&IN_TOKEN) else {
        // A malformed string is reported before a malformed token.
        reader.plain()?;
        return reader.error("expected a token");
    };
    if is_token_long(text) {
        Ok((LeafSpan::behind(reader, text), text))
    } else {
        reader.error("expected a token")
    }
}

fn tokens(reader: &mut CanonicalReader<'_>) -> Result<(), FormError> {
    let mut previous: Option<&[u8]> = None;
    reader.array(|reader| {
        let (_, token) = token(reader)?;
        if previous.is_some_and(|previous| previous >= token) {
            return reader.error("a list is not sorted, or has a code twice");
        }
        previous = Some(token);
        Ok(())
    })
}

fn flags(reader: &mut CanonicalReader<'_>) -> Result<(), FormError> {
    static FLAGS: NameSet = names![
        "boundaries_respected",
        "constraints_followed",
        "quality_standards_met",
        "within_scope"
    ];
    let mut expected = 0;
    reader.object(&FLAGS, |reader, name| {
        if name.known != Some(expected) {
            return reader.error("expected the four attestation flags");
        }
        expected += 1;
        reader.boolean().map(drop)
    })?;
    if expected < 4 { reader.error("an attestation flag is missing") } else { Ok(()) }
}

fn verdict(reader: &mut CanonicalReader<'_>) -> Result<LeafSpan, FormError> {
    static VERDICT: NameSet = names!["failed", "result"];
    let (mut failed, mut result) = (false, None);
    reader.object(&VERDICT, |reader, name| match name.known {
        Some(0) => {
            failed = true;
            tokens(reader)
        }
        Some(_) => {
            let text = reader.plain()?;
            if !matches!(text, b"accepted" | b"refused" | b"unverified") {
                return reader.error("the verdict's result is unknown");
            }
            result = Some(LeafSpan::behind(reader, text));
            Ok(())
        }
        None => reader.error("a verdict has only failed and result"),
    })?;
    match result {
        Some(result) if failed => Ok(result),
        _ => reader.error("a verdict has failed and result"),
    }
}

fn commitments(reader: &mut CanonicalReader<'_>) -> Result<Commitments, FormError> {
    static PART: NameSet = names!["alg", "commit", "len", "name"];
    let mut commitments = Commitments::default();
    let mut previous: Option<&[u8]> = None;
    reader.array(|reader| {
        let (mut algorithm, mut commit, mut length, mut named) = (false, None, None, None);
        reader.object(&PART, |reader, name| {
            match name.known {
                Some(0) => algorithm = reader.plain()? == b"hmac-sha256",
                Some(1) => {
                    commit = match reader.fixed::<64>(is_hex) {
                        Some(text) => Hash::from_hex(text),
                        // Any other value must at least be a string.
                        None => reader.plain().map(|_| None)?,
                    }
                }
                Some(2) => length = Some(reader.number()?),
                Some(_) => {
                    named = match reader.fit(&IN_TOKEN) {
                        Some(text) if is_token_long(text) => {
                            Some((LeafSpan::behind(reader, text), text))
                        }
                        Some(_) => None,
                        None => reader.plain().map(|_| None)?,
                    }
                }
                None => return reader.error("a part has only alg, commit, len and name"),
            }
            Ok(())
        })?;
        let (true, Some(commit), Some(length), Some((name, text))) =
            (algorithm, commit, length, named)
        else {
            return reader.error("a part has alg hmac-sha256, commit, len and name");
        };
        if previous.is_some_and(|previous| previous >= text) {
            return reader.error("parts are not sorted, or one comes twice");
        }
        previous = Some(text);
        commitments.push(Commitment { name, commit, length });
        Ok(())
    })?;
    if commitments.len() == 0 {
        reader.error("an empty list of parts is left out")
    } else {
        Ok(commitments)
    }
}

/// True for each byte that a token may contain.
const IN_TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric()
            || matches!(byte, b'.' | b'_' | b':' | b'@' | b'/' | b'+' | b'=' | b'-');
        byte += 1;
    }
    table
};

/// True if the length is valid for a token.
fn is_token_long(text: &[u8]) -> bool {
    (1..=LONGEST_TOKEN).contains(&text.len())
}

fn is_uuid(text: &[u8; 36]) -> bool {
    let Some(digits) = uuid_digits(text) else { return false };
    is_hex(&digits)
}

/// Returns the digits of a UUID without its four hyphens.
fn uuid_digits(text: &[u8; 36]) -> Option<[u8; 32]> {
    if [text[8], text[13], text[18], text[23]] != *b"----" {
        return None;
    }
    let mut digits = [0; 32];
    digits[..8].copy_from_slice(&text[..8]);
    digits[8..12].copy_from_slice(&text[9..13]);
    digits[12..16].copy_from_slice(&text[14..18]);
    digits[16..20].copy_from_slice(&text[19..23]);
    digits[20..].copy_from_slice(&text[24..]);
    Some(digits)
}

/// Parses a UUID in lower case with its four hyphens.
pub(crate) fn uuid(text: &[u8]) -> Option<[u8; 16]> {
    from_hex(&uuid_digits(text.try_into().ok()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &str = r#"{"kind":"request","request_id":"550e8400-e29b-41d4-a716-446655440000","tool":"weather.now","ts":"2026-11-15T18:24:44.727091Z","v":1}"#;

    #[test]
    fn the_table_of_members_is_sorted() {
        assert!(MEMBERS.is_sorted_by(|left, right| left.0 < right.0));
        assert_eq!(Member::Vkey.name(), "vkey");
        assert_eq!(Member::AgentId.name(), "agent_id");
        for (place, (name, kind)) in Kind::ALL.iter().enumerate() {
            assert_eq!((place, kind.name()), (*kind as usize, *name));
        }
    }

    #[test]
    fn reads_where_values_stand() {
        let facts = Facts::read(REQUEST.as_bytes()).unwrap();
        assert_eq!(facts.kind, Kind::Request);
        assert_eq!(facts.ts, 1_794_767_084_727_091);
        assert_eq!(facts.text(REQUEST.as_bytes(), Member::Tool), Some(b"weather.now".as_slice()));
        assert_eq!(facts.text(REQUEST.as_bytes(), Member::AgentId), None);
        assert_eq!(facts.uuid(REQUEST.as_bytes(), Member::RequestId).unwrap()[..2], [0x55, 0x0e]);
        assert_eq!(facts.misplaced().count() + facts.lacking(REQUEST.as_bytes()).count(), 0);
    }

    #[test]
    fn names_what_is_wrong_with_a_leaf() {
        let spoiled = |from: &str, to: &str| {
            assert!(REQUEST.contains(from), "{from}");
            Facts::read(REQUEST.replacen(from, to, 1).as_bytes()).map(|_| ()).unwrap_err().what
        };
        for (from, to, expected) in [
            ("\"v\":1", "\"v\":2", "the leaf's version is unknown"),
            (",\"v\":1", "", "v, kind or ts is missing"),
            ("\"kind\":\"request\",", "", "v, kind or ts is missing"),
            ("request\"", "question\"", "the kind is unknown"),
            ("weather.now", "weather now", "expected a token"),
            ("weather.now", "weather\\u0020now", "an escape is not canonical"),
            ("weather.now", "weather\\nnow", "a value has escapes"),
            ("550e", "550E", "expected a UUID in lower case"),
            ("727091", "72709", "expected a time in UTC with six digits of fraction"),
            ("{\"kind", "{ \"kind", "expected a string"),
            ("\"v\":1", "\"v\":1,\"v\":1", "members are not sorted, or one comes twice"),
            ("\"ts\"", "\"status\":\"ok\",\"ts\"", "members are not sorted, or one comes twice"),
            ("\"v\":1", "\"v\":1.0", "expected a whole number"),
            ("\"tool\"", "\"parts\":[],\"tool\"", "members are not sorted, or one comes twice"),
            ("\"request_id\"", "\"parts\":[],\"request_id\"", "an empty list of parts is left out"),
            ("}", "}\n", "more follows the value"),
        ] {
            assert_eq!(spoiled(from, to), expected, "{from} -> {to}");
        }
        assert!(Facts::read(&vec![b' '; LONGEST + 1]).is_err());
        assert!(Facts::read(b"{\"kind\":\"\xff\"}").is_err());
    }

    /// Checks that the fast path for expected names accepts and rejects the same input as the slow
    /// path.
    #[test]
    fn expected_names_are_read_as_any_others() {
        let leaf = r#"{"agent_id":"a","agent_type":"domain","claimed":{"within_scope":true},"claimed_ts":"2026-11-15T18:24:44.727091Z","comment":[1],"kind":"request","ts":"2026-11-15T18:24:44.727091Z","v":1}"#;
        let read = |text: &[u8], names: &NameSet| {
            let mut members = Vec::new();
            let mut reader =
                CanonicalReader::new(text).map_err(|at| FormError { at, what: "UTF-8" })?;
            let read = reader.object(names, |reader, name| {
                members.push(name.text.to_vec());
                let place = MEMBERS.iter().position(|member| member.0.as_bytes() == name.text);
                let known = std::ptr::eq(names, &raw const NAMES).then_some(place).flatten();
                assert_eq!(name.known, known, "{}", name.text.escape_ascii());
                reader.skip()
            });
            read.map(|()| members)
        };
        let check = |text: &[u8]| {
            let read = (read(text, &NAMES), read(text, &NameSet::NONE));
            assert_eq!(read.0, read.1, "{}", text.escape_ascii());
        };
        check(leaf.as_bytes());
        for at in 0..leaf.len() {
            for byte in [b'"', b'\\', b'a', b't', b'v', b'z', b',', b':', b'}', 0, 0x1f, 0xc3] {
                let mut text = leaf.as_bytes().to_vec();
                text[at] = byte;
                check(&text);
                text.insert(at, leaf.as_bytes()[at]);
                check(&text);
            }
            let mut text = leaf.as_bytes().to_vec();
            text.remove(at);
            check(&text);
            check(&leaf.as_bytes()[..at]);
        }
        let members: Vec<&str> = leaf[1..leaf.len() - 1].split(',').collect();
        for first in 0..members.len() {
            for second in 0..members.len() {
                let mut members = members.clone();
                members.swap(first, second);
                check(format!("{{{}}}", members.join(",")).as_bytes());
                members[first] = members[second];
                check(format!("{{{}}}", members.join(",")).as_bytes());
            }
        }
    }

    #[test]
    fn members_belong_to_kinds() {
        let response =
            r#"{"below":"1","kind":"response","ts":"2026-11-15T18:24:44.727091Z","v":1}"#;
        let facts = Facts::read(response.as_bytes()).unwrap();
        assert_eq!(facts.misplaced().collect::<Vec<_>>(), ["below"]);
        let prune = r#"{"below":"1","kind":"prune","ts":"2026-11-15T18:24:44.727091Z","v":1}"#;
        let facts = Facts::read(prune.as_bytes()).unwrap();
        assert_eq!(facts.lacking(prune.as_bytes()).collect::<Vec<_>>(), ["root"]);
        let stranger = REQUEST.replacen('{', "{\"comment\":[\"free text\"],", 1);
        assert_eq!(Facts::read(stranger.as_bytes()).unwrap().unknown, ["comment"]);
    }

    #[test]
    fn composite_values_are_exact() {
        let read = |member: &str| {
            let leaf = format!(
                r#"{{{member},"kind":"response","ts":"2026-11-15T18:24:44.727091Z","v":1}}"#
            );
            Facts::read(leaf.as_bytes()).map(|_| ()).map_err(|error| error.what)
        };
        let flags = r#""boundaries_respected":true,"constraints_followed":true,"quality_standards_met":false,"within_scope":true"#;
        assert_eq!(read(&format!(r#""claimed":{{{flags}}}"#)), Ok(()));
        assert_eq!(
            read(r#""claimed":{"within_scope":true}"#),
            Err("expected the four attestation flags")
        );
        assert_eq!(read(r#""codes":["A","B"]"#), Ok(()));
        assert_eq!(read(r#""codes":["B","A"]"#), Err("a list is not sorted, or has a code twice"));
        let verdict = |text: &str| {
            let leaf = format!(
                r#"{{"kind":"response","ts":"2026-11-15T18:24:44.727091Z","v":1,"verdict":{text}}}"#
            );
            Facts::read(leaf.as_bytes())
                .map(|facts| facts.text(leaf.as_bytes(), Member::Verdict).map(<[u8]>::to_vec))
                .map_err(|error| error.what)
        };
        assert_eq!(verdict(r#"{"failed":[],"result":"accepted"}"#), Ok(Some(b"accepted".to_vec())));
        assert_eq!(verdict(r#"{"result":"accepted"}"#), Err("a verdict has failed and result"));
        assert_eq!(
            verdict(r#"{"failed":[],"result":"good"}"#),
            Err("the verdict's result is unknown")
        );
        assert_eq!(
            verdict(r#"{"failed":["B","B"],"result":"refused"}"#),
            Err("a list is not sorted, or has a code twice")
        );
    }
}
