//! An entry of the log, read from its exact bytes.
//!
//! One pass over the leaf judges its form and notes where each member's value stands; nothing is copied.

use crate::{
    checkpoint::decimal,
    hash::Hash,
    hex::{from_hex, is_hex},
    json::{FormError, Reader, prefix},
    time,
};

/// The longest leaf.
pub(crate) const LONGEST: usize = 8_192;
const LONGEST_TOKEN: usize = 128;

/// What an entry records.
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

/// How a member's value is spelled.
#[derive(Clone, Copy)]
enum Form {
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
        /// The members of leaves, in the order of their names.
        #[expect(dead_code, reason = "the table names every member; only some are asked for")]
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub(crate) enum Member { $($member),* }

        /// Name, form and kinds of every member, in the order of names, which is the order in a leaf.
        const MEMBERS: &[(&str, Form, u16)] = &[$(($name, $form, $kinds)),*];
    };
}

const PREFIXES: [u64; MEMBERS.len()] = {
    let mut prefixes = [0; MEMBERS.len()];
    let mut at = 0;
    while at < MEMBERS.len() {
        prefixes[at] = prefix(MEMBERS[at].0.as_bytes());
        at += 1;
    }
    prefixes
};

/// The bit of a kind in the table of members.
const fn of(kind: Kind) -> u16 {
    1 << kind as u16
}
const ANY: u16 = u16::MAX;
const ANSWERS: u16 = of(Kind::Response) | of(Kind::Rejected);
const IDENTITY: u16 = ANSWERS | of(Kind::Request);
const ATTEMPTS: u16 = of(Kind::Validation) | of(Kind::Escalation);
const DECISIONS: u16 = of(Kind::Decision) | of(Kind::Escalation);

members! {
    AgentId "agent_id" Form::Token, IDENTITY;
    AgentType "agent_type" Form::Token, IDENTITY;
    AgentVersion "agent_version" Form::Token, IDENTITY;
    Attempt "attempt" Form::Number, ATTEMPTS;
    Basis "basis" Form::Choice(&["legal", "request", "retention", "secret"]), of(Kind::Erasure);
    Below "below" Form::Decimal, of(Kind::Prune);
    CaseId "case_id" Form::Uuid, ANY;
    Claimed "claimed" Form::Flags, ANSWERS;
    ClaimedTs "claimed_ts" Form::Time, ANY;
    Codes "codes" Form::Tokens, ATTEMPTS | of(Kind::Rejected);
    Contract "contract" Form::Token, ANY;
    CorrelationId "correlation_id" Form::Uuid, ANY;
    Decision "decision" Form::Token, DECISIONS;
    Digest "digest" Form::Hex, DECISIONS;
    Kind "kind" Form::Kind, ANY;
    LockSha256 "lock_sha256" Form::Hex, ANSWERS;
    ManifestSha256 "manifest_sha256" Form::Hex, ANSWERS;
    MaxAttempts "max_attempts" Form::Number, ATTEMPTS;
    Outcome "outcome" Form::Token, ANY;
    Parts "parts" Form::Parts, ANY;
    Principal "principal" Form::Token, ANY;
    PromptSha256 "prompt_sha256" Form::Hex, ANSWERS;
    ReplyId "reply_id" Form::Uuid, ANY;
    RequestId "request_id" Form::Uuid, ANY;
    RequestIndex "request_index" Form::Decimal, ANSWERS;
    ResponseId "response_id" Form::Uuid, ANY;
    Revision "revision" Form::Number, DECISIONS;
    Root "root" Form::Hex, of(Kind::Prune);
    Sha256 "sha256" Form::Hex, of(Kind::Config);
    Status "status" Form::Token, ANY;
    Subject "subject" Form::Choice(&["catalogue", "clock", "key", "lock", "manifest", "migrate", "policy", "start", "stop"]), of(Kind::Config);
    TargetIndex "target_index" Form::Decimal, of(Kind::Erasure);
    TargetPart "target_part" Form::Token, of(Kind::Erasure);
    Tool "tool" Form::Token, ANY;
    ToolSha256 "tool_sha256" Form::Hex, ANY;
    Ts "ts" Form::Time, ANY;
    Upstream "upstream" Form::Token, ANY;
    V "v" Form::One, ANY;
    Verdict "verdict" Form::Verdict, ANSWERS;
    Vkey "vkey" Form::Key, of(Kind::Config);
}

impl Member {
    pub(crate) fn name(self) -> &'static str {
        MEMBERS[self as usize].0
    }
}

/// Where a value stands in its leaf. A leaf is shorter than 2^16.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Span {
    start: u16,
    end: u16,
}

impl Span {
    /// Where the string stands that a reader has just passed.
    fn behind(reader: &Reader<'_>, text: &[u8]) -> Self {
        // Leaves are at most `LONGEST` bytes, which is checked before any span is made.
        let place = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        let end = reader.at().saturating_sub(1);
        Self { start: place(end.saturating_sub(text.len())), end: place(end) }
    }

    pub(crate) fn text(self, leaf: &[u8]) -> &[u8] {
        leaf.get(usize::from(self.start)..usize::from(self.end)).unwrap_or_default()
    }
}

/// What a leaf says of one part.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Commitment {
    pub(crate) name: Span,
    pub(crate) commit: Hash,
    pub(crate) length: u64,
}

/// A leaf that was read: its kind, its time, and where its other values stand.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    pub(crate) ts: i64,
    pub(crate) parts: Vec<Commitment>,
    /// Members that no kind has.
    pub(crate) unknown: Vec<String>,
    values: [Span; MEMBERS.len()],
    seen: u64,
}

impl Facts {
    /// Reads a leaf.
    ///
    /// # Errors
    ///
    /// When it is not in canonical form, or a value is not of its member's form.
    pub(crate) fn read(leaf: &[u8]) -> Result<Self, FormError> {
        if leaf.len() > LONGEST {
            return Err(FormError { at: LONGEST, what: "the leaf is longer than 8,192 bytes" });
        }
        let text = std::str::from_utf8(leaf).map_err(|error| FormError {
            at: error.valid_up_to(),
            what: "the leaf is not UTF-8",
        })?;
        let mut facts = Self {
            kind: Kind::Config,
            ts: 0,
            parts: Vec::new(),
            unknown: Vec::new(),
            values: [Span::default(); MEMBERS.len()],
            seen: 0,
        };
        let mut reader = Reader::new(text);
        // Both the leaf and the table are sorted: one walk finds every member.
        let mut number = 0;
        reader.object(|reader, name| {
            while number < MEMBERS.len()
                && (PREFIXES[number] < name.prefix
                    || PREFIXES[number] == name.prefix && MEMBERS[number].0.as_bytes() < name.text)
            {
                number += 1;
            }
            match MEMBERS.get(number) {
                Some((known, form, _)) if known.as_bytes() == name.text => {
                    facts.seen |= 1 << number;
                    facts.values[number] = facts.value(reader, *form)?;
                    Ok(())
                }
                _ => {
                    facts.unknown.push(name.text.escape_ascii().to_string());
                    reader.skip()
                }
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

    /// Reads one value. For a verdict the span is that of its result.
    fn value(&mut self, reader: &mut Reader<'_>, form: Form) -> Result<Span, FormError> {
        let checked = |reader: &mut Reader<'_>, holds: fn(&[u8]) -> bool, what| {
            let text = reader.plain()?;
            if holds(text) { Ok(Span::behind(reader, text)) } else { reader.error(what) }
        };
        match form {
            Form::Token => checked(reader, is_token, "expected a token"),
            Form::Uuid => match reader.fixed::<36>(is_uuid) {
                Some(text) => Ok(Span::behind(reader, text)),
                None => checked(reader, |_| false, "expected a UUID in lower case"),
            },
            Form::Hex => match reader.fixed::<64>(is_hex) {
                Some(text) => Ok(Span::behind(reader, text)),
                None => checked(reader, |_| false, "expected 64 lower-case hexadecimal digits"),
            },
            Form::Decimal => {
                checked(reader, |text| decimal(text).is_some(), "expected a decimal number as text")
            }
            Form::Key => checked(reader, |text| !text.is_empty(), "expected a verifier key"),
            Form::Time => {
                let text = reader.plain()?;
                let Some(micros) = time::micros(text) else {
                    return reader.error("expected a time in UTC with six digits of fraction");
                };
                // `claimed_ts` comes before `ts`, so the last one read is the ledger's.
                self.ts = micros;
                Ok(Span::behind(reader, text))
            }
            Form::Kind => {
                let text = reader.plain()?;
                let Some(kind) = Kind::parse(text) else {
                    return reader.error("the kind is unknown");
                };
                self.kind = kind;
                Ok(Span::behind(reader, text))
            }
            Form::Choice(choices) => {
                let text = reader.plain()?;
                if choices.iter().any(|choice| choice.as_bytes() == text) {
                    Ok(Span::behind(reader, text))
                } else {
                    reader.error("the value is not one of those that are allowed")
                }
            }
            Form::One => match reader.number()? {
                1 => Ok(Span::default()),
                _ => reader.error("the leaf's version is unknown"),
            },
            Form::Number => reader.number().map(|_| Span::default()),
            Form::Tokens => tokens(reader).map(|()| Span::default()),
            Form::Flags => flags(reader).map(|()| Span::default()),
            Form::Verdict => verdict(reader),
            Form::Parts => {
                self.parts = commitments(reader)?;
                Ok(Span::default())
            }
        }
    }

    pub(crate) fn has(&self, member: Member) -> bool {
        self.seen >> member as u32 & 1 == 1
    }

    /// The text of a member that is there.
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

    /// The members that an entry of this kind does not have.
    pub(crate) fn misplaced(&self) -> impl Iterator<Item = &'static str> {
        let (seen, kind) = (self.seen, of(self.kind));
        let strangers =
            move |number: usize| seen >> number & 1 == 1 && MEMBERS[number].2 & kind == 0;
        (0..MEMBERS.len()).filter(move |number| strangers(*number)).map(|number| MEMBERS[number].0)
    }

    /// The members that an entry of this kind must have and this one has not.
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

fn tokens(reader: &mut Reader<'_>) -> Result<(), FormError> {
    let mut previous: Option<&[u8]> = None;
    reader.array(|reader| {
        let token = reader.plain()?;
        if !is_token(token) {
            return reader.error("expected a token");
        }
        if previous.is_some_and(|previous| previous >= token) {
            return reader.error("a list is not sorted, or has a code twice");
        }
        previous = Some(token);
        Ok(())
    })
}

fn flags(reader: &mut Reader<'_>) -> Result<(), FormError> {
    let flags: [&[u8]; 4] = [
        b"boundaries_respected",
        b"constraints_followed",
        b"quality_standards_met",
        b"within_scope",
    ];
    let mut expected = flags.iter();
    reader.object(|reader, name| match expected.next() {
        Some(flag) if *flag == name.text => reader.boolean().map(drop),
        _ => reader.error("expected the four attestation flags"),
    })?;
    if expected.next().is_some() { reader.error("an attestation flag is missing") } else { Ok(()) }
}

fn verdict(reader: &mut Reader<'_>) -> Result<Span, FormError> {
    let (mut failed, mut result) = (false, None);
    reader.object(|reader, name| match name.text {
        b"failed" => {
            failed = true;
            tokens(reader)
        }
        b"result" => {
            let text = reader.plain()?;
            if !matches!(text, b"accepted" | b"refused" | b"unverified") {
                return reader.error("the verdict's result is unknown");
            }
            result = Some(Span::behind(reader, text));
            Ok(())
        }
        _ => reader.error("a verdict has only failed and result"),
    })?;
    match result {
        Some(result) if failed => Ok(result),
        _ => reader.error("a verdict has failed and result"),
    }
}

fn commitments(reader: &mut Reader<'_>) -> Result<Vec<Commitment>, FormError> {
    let mut commitments: Vec<Commitment> = Vec::new();
    let mut previous: Option<&[u8]> = None;
    reader.array(|reader| {
        let (mut algorithm, mut commit, mut length, mut named) = (false, None, None, None);
        reader.object(|reader, name| {
            match name.text {
                b"alg" => algorithm = reader.plain()? == b"hmac-sha256",
                b"commit" => commit = Hash::from_hex(reader.plain()?),
                b"len" => length = Some(reader.number()?),
                b"name" => {
                    let text = reader.plain()?;
                    named = is_token(text).then(|| (Span::behind(reader, text), text));
                }
                _ => return reader.error("a part has only alg, commit, len and name"),
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
    if commitments.is_empty() {
        reader.error("an empty list of parts is left out")
    } else {
        Ok(commitments)
    }
}

/// Whether a byte may stand in a token.
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

/// Looks at every byte before it judges, so that it need not branch on each.
fn is_token(text: &[u8]) -> bool {
    (1..=LONGEST_TOKEN).contains(&text.len())
        && text.iter().fold(true, |fits, byte| fits & IN_TOKEN[usize::from(*byte)])
}

fn is_uuid(text: &[u8; 36]) -> bool {
    let Some(digits) = uuid_digits(text) else { return false };
    is_hex(&digits)
}

/// The digits of a UUID without its four hyphens.
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

/// Reads a UUID in lower case with its four hyphens.
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
