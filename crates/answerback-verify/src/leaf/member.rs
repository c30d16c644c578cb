//! The table of the members that a leaf may have.

use super::kind::EntryKind;
use crate::name_set::{NameSet, Spelling};

/// The form of a member's value.
#[derive(Clone, Copy)]
pub(super) enum ValueForm {
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
        pub(crate) enum LeafMember { $($member),* }

        /// The name, form and kinds of every member, sorted by name as in a leaf.
        pub(super) const MEMBERS: &[(&str, ValueForm, u16)] = &[$(($name, $form, $kinds)),*];
    };
}

/// The names of all members.
pub(super) static NAMES: NameSet = {
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
pub(super) const ALLOWED: [u64; EntryKind::ALL.len()] = {
    let mut allowed = [0; EntryKind::ALL.len()];
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
const fn of(kind: EntryKind) -> u16 {
    1 << kind as u16
}
const ANY: u16 = u16::MAX;
const ANSWERS: u16 = of(EntryKind::Response) | of(EntryKind::Rejected);
const IDENTITY: u16 = ANSWERS | of(EntryKind::Request);
const ATTEMPTS: u16 = of(EntryKind::Validation) | of(EntryKind::Escalation);
const DECISIONS: u16 = of(EntryKind::Decision) | of(EntryKind::Escalation);

members! {
    AgentId "agent_id" ValueForm::Token, IDENTITY;
    AgentType "agent_type" ValueForm::Token, IDENTITY;
    AgentVersion "agent_version" ValueForm::Token, IDENTITY;
    Attempt "attempt" ValueForm::Number, ATTEMPTS;
    Basis "basis" ValueForm::Choice(&["legal", "request", "retention", "secret"]), of(EntryKind::Erasure);
    Below "below" ValueForm::Decimal, of(EntryKind::Prune);
    CaseId "case_id" ValueForm::Uuid, ANY;
    Claimed "claimed" ValueForm::Flags, ANSWERS;
    ClaimedTs "claimed_ts" ValueForm::Time, ANY;
    Codes "codes" ValueForm::Tokens, ATTEMPTS | of(EntryKind::Rejected);
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
    Root "root" ValueForm::Hex, of(EntryKind::Prune);
    Sha256 "sha256" ValueForm::Hex, of(EntryKind::Config);
    Status "status" ValueForm::Token, ANY;
    Subject "subject" ValueForm::Choice(&["catalogue", "clock", "key", "lock", "manifest", "migrate", "policy", "start", "stop"]), of(EntryKind::Config);
    TargetIndex "target_index" ValueForm::Decimal, of(EntryKind::Erasure);
    TargetPart "target_part" ValueForm::Token, of(EntryKind::Erasure);
    Tool "tool" ValueForm::Token, ANY;
    ToolSha256 "tool_sha256" ValueForm::Hex, ANY;
    Ts "ts" ValueForm::Time, ANY;
    Upstream "upstream" ValueForm::Token, ANY;
    V "v" ValueForm::One, ANY;
    Verdict "verdict" ValueForm::Verdict, ANSWERS;
    Vkey "vkey" ValueForm::Key, of(EntryKind::Config);
}

impl LeafMember {
    pub(crate) fn name(self) -> &'static str {
        MEMBERS[self as usize].0
    }
}
