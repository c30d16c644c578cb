use answerback::{Digest, Timestamp};
use serde_json::{Map, Value, json};

use super::member::{self, LARGEST_NUMBER, time_of};
use super::sealed::LARGEST_LEAF;
use super::{Leaf, LeafError, LeafId, LeafKind};
use crate::{Hash, LeafToken, Part, VerifierKey};

/// The subject of a config entry.
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
    /// Returns the word that the leaf uses.
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

/// The reason for erasing a part.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the format defines exactly these")]
pub enum Basis {
    /// A person whose data it contains asked for the erasure.
    Request,
    /// The retention period has ended.
    Retention,
    /// A law or a court requires it.
    Legal,
    /// It contains a secret that should not have been recorded.
    Secret,
}

impl Basis {
    /// Returns the word that the leaf uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Retention => "retention",
            Self::Legal => "legal",
            Self::Secret => "secret",
        }
    }
}

/// The result of verifying a governed response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the format defines exactly these")]
pub enum GovernanceVerdict {
    /// All rules hold.
    Accepted,
    /// At least one rule that fails closed does not hold.
    Refused,
    /// There was no manifest and lock to verify it against.
    Unverified,
}

/// Holds the four flags that an agent claims for its response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the contract defines exactly these")]
#[expect(missing_docs, clippy::struct_excessive_bools, reason = "the contract's own names")]
pub struct ClaimedFlags {
    pub within_scope: bool,
    pub boundaries_respected: bool,
    pub quality_standards_met: bool,
    pub constraints_followed: bool,
}

/// An entry before it is appended to the ledger: everything except the time.
///
/// A draft can be sealed any number of times, so that a unit of work can run again.
///
/// ```
/// use answerback_ledger::{Draft, LeafId, LeafToken};
///
/// let request = LeafId::parse("550e8400-e29b-41d4-a716-446655440000")?;
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
    kind: LeafKind,
    members: Map<String, Value>,
    parts: Vec<Part>,
    request_id: Option<LeafId>,
    response_id: Option<LeafId>,
    reply_id: Option<LeafId>,
}

/// Has one constructor for each kind of entry.
impl Draft {
    /// Starts an entry that records a configuration in force from now on.
    pub fn config(subject: Subject) -> Self {
        Self::new(LeafKind::Config).with("subject", subject.as_str())
    }

    /// Starts an entry that records a call before it is forwarded.
    pub fn request() -> Self {
        Self::new(LeafKind::Request)
    }

    /// Starts an entry that records the response to a call. The ledger finds the request by its id.
    pub fn response() -> Self {
        Self::new(LeafKind::Response)
    }

    /// Starts an entry that records a rejected response.
    pub fn rejected() -> Self {
        Self::new(LeafKind::Rejected)
    }

    /// Starts an entry that records a call that failed its check.
    pub fn validation(attempt: u8, max_attempts: u8) -> Self {
        Self::new(LeafKind::Validation).with("attempt", attempt).with("max_attempts", max_attempts)
    }

    /// Starts an entry that records a case waiting for a person. The digest is that of the content
    /// shown to the person.
    pub fn escalation(case: LeafId, digest: Digest, revision: u64) -> Self {
        Self::new(LeafKind::Escalation).about(case, digest, revision)
    }

    /// Starts an entry that records that a retry state blocked by this case was unblocked without a
    /// decision.
    pub fn release(case: LeafId) -> Self {
        Self::new(LeafKind::Escalation).with("case_id", case.to_string())
    }

    /// Starts an entry that records a person's decision. The digest is that of the content shown to
    /// the person.
    pub fn decision(case: LeafId, decision: LeafToken, digest: Digest, revision: u64) -> Self {
        Self::new(LeafKind::Decision)
            .about(case, digest, revision)
            .with("decision", decision.as_str())
    }

    /// Starts an entry that records the erasure of a part of another entry.
    pub fn erasure(index: u64, part: &LeafToken, basis: Basis) -> Self {
        Self::new(LeafKind::Erasure)
            .with("target_index", index.to_string())
            .with("target_part", part.as_str())
            .with("basis", basis.as_str())
    }

    /// Starts an entry that permits all entries below this index to be missing. The tree of that
    /// size had this root.
    pub fn prune(below: u64, root: &Hash) -> Self {
        Self::new(LeafKind::Prune).with("below", below.to_string()).with("root", root.to_string())
    }

    fn new(kind: LeafKind) -> Self {
        let members = Map::new();
        let (request_id, response_id, reply_id) = (None, None, None);
        Self { kind, members, parts: Vec::new(), request_id, response_id, reply_id }
    }

    fn about(self, case: LeafId, digest: Digest, revision: u64) -> Self {
        // No real revision reaches the largest number that a leaf allows.
        self.with("case_id", case.to_string())
            .with("digest", digest.to_string())
            .with("revision", revision.min(LARGEST_NUMBER - 1))
    }
}

/// Has one setter for each member. Sealing rejects a member that the kind does not list.
impl Draft {
    /// Sets the time that the document itself claims.
    pub fn with_claimed_time(self, time: Timestamp) -> Self {
        let micros = time.nanos_since(Timestamp::from_unix_micros(0)) / 1000;
        self.with("claimed_ts", time_of(i64::try_from(micros).unwrap_or(0)))
    }

    /// Adds a part. A later part replaces an earlier one with the same name.
    pub fn with_part(mut self, part: Part) -> Self {
        match self.parts.binary_search_by(|held| held.name().cmp(part.name())) {
            Ok(at) => self.parts[at] = part,
            Err(at) => self.parts.insert(at, part),
        }
        self
    }

    /// Sets the id of the reply that the entry belongs to.
    pub fn with_reply_id(mut self, id: LeafId) -> Self {
        self.reply_id = Some(id);
        self.with("reply_id", id.to_string())
    }

    /// Sets the id of the chain of calls that the entry belongs to.
    pub fn with_correlation_id(self, id: LeafId) -> Self {
        self.with("correlation_id", id.to_string())
    }

    /// Sets the id of the request that the entry records or answers.
    pub fn with_request_id(mut self, id: LeafId) -> Self {
        self.request_id = Some(id);
        self.with("request_id", id.to_string())
    }

    /// Sets the id of the response that the entry records. The ledger does not append a second
    /// entry of the same kind with this id.
    pub fn with_response_id(mut self, id: LeafId) -> Self {
        self.response_id = Some(id);
        self.with("response_id", id.to_string())
    }

    /// Sets the id of the case that the entry belongs to.
    pub fn with_case_id(self, id: LeafId) -> Self {
        self.with("case_id", id.to_string())
    }

    /// Sets the responding agent as the manifest lists it.
    pub fn with_agent(self, id: &LeafToken, kind: &LeafToken, version: &LeafToken) -> Self {
        self.with("agent_id", id.as_str())
            .with("agent_type", kind.as_str())
            .with("agent_version", version.as_str())
    }

    /// Sets the digest of the prompt under which the agent responded.
    pub fn with_prompt(self, prompt: Digest) -> Self {
        self.with("prompt_sha256", prompt.to_string())
    }

    /// Sets the digests of the manifest and the lock that were in force.
    pub fn with_governance(self, manifest: Digest, lock: Digest) -> Self {
        self.with("manifest_sha256", manifest.to_string()).with("lock_sha256", lock.to_string())
    }

    /// Sets the flags that the agent claims.
    pub fn with_claimed(self, claimed: ClaimedFlags) -> Self {
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

    /// Sets the result of the verification and the codes of the rules that do not hold.
    pub fn with_verdict(
        self,
        outcome: GovernanceVerdict,
        failed: impl IntoIterator<Item = LeafToken>,
    ) -> Self {
        let result = match outcome {
            GovernanceVerdict::Accepted => "accepted",
            GovernanceVerdict::Refused => "refused",
            GovernanceVerdict::Unverified => "unverified",
        };
        self.with("verdict", json!({"failed": sorted(failed), "result": result}))
    }

    /// Sets the reply's status, in the word of its contract.
    pub fn with_status(self, status: &LeafToken) -> Self {
        self.with("status", status.as_str())
    }

    /// Sets the outcome of the call or reply.
    pub fn with_outcome(self, outcome: &LeafToken) -> Self {
        self.with("outcome", outcome.as_str())
    }

    /// Sets the contract of the document.
    pub fn with_contract(self, contract: &LeafToken) -> Self {
        self.with("contract", contract.as_str())
    }

    /// Sets the name of the upstream server.
    pub fn with_upstream(self, upstream: &LeafToken) -> Self {
        self.with("upstream", upstream.as_str())
    }

    /// Sets the principal on whose behalf the request was made.
    pub fn with_principal(self, principal: &LeafToken) -> Self {
        self.with("principal", principal.as_str())
    }

    /// Sets a tool from the catalogue. A name that is not a token is stored as its digest.
    pub fn with_tool(self, name: &str) -> Self {
        if LeafToken::is_valid(name) {
            self.with("tool", name)
        } else {
            self.with_unknown_tool(name)
        }
    }

    /// Sets a tool that is not in the catalogue. The model may have invented the name, so only its
    /// digest is stored.
    pub fn with_unknown_tool(self, name: &str) -> Self {
        self.with("tool_sha256", Digest::of_bytes(name.as_bytes()).to_string())
    }

    /// Sets the codes of the findings.
    pub fn with_codes(self, codes: impl IntoIterator<Item = LeafToken>) -> Self {
        self.with("codes", sorted(codes))
    }

    /// Sets the attempt number and the maximum number of attempts.
    pub fn with_attempt(self, attempt: u8, max_attempts: u8) -> Self {
        self.with("attempt", attempt).with("max_attempts", max_attempts)
    }

    /// Sets the digest of the content that is in force.
    pub fn with_sha256(self, digest: Digest) -> Self {
        self.with("sha256", digest.to_string())
    }

    /// Sets the public key that signs from now on.
    pub fn with_verifier_key(self, key: &VerifierKey) -> Self {
        self.with("vkey", key.to_string())
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }
}

impl Draft {
    /// Returns the kind of the entry.
    pub const fn kind(&self) -> LeafKind {
        self.kind
    }

    /// Returns the parts, sorted by name.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the id of the request that the entry records or answers.
    pub const fn request_id(&self) -> Option<LeafId> {
        self.request_id
    }

    /// Returns the id of the response that the entry records.
    pub const fn response_id(&self) -> Option<LeafId> {
        self.response_id
    }

    /// Returns the id of the reply that the entry belongs to.
    pub const fn reply_id(&self) -> Option<LeafId> {
        self.reply_id
    }

    /// Estimates the size of the entry in a batch, in bytes.
    pub fn weight(&self) -> usize {
        self.parts.iter().map(|part| part.bytes().len()).sum::<usize>() + 1024
    }

    /// Creates the leaf of this entry at this time (microseconds since 1970). A response names the
    /// request that it answers by `request_index`.
    ///
    /// # Errors
    ///
    /// Returns an error if a member does not belong to the kind, a required member is missing, or
    /// the leaf is too long.
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

fn sorted(codes: impl IntoIterator<Item = LeafToken>) -> Value {
    let codes: std::collections::BTreeSet<LeafToken> = codes.into_iter().collect();
    codes.iter().map(LeafToken::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Salt;

    fn token(text: &str) -> LeafToken {
        LeafToken::new(text).unwrap()
    }

    #[test]
    fn a_response_in_full() {
        let id = LeafId::from([0x66; 16]);
        let draft = Draft::response()
            .with_response_id(id)
            .with_request_id(id)
            .with_agent(&token("domain-02"), &token("domain"), &token("1.0.0"))
            .with_prompt(Digest::of_bytes(b"prompt"))
            .with_claimed(ClaimedFlags {
                within_scope: true,
                boundaries_respected: true,
                quality_standards_met: false,
                constraints_followed: true,
            })
            .with_verdict(
                GovernanceVerdict::Refused,
                [token("GOV-2"), token("GOV-1"), token("GOV-2")],
            )
            .with_claimed_time(Timestamp::from_unix_millis(1000))
            .with_part(Part::new(token("b"), Salt::new([1; 32]), *b"2"))
            .with_part(Part::new(token("a"), Salt::new([1; 32]), *b"1"));
        let leaf = draft.seal(0, Some(7)).unwrap();
        insta::assert_snapshot!(std::str::from_utf8(leaf.bytes()).unwrap(), @r#"{"agent_id":"domain-02","agent_type":"domain","agent_version":"1.0.0","claimed":{"boundaries_respected":true,"constraints_followed":true,"quality_standards_met":false,"within_scope":true},"claimed_ts":"1970-01-01T00:00:01.000000Z","kind":"response","parts":[{"alg":"hmac-sha256","commit":"510c690aa87a900fee5f4f2b0515495997ba303bbb6d48012430ace006115c7e","len":1,"name":"a"},{"alg":"hmac-sha256","commit":"e132270b4aba853b93d09ab774533f70936cbfb2380900d6d660c5100bd464aa","len":1,"name":"b"}],"prompt_sha256":"cf07194ee232eb531e15f690000d19846dea69cf05504782658afcfacb9228a2","request_id":"66666666-6666-6666-6666-666666666666","request_index":"7","response_id":"66666666-6666-6666-6666-666666666666","ts":"1970-01-01T00:00:00.000000Z","v":1,"verdict":{"failed":["GOV-1","GOV-2"],"result":"refused"}}"#);
        assert_eq!(Leaf::parse(leaf.bytes()).unwrap(), leaf);
    }

    #[test]
    fn members_of_other_kinds_are_rejected() {
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
