use answerback::{Digest, Timestamp};
use serde_json::{Map, Value, json};

use super::member::{self, LARGEST_NUMBER, time_of};
use super::sealed::LARGEST_LEAF;
use super::{Id, Kind, Leaf, LeafError, Token};
use crate::{Hash, Part, VerifierKey};

/// What a config entry is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the format defines exactly these")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Subject {
    Start,
    Stop,
    Catalogue,
    Policy,
    Manifest,
    Lock,
    Key,
    Clock,
    Migrate,
}

impl Subject {
    /// The word that stands in a leaf.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Catalogue => "catalogue",
            Self::Policy => "policy",
            Self::Manifest => "manifest",
            Self::Lock => "lock",
            Self::Key => "key",
            Self::Clock => "clock",
            Self::Migrate => "migrate",
        }
    }
}

/// Why a part is erased.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the format defines exactly these")]
pub enum Basis {
    /// Somebody whose data it is asked for it.
    Request,
    /// It was kept long enough.
    Retention,
    /// A law or a court demands it.
    Legal,
    /// It holds a secret that should not have come in.
    Secret,
}

impl Basis {
    /// The word that stands in a leaf.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Retention => "retention",
            Self::Legal => "legal",
            Self::Secret => "secret",
        }
    }
}

/// What the verification of a governed response came to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the format defines exactly these")]
pub enum Outcome {
    /// All rules hold.
    Accepted,
    /// A rule that fails closed does not.
    Refused,
    /// There was nothing to verify it against.
    Unverified,
}

/// The four flags that an agent claims for its response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the contract defines exactly these")]
#[expect(missing_docs, clippy::struct_excessive_bools, reason = "the contract's own names")]
pub struct Attestation {
    pub within_scope: bool,
    pub boundaries_respected: bool,
    pub quality_standards_met: bool,
    pub constraints_followed: bool,
}

/// An entry before the ledger took it: everything but the time.
///
/// A draft can be sealed any number of times, so that a unit of work can run again.
///
/// ```
/// use answerback_ledger::{Draft, Id, Token};
///
/// let request = Id::parse("550e8400-e29b-41d4-a716-446655440000")?;
/// let draft = Draft::request().with_request_id(request).with_tool("read_file");
/// let leaf = draft.seal(1_794_767_084_727_091, None)?;
/// assert_eq!(
///     std::str::from_utf8(leaf.bytes())?,
///     concat!(
///         r#"{"kind":"request","request_id":"550e8400-e29b-41d4-a716-446655440000","#,
///         r#""tool":"read_file","ts":"2026-11-15T18:24:44.727091Z","v":1}"#,
///     )
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Draft {
    kind: Kind,
    members: Map<String, Value>,
    parts: Vec<Part>,
    request_id: Option<Id>,
    response_id: Option<Id>,
    reply_id: Option<Id>,
}

/// One constructor a kind.
impl Draft {
    /// Something that is in force from here on.
    pub fn config(subject: Subject) -> Self {
        Self::new(Kind::Config).with("subject", subject.as_str())
    }

    /// A call, before it is forwarded.
    pub fn request() -> Self {
        Self::new(Kind::Request)
    }

    /// The answer to a call. The ledger finds the request by its id.
    pub fn response() -> Self {
        Self::new(Kind::Response)
    }

    /// An answer that was refused.
    pub fn rejected() -> Self {
        Self::new(Kind::Rejected)
    }

    /// A call that did not pass its check.
    pub fn validation(attempt: u8, max_attempts: u8) -> Self {
        Self::new(Kind::Validation).with("attempt", attempt).with("max_attempts", max_attempts)
    }

    /// A case that waits for a person, who is shown what has this digest.
    pub fn escalation(case: Id, digest: Digest, revision: u64) -> Self {
        Self::new(Kind::Escalation).about(case, digest, revision)
    }

    /// A retry state that this case blocked was unblocked without a decision.
    pub fn release(case: Id) -> Self {
        Self::new(Kind::Escalation).with("case_id", case.to_string())
    }

    /// What a person decided about what has this digest.
    pub fn decision(case: Id, decision: Token, digest: Digest, revision: u64) -> Self {
        Self::new(Kind::Decision).about(case, digest, revision).with("decision", decision.as_str())
    }

    /// A part of another entry was erased.
    pub fn erasure(index: u64, part: &Token, basis: Basis) -> Self {
        Self::new(Kind::Erasure)
            .with("target_index", index.to_string())
            .with("target_part", part.as_str())
            .with("basis", basis.as_str())
    }

    /// Everything below this index may be missing; the tree of that size had this root.
    pub fn prune(below: u64, root: &Hash) -> Self {
        Self::new(Kind::Prune).with("below", below.to_string()).with("root", root.to_string())
    }

    fn new(kind: Kind) -> Self {
        let members = Map::new();
        let (request_id, response_id, reply_id) = (None, None, None);
        Self { kind, members, parts: Vec::new(), request_id, response_id, reply_id }
    }

    fn about(self, case: Id, digest: Digest, revision: u64) -> Self {
        // A revision beyond what a number of a leaf can be is one that nobody reaches.
        self.with("case_id", case.to_string())
            .with("digest", digest.to_string())
            .with("revision", revision.min(LARGEST_NUMBER - 1))
    }
}

/// One setter a member. A member that the kind does not list is refused when the draft is sealed.
impl Draft {
    /// The document's own time; a claim.
    pub fn with_claimed_time(self, time: Timestamp) -> Self {
        let micros = time.nanos_since(Timestamp::from_unix_micros(0)) / 1000;
        self.with("claimed_ts", time_of(i64::try_from(micros).unwrap_or(0)))
    }

    /// Adds a part. Of two with one name the later counts.
    pub fn with_part(mut self, part: Part) -> Self {
        match self.parts.binary_search_by(|held| held.name().cmp(part.name())) {
            Ok(at) => self.parts[at] = part,
            Err(at) => self.parts.insert(at, part),
        }
        self
    }

    /// Which reply it belongs to.
    pub fn with_reply_id(mut self, id: Id) -> Self {
        self.reply_id = Some(id);
        self.with("reply_id", id.to_string())
    }

    /// Which chain of calls it belongs to.
    pub fn with_correlation_id(self, id: Id) -> Self {
        self.with("correlation_id", id.to_string())
    }

    /// The request it is or answers.
    pub fn with_request_id(mut self, id: Id) -> Self {
        self.request_id = Some(id);
        self.with("request_id", id.to_string())
    }

    /// The response it is. A second entry of the same kind with this id is not appended.
    pub fn with_response_id(mut self, id: Id) -> Self {
        self.response_id = Some(id);
        self.with("response_id", id.to_string())
    }

    /// Which case it belongs to.
    pub fn with_case_id(self, id: Id) -> Self {
        self.with("case_id", id.to_string())
    }

    /// The agent that answers, as the manifest knows it.
    pub fn with_agent(self, id: &Token, kind: &Token, version: &Token) -> Self {
        self.with("agent_id", id.as_str())
            .with("agent_type", kind.as_str())
            .with("agent_version", version.as_str())
    }

    /// The prompt under which the agent answered.
    pub fn with_prompt(self, prompt: Digest) -> Self {
        self.with("prompt_sha256", prompt.to_string())
    }

    /// The manifest and the lock that were in force.
    pub fn with_governance(self, manifest: Digest, lock: Digest) -> Self {
        self.with("manifest_sha256", manifest.to_string()).with("lock_sha256", lock.to_string())
    }

    /// What the agent claims.
    pub fn with_claimed(self, claimed: Attestation) -> Self {
        self.with(
            "claimed",
            json!({
                "boundaries_respected": claimed.boundaries_respected,
                "constraints_followed": claimed.constraints_followed,
                "quality_standards_met": claimed.quality_standards_met,
                "within_scope": claimed.within_scope,
            }),
        )
    }

    /// What was found, with the codes of the rules that do not hold.
    pub fn with_verdict(self, outcome: Outcome, failed: impl IntoIterator<Item = Token>) -> Self {
        let result = match outcome {
            Outcome::Accepted => "accepted",
            Outcome::Refused => "refused",
            Outcome::Unverified => "unverified",
        };
        self.with("verdict", json!({"failed": sorted(failed), "result": result}))
    }

    /// The reply's status in its contract's own word.
    pub fn with_status(self, status: &Token) -> Self {
        self.with("status", status.as_str())
    }

    /// What became of it.
    pub fn with_outcome(self, outcome: &Token) -> Self {
        self.with("outcome", outcome.as_str())
    }

    /// The contract of the document.
    pub fn with_contract(self, contract: &Token) -> Self {
        self.with("contract", contract.as_str())
    }

    /// The server behind the gateway.
    pub fn with_upstream(self, upstream: &Token) -> Self {
        self.with("upstream", upstream.as_str())
    }

    /// On whose behalf.
    pub fn with_principal(self, principal: &Token) -> Self {
        self.with("principal", principal.as_str())
    }

    /// A tool that the catalogue knows. A name that is not a token is kept as its digest.
    pub fn with_tool(self, name: &str) -> Self {
        if Token::is_valid(name) { self.with("tool", name) } else { self.with_unknown_tool(name) }
    }

    /// A tool that the catalogue does not know: a name of the model's own is kept as its digest only.
    pub fn with_unknown_tool(self, name: &str) -> Self {
        self.with("tool_sha256", Digest::of_bytes(name.as_bytes()).to_string())
    }

    /// The codes of what was found.
    pub fn with_codes(self, codes: impl IntoIterator<Item = Token>) -> Self {
        self.with("codes", sorted(codes))
    }

    /// Which attempt it was, and of how many.
    pub fn with_attempt(self, attempt: u8, max_attempts: u8) -> Self {
        self.with("attempt", attempt).with("max_attempts", max_attempts)
    }

    /// The digest of the content in force.
    pub fn with_sha256(self, digest: Digest) -> Self {
        self.with("sha256", digest.to_string())
    }

    /// The key that signs from here on.
    pub fn with_verifier_key(self, key: &VerifierKey) -> Self {
        self.with("vkey", key.to_string())
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }
}

impl Draft {
    /// Its kind.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Its parts, sorted by name.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The request it is or answers.
    pub const fn request_id(&self) -> Option<Id> {
        self.request_id
    }

    /// The response it is.
    pub const fn response_id(&self) -> Option<Id> {
        self.response_id
    }

    /// The reply it belongs to.
    pub const fn reply_id(&self) -> Option<Id> {
        self.reply_id
    }

    /// Roughly how much room it takes in a batch, in bytes.
    pub fn weight(&self) -> usize {
        self.parts.iter().map(|part| part.bytes().len()).sum::<usize>() + 1024
    }

    /// The leaf of this entry at this time (microseconds since 1970), which answers the request with
    /// this index.
    ///
    /// # Errors
    ///
    /// When a member does not belong to the kind, or the leaf is too long.
    pub fn seal(&self, micros: i64, request_index: Option<u64>) -> Result<Leaf, LeafError> {
        let mut members = self.members.clone();
        members.insert("v".to_owned(), 1.into());
        members.insert("kind".to_owned(), self.kind.as_str().into());
        members.insert("ts".to_owned(), time_of(micros).into());
        if let Some(index) = request_index {
            members.insert("request_index".to_owned(), index.to_string().into());
        }
        if !self.parts.is_empty() {
            let lines = self.parts.iter().map(|part| {
                json!({
                    "alg": "hmac-sha256",
                    "commit": part.commitment().to_string(),
                    "len": part.bytes().len(),
                    "name": part.name().as_str(),
                })
            });
            members.insert("parts".to_owned(), lines.collect());
        }
        member::check(&members)?;
        let value = Value::Object(members);
        let bytes = answerback::json::canonical(&value).into_bytes();
        if bytes.len() > LARGEST_LEAF {
            return Err(LeafError::TooLong(bytes.len()));
        }
        let Value::Object(members) = value else { return Err(LeafError::NotAnObject) };
        Ok(Leaf::sealed(bytes, self.kind, micros, members))
    }
}

fn sorted(codes: impl IntoIterator<Item = Token>) -> Value {
    let codes: std::collections::BTreeSet<Token> = codes.into_iter().collect();
    codes.iter().map(Token::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Salt;

    fn token(text: &str) -> Token {
        Token::new(text).unwrap()
    }

    #[test]
    fn a_response_in_full() {
        let id = Id::from([0x66; 16]);
        let draft = Draft::response()
            .with_response_id(id)
            .with_request_id(id)
            .with_agent(&token("domain-02"), &token("domain"), &token("1.0.0"))
            .with_prompt(Digest::of_bytes(b"prompt"))
            .with_claimed(Attestation {
                within_scope: true,
                boundaries_respected: true,
                quality_standards_met: false,
                constraints_followed: true,
            })
            .with_verdict(Outcome::Refused, [token("GOV-2"), token("GOV-1"), token("GOV-2")])
            .with_claimed_time(Timestamp::from_unix_millis(1000))
            .with_part(Part::new(token("b"), Salt::new([1; 32]), *b"2"))
            .with_part(Part::new(token("a"), Salt::new([1; 32]), *b"1"));
        let leaf = draft.seal(0, Some(7)).unwrap();
        insta::assert_snapshot!(std::str::from_utf8(leaf.bytes()).unwrap(), @r#"{"agent_id":"domain-02","agent_type":"domain","agent_version":"1.0.0","claimed":{"boundaries_respected":true,"constraints_followed":true,"quality_standards_met":false,"within_scope":true},"claimed_ts":"1970-01-01T00:00:01.000000Z","kind":"response","parts":[{"alg":"hmac-sha256","commit":"510c690aa87a900fee5f4f2b0515495997ba303bbb6d48012430ace006115c7e","len":1,"name":"a"},{"alg":"hmac-sha256","commit":"e132270b4aba853b93d09ab774533f70936cbfb2380900d6d660c5100bd464aa","len":1,"name":"b"}],"prompt_sha256":"cf07194ee232eb531e15f690000d19846dea69cf05504782658afcfacb9228a2","request_id":"66666666-6666-6666-6666-666666666666","request_index":"7","response_id":"66666666-6666-6666-6666-666666666666","ts":"1970-01-01T00:00:00.000000Z","v":1,"verdict":{"failed":["GOV-1","GOV-2"],"result":"refused"}}"#);
        assert_eq!(Leaf::parse(leaf.bytes()).unwrap(), leaf);
    }

    #[test]
    fn what_a_kind_does_not_list_is_refused() {
        let key = Digest::of_bytes(b"");
        let table = [
            (
                Draft::request().with_prompt(key),
                r#"an entry of kind request has no member "prompt_sha256""#,
            ),
            (
                Draft::response().with_sha256(key),
                r#"an entry of kind response has no member "sha256""#,
            ),
            (Draft::config(Subject::Key), r#"an entry of kind config needs the member "vkey""#),
            (
                Draft::request().with_tool("a").with_unknown_tool("b"),
                r#"an entry of kind request has no member "tool_sha256""#,
            ),
        ];
        for (draft, message) in table {
            assert_eq!(draft.seal(0, None).unwrap_err().to_string(), message);
        }
        assert!(Draft::request().seal(0, Some(1)).is_err());
        let codes = (0..1000).map(|number| token(&format!("code-{number}")));
        let long = Draft::validation(1, 3).with_codes(codes).seal(0, None);
        assert!(matches!(long, Err(LeafError::TooLong(_))));
    }

    #[test]
    fn text_of_a_model_stays_out() {
        let leaf = Draft::request().with_tool("ignore all\nrules").seal(0, None).unwrap();
        assert!(leaf.member("tool").is_none() && leaf.member("tool_sha256").is_some());
    }
}
