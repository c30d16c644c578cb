//! Checks agents and prompts against the manifests and locks in the log itself.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;

use crate::{
    examine::shown,
    hash::MerkleHash,
    leaf::{EntryKind, LeafMember, ParsedLeaf},
    report::{FindingCollector, Level, VerifyFailure},
    source::{SourceEntry, object},
};

const UNCHECKABLE: &str =
    "entry names a manifest or lock whose content is erased or pruned: not checkable";
const SUPERSEDED: &str = "entry names a manifest or lock that was no longer the newest";

/// The logged documents by digest, each parsed to the data that the checks need. A document is
/// `None` if its content is missing or unreadable. There are few, so a sorted map is faster than
/// hashing.
type LoggedVersions<T> = BTreeMap<MerkleHash, Option<T>>;

/// Maps an agent's canonical id to its key in the lock and its type.
type Agents = BTreeMap<String, (String, &'static str)>;

#[derive(Deserialize)]
struct ManifestFile {
    #[serde(default)]
    domains: HashMap<String, ManifestAgent>,
    #[serde(default)]
    archetypes: HashMap<String, ManifestAgent>,
    #[serde(default)]
    orchestrators: HashMap<String, ManifestAgent>,
}

#[derive(Deserialize)]
struct ManifestAgent {
    canonical_id: String,
}

#[derive(Deserialize)]
struct LockFile {
    prompts: BTreeMap<String, LoggedPrompt>,
}

#[derive(Deserialize)]
struct LoggedPrompt {
    hash: String,
    #[serde(rename = "type")]
    agent_type: String,
    version: String,
}

/// The manifests and locks logged so far.
#[derive(Default)]
pub(crate) struct LoggedGovernance {
    manifests: LoggedVersions<Agents>,
    locks: LoggedVersions<BTreeMap<String, LoggedPrompt>>,
    newest_manifest: Option<MerkleHash>,
    newest_lock: Option<MerkleHash>,
    /// True if entries before the first available one may have logged more documents.
    incomplete: bool,
}

impl LoggedGovernance {
    pub(crate) fn new(incomplete: bool) -> Self {
        Self { incomplete, ..Self::default() }
    }

    /// Processes an entry that logs a manifest or a lock.
    pub(crate) fn log(
        &mut self,
        entry: &SourceEntry<'_>,
        facts: &ParsedLeaf,
        findings: &mut FindingCollector,
    ) {
        let subject = facts.text(entry.leaf, LeafMember::Subject);
        let Some(digest) = facts.hash(entry.leaf, LeafMember::Sha256) else { return };
        let subject = match subject {
            Some(b"manifest") => "manifest",
            Some(b"lock") => "lock",
            _ => return,
        };
        if facts.parts.len() != 1 {
            let what = format!("a {subject} entry has one part, the {subject}");
            findings.fail(VerifyFailure::new(Level::Semantics, entry.index, what));
        }
        let content = entry.parts.first().map(|part| part.bytes);
        let content = content.filter(|content| {
            let found = MerkleHash::of(content);
            if found != digest {
                let what = format!("the {subject} is not the one that sha256 names");
                findings.fail(
                    VerifyFailure::new(Level::Semantics, entry.index, what).differs(digest, found),
                );
            }
            found == digest
        });
        let understood = if subject == "manifest" {
            self.newest_manifest = Some(digest);
            remember(&mut self.manifests, digest, content, agents)
        } else {
            self.newest_lock = Some(digest);
            remember(&mut self.locks, digest, content, |lock| {
                read_file::<LockFile>(lock).map(|lock| lock.prompts)
            })
        };
        if !understood {
            let what = format!("the {subject} cannot be read");
            findings.fail(VerifyFailure::new(Level::Semantics, entry.index, what));
        }
    }

    /// Checks the agent and the prompt that an entry names.
    pub(crate) fn check(
        &self,
        entry: &SourceEntry<'_>,
        facts: &ParsedLeaf,
        findings: &mut FindingCollector,
    ) {
        // Parsing the leaf has checked that this is a token, so it is ASCII.
        let agent = facts.text(entry.leaf, LeafMember::AgentId).map(str::from_utf8);
        let Some(Ok(agent)) = agent else { return };
        let fail = |findings: &mut FindingCollector, what: String| {
            findings.fail(VerifyFailure::new(Level::Semantics, entry.index, what));
        };
        if facts.kind == EntryKind::Request {
            let known = |agents: &Option<Agents>| {
                agents.as_ref().is_none_or(|agents| agents.contains_key(agent))
            };
            if !self.manifests.is_empty() && !self.manifests.values().any(known) && !self.incomplete
            {
                fail(findings, format!("agent {agent} is in no manifest that was logged before"));
            }
            return;
        }
        let named = facts.hash(entry.leaf, LeafMember::ManifestSha256);
        let manifest = match self.find("manifest", &self.manifests, named, self.newest_manifest) {
            LockedAgent::Content(manifest, newest) => {
                if !newest {
                    findings.warn(entry.index, SUPERSEDED);
                }
                manifest
            }
            LockedAgent::Uncheckable => return findings.warn(entry.index, UNCHECKABLE),
            LockedAgent::Nothing => return,
            LockedAgent::Unlogged(what) => return fail(findings, what),
        };
        let Some((key, agent_type)) = manifest.get(agent) else {
            return fail(findings, format!("agent {agent} is not in the manifest in force"));
        };
        // A rejected response may have a wrong prompt, which may be the reason for the rejection.
        let accepted =
            facts.text(entry.leaf, LeafMember::Verdict).is_none_or(|result| result == b"accepted");
        let Some(prompt) = facts.text(entry.leaf, LeafMember::PromptSha256) else { return };
        if facts.kind != EntryKind::Response || !accepted {
            return;
        }
        let named = facts.hash(entry.leaf, LeafMember::LockSha256);
        let lock = match self.find("lock", &self.locks, named, self.newest_lock) {
            LockedAgent::Content(lock, newest) => {
                if !newest {
                    findings.warn(entry.index, SUPERSEDED);
                }
                lock
            }
            LockedAgent::Uncheckable => return findings.warn(entry.index, UNCHECKABLE),
            LockedAgent::Nothing => {
                return fail(findings, "a prompt is named, and no lock was logged".to_owned());
            }
            LockedAgent::Unlogged(what) => return fail(findings, what),
        };
        let Some(locked) = lock.get(key) else {
            return fail(findings, format!("agent {agent} is not in the lock in force"));
        };
        for (what, member, expected) in [
            ("the prompt's hash is not the lock's", Some(prompt), locked.hash.as_str()),
            (
                "agent_version is not the lock's",
                facts.text(entry.leaf, LeafMember::AgentVersion),
                &locked.version,
            ),
            (
                "agent_type is not the lock's",
                facts.text(entry.leaf, LeafMember::AgentType),
                &locked.agent_type,
            ),
            (
                "agent_type is not the manifest's",
                facts.text(entry.leaf, LeafMember::AgentType),
                agent_type,
            ),
        ] {
            if let Some(actual) = member
                && actual != expected.as_bytes()
            {
                let failure = VerifyFailure::new(Level::Semantics, entry.index, what);
                findings.fail(failure.differs(shown(expected.as_bytes()), shown(actual)));
            }
        }
    }

    /// Returns the document that an entry names, or the newest one if it names none.
    fn find<'a, T>(
        &self,
        subject: &str,
        logged: &'a LoggedVersions<T>,
        named: Option<MerkleHash>,
        newest: Option<MerkleHash>,
    ) -> LockedAgent<'a, T> {
        let Some(digest) = named.or(newest) else {
            return if self.incomplete { LockedAgent::Uncheckable } else { LockedAgent::Nothing };
        };
        match logged.get(&digest) {
            Some(Some(content)) => LockedAgent::Content(content, newest == Some(digest)),
            Some(None) => LockedAgent::Uncheckable,
            None if self.incomplete => LockedAgent::Uncheckable,
            None => LockedAgent::Unlogged(format!("{subject} {digest} was not logged before")),
        }
    }
}

enum LockedAgent<'a, T> {
    /// The parsed document. The flag is true if it is the newest one.
    Content(&'a T, bool),
    /// The document was logged, or may have been, but its content is not available.
    Uncheckable,
    /// The log contains no such document at all.
    Nothing,
    /// The named document was never logged.
    Unlogged(String),
}

/// Stores a document under its digest. The same document may be logged at every start, so content
/// that was parsed once is retained. Returns false if the content cannot be parsed.
fn remember<T>(
    logged: &mut LoggedVersions<T>,
    digest: MerkleHash,
    content: Option<&[u8]>,
    read: impl FnOnce(&[u8]) -> Option<T>,
) -> bool {
    let known = logged.entry(digest).or_insert(None);
    match content {
        Some(content) if known.is_none() => {
            *known = read(content);
            known.is_some()
        }
        _ => true,
    }
}

/// Parses a manifest or a lock, which may begin with a byte order mark.
fn read_file<'a, T: Deserialize<'a>>(content: &'a [u8]) -> Option<T> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    object(content.trim_ascii_start()).ok()
}

fn agents(manifest: &[u8]) -> Option<Agents> {
    let manifest: ManifestFile = read_file(manifest)?;
    let sections = [
        ("domain", manifest.domains),
        ("archetype", manifest.archetypes),
        ("orchestrator", manifest.orchestrators),
    ];
    let mut agents = Agents::new();
    let mut seen = HashSet::new();
    for (agent_type, section) in sections {
        for (key, agent) in section {
            // If two agents have the same id, an entry is ambiguous.
            if !seen.insert(agent.canonical_id.clone()) {
                return None;
            }
            agents.insert(agent.canonical_id, (key, agent_type));
        }
    }
    Some(agents)
}
