//! The verification of a log: one pass over its entries and checkpoints, in order.

mod checkpoints;
mod finish;

use std::collections::VecDeque;

use checkpoints::NewestCheckpoint;

use crate::cosignature::RequiredWitness;
use crate::erasure::Erasures;
use crate::examine::{EntryCheck, shown};
use crate::hash::MerkleHash;
use crate::keys::{KeyChain, Signatures};
use crate::leaf::{EntryKind, LeafMember, ParsedLeaf};
use crate::note::NoteVerifierKey;
use crate::options::{OutsideCheckpoint, VerifyOptions};
use crate::report::{FindingCollector, Level, VerifyFailure};
use crate::semantics::Semantics;
use crate::source::{SourceClaims, SourceEntry};
use crate::states::RecordedStates;
use crate::tiles::TileRoots;
use crate::tree::TreeFrontier;

/// The state of the verification between two entries.
pub(crate) struct LogCheck {
    claims: SourceClaims,
    origin: String,
    vkeys: Vec<NoteVerifierKey>,
    witnesses: Vec<RequiredWitness>,
    findings: FindingCollector,
    frontier: TreeFrontier,
    /// The expected tiles. `None` for a partial export, whose tiles start before its first entry.
    tiles: Option<TileRoots>,
    outside_checkpoints: VecDeque<OutsideCheckpoint>,
    newest_checkpoint: Option<NewestCheckpoint>,
    /// The size up to which the tree is known to be correct.
    last_good: u64,
    /// True if entries are missing in the middle, so that later entries have no known position in
    /// the tree.
    broken: bool,
    keys: KeyChain,
    signatures: Signatures,
    semantics: Semantics,
    erasures: Erasures,
    states: RecordedStates,
    now: Option<i64>,
    /// The index below which entries may be missing.
    pruned_below: u64,
}

impl LogCheck {
    pub(crate) fn new(claims: SourceClaims, options: &VerifyOptions, threads: usize) -> Self {
        let mut findings = FindingCollector::default();
        // If the caller trusts a key, the key's name is the expected origin.
        let origin =
            options.vkeys.first().map_or(claims.origin.clone(), |key| key.name().to_owned());
        if origin != claims.origin {
            let failure = VerifyFailure::new(
                Level::Signatures,
                None,
                "the log's origin is not the key's name",
            );
            findings.fail(failure.differs(&origin, shown(claims.origin.as_bytes())));
        }
        let mut keys = KeyChain::default();
        match NoteVerifierKey::parse(&claims.vkey) {
            Ok(key) => keys.start(claims.from, key),
            Err(error) => {
                let what = format!("the log's verifier key: {error}");
                findings.fail(VerifyFailure::new(Level::Signatures, None, what));
            }
        }
        let mut outside_checkpoints = options.outside_checkpoints.clone();
        outside_checkpoints.sort_by_key(|outside_checkpoints| outside_checkpoints.checkpoint.size);
        Self {
            origin,
            vkeys: options.vkeys.clone(),
            witnesses: options
                .witnesses
                .iter()
                .map(|key| RequiredWitness { key: key.clone(), seen: None })
                .collect(),
            findings,
            frontier: TreeFrontier::new(),
            tiles: Some(TileRoots::default()),
            outside_checkpoints: outside_checkpoints.into(),
            newest_checkpoint: None,
            last_good: 0,
            broken: false,
            keys,
            signatures: Signatures::new(threads),
            semantics: Semantics::new(claims.from),
            erasures: Erasures::default(),
            states: RecordedStates::default(),
            now: options.now,
            pruned_below: 0,
            claims,
        }
    }

    /// Processes the hash of a pruned entry.
    pub(crate) fn pruned_hash(&mut self, hash: MerkleHash) {
        self.check_outside_checkpoints();
        self.grow(hash);
    }

    /// Processes the subtrees that replace everything before the first entry.
    pub(crate) fn subtrees(&mut self, subtrees: &[MerkleHash]) {
        self.tiles = None;
        match TreeFrontier::from_subtrees(self.claims.from, subtrees.to_vec()) {
            Some(frontier) => self.frontier = frontier,
            None => {
                let what = "the range has not the subtrees of a tree of this size";
                self.findings.fail(VerifyFailure::new(Level::Root, self.claims.from, what));
                self.broken = true;
            }
        }
        self.last_good = self.claims.from;
    }

    /// Processes a part that belongs to no entry.
    pub(crate) fn stray_part(&mut self, index: u64, name: &[u8]) {
        let what = format!("part {}: it is extra, there is no such entry", shown(name));
        self.findings.fail(VerifyFailure::new(Level::Content, index, what));
    }

    /// Processes the next entry.
    pub(crate) fn entry(&mut self, entry: &SourceEntry<'_>, examined: EntryCheck) {
        self.check_outside_checkpoints();
        let expected = self.frontier.size();
        if entry.index != expected && !self.broken {
            let what =
                "the entry is not the next one: entries are missing, doubled or out of order";
            self.findings.fail(
                VerifyFailure::new(Level::Root, entry.index, what).differs(expected, entry.index),
            );
            self.broken = true;
        }
        self.findings.checked(Level::Root, 1);
        self.findings.checked(Level::Content, examined.parts_checked);
        self.findings.checked(Level::Semantics, 1);
        for failure in examined.failures {
            self.findings.fail(failure);
        }
        for name in &examined.missing {
            self.erasures.miss(entry.index, name);
        }
        if let Some(facts) = &examined.facts {
            self.semantics.take(entry, facts, &mut self.findings);
            self.apply_kind(entry, facts);
            self.states.take(entry, facts, &mut self.findings);
        }
        if entry.index == 0 {
            self.check_start(entry, examined.facts.as_ref());
        }
        self.grow(examined.leaf_hash);
    }

    fn grow(&mut self, leaf: MerkleHash) {
        match &mut self.tiles {
            Some(tiles) => tiles.push(&mut self.frontier, leaf),
            None => self.frontier.push(leaf),
        }
    }

    /// Processes an erasure, prune or config entry, which affects the entries around it.
    fn apply_kind(&mut self, entry: &SourceEntry<'_>, facts: &ParsedLeaf) {
        match facts.kind {
            EntryKind::Erasure => {
                self.erasures.take(entry, facts, self.claims.from, &mut self.findings);
            }
            EntryKind::Prune => self.prune(entry, facts),
            EntryKind::Config => self.key(entry, facts),
            _ => {}
        }
    }

    fn prune(&mut self, entry: &SourceEntry<'_>, facts: &ParsedLeaf) {
        let (Some(below), Some(root)) =
            (facts.number(entry.leaf, LeafMember::Below), facts.hash(entry.leaf, LeafMember::Root))
        else {
            return;
        };
        if below > entry.index {
            let what = format!("it prunes below {below}, which is not before it");
            self.findings.fail(VerifyFailure::new(Level::Semantics, entry.index, what));
            return;
        }
        self.pruned_below = self.pruned_below.max(below);
        match self.tiles.as_ref().and_then(|tiles| tiles.root_at(below)) {
            Some(found) if found != root && !self.broken => {
                let what = format!("its root is not that of the tree of {below} entries");
                self.findings.fail(
                    VerifyFailure::new(Level::Semantics, entry.index, what).differs(found, root),
                );
            }
            Some(_) => {}
            None => self.findings.warn(entry.index, "prune entry whose root is not checkable here"),
        }
    }

    /// Processes a key rotation, or a start entry that repeats the key.
    fn key(&mut self, entry: &SourceEntry<'_>, facts: &ParsedLeaf) {
        let Some(text) = facts.text(entry.leaf, LeafMember::Vkey) else { return };
        let subject = facts.text(entry.leaf, LeafMember::Subject);
        let key = std::str::from_utf8(text).ok().and_then(|text| NoteVerifierKey::parse(text).ok());
        let fail = |what: &str| VerifyFailure::new(Level::Semantics, entry.index, what);
        let Some(key) = key else {
            return self.findings.fail(fail("vkey is not a verifier key"));
        };
        match subject {
            Some(b"key") if key.name() != self.origin => {
                self.findings.fail(fail("the new key's name is not the origin"));
            }
            Some(b"key") => self.keys.rotate(entry.index, key),
            Some(b"start") if entry.index == 0 => self.keys.start(0, key),
            Some(b"start") => {
                if self.keys.newest().is_some_and(|newest| *newest != key) {
                    self.findings.fail(fail("the key of this start is not the one in force"));
                }
            }
            _ => self.findings.fail(fail("only start and key entries have a vkey")),
        }
    }

    /// Checks the first entry of a log, which must be a start with a key.
    fn check_start(&mut self, entry: &SourceEntry<'_>, facts: Option<&ParsedLeaf>) {
        let vkey = facts.and_then(|facts| {
            let start = facts.text(entry.leaf, LeafMember::Subject) == Some(b"start");
            start.then(|| facts.text(entry.leaf, LeafMember::Vkey)).flatten()
        });
        match vkey {
            None => {
                let what = "the first entry is not a start with a verifier key";
                self.findings.fail(VerifyFailure::new(Level::Semantics, 0, what));
            }
            Some(vkey) if vkey != self.claims.vkey.as_bytes() => {
                let what = "the key that the source names is not that of the first entry";
                let failure = VerifyFailure::new(Level::Root, 0, what);
                self.findings
                    .fail(failure.differs(shown(vkey), shown(self.claims.vkey.as_bytes())));
            }
            Some(_) => {}
        }
    }
}
