//! The verifier: one pass over a log, in order.

use std::{
    collections::{HashSet, VecDeque},
    num::NonZeroUsize,
    thread,
};

use crate::{
    checkpoint::Checkpoint,
    cosignature::Demanded,
    erasure::Erasures,
    examine::{Examined, shown},
    hash::Hash,
    keys::{KeyChain, Presented, Signatures},
    leaf::{Facts, Kind, Member},
    note::{Note, Signed, VerifierKey},
    options::{Given, Options},
    pipeline,
    report::{FindingCollector, KeyTrust, Level, Report, VerifyFailure},
    semantics::Semantics,
    source::{Claims, Entry, Source, SourceError, Tile, TilesHeld},
    states::States,
    tiles::{TILE_WIDTH, TileRoots, TileVerdict, tiles_of},
    tree::Frontier,
};

/// The progress of a verification.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct VerifyProgress {
    /// The number of entries read so far.
    pub done: u64,
    /// The number of entries that the source claims to have.
    pub total: u64,
}

/// Verifies a log at all five levels. An invalid log is not an error; the [`Report`] describes it.
///
/// # Errors
///
/// Returns an error if the source cannot be read to its end, so that there is no result.
pub fn verify(source: &mut dyn Source, options: &Options) -> Result<Report, SourceError> {
    verify_with_progress(source, options, &mut |_| {})
}

/// Verifies a log and reports the progress.
///
/// # Errors
///
/// Returns an error if [`verify`] would return an error.
pub fn verify_with_progress(
    source: &mut dyn Source,
    options: &Options,
    progress: &mut dyn FnMut(VerifyProgress),
) -> Result<Report, SourceError> {
    let threads = options
        .threads
        .unwrap_or_else(|| thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
    let fold = Fold::new(source.claims().clone(), options, threads.get());
    pipeline::run(source, fold, threads, progress)?.finish(source)
}

/// The newest of the log's own checkpoints so far.
struct HeldCheckpoint {
    size: u64,
    /// The failure of its root, if any. The level depends on whether a newer checkpoint follows.
    wrong: Option<VerifyFailure>,
}

/// The state of the verification between two entries.
pub(crate) struct Fold {
    claims: Claims,
    origin: String,
    vkeys: Vec<VerifierKey>,
    witnesses: Vec<Demanded>,
    findings: FindingCollector,
    frontier: Frontier,
    /// The expected tiles. `None` for a partial export, whose tiles start before its first entry.
    tiles: Option<TileRoots>,
    given: VecDeque<Given>,
    held: Option<HeldCheckpoint>,
    /// The size up to which the tree is known to be correct.
    last_good: u64,
    /// True if entries are missing in the middle, so that later entries have no known position in
    /// the tree.
    broken: bool,
    keys: KeyChain,
    signatures: Signatures,
    semantics: Semantics,
    erasures: Erasures,
    states: States,
    now: Option<i64>,
    /// The index below which entries may be missing.
    below: u64,
}

impl Fold {
    fn new(claims: Claims, options: &Options, threads: usize) -> Self {
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
        match VerifierKey::parse(&claims.vkey) {
            Ok(key) => keys.start(claims.from, key),
            Err(error) => {
                let what = format!("the log's verifier key: {error}");
                findings.fail(VerifyFailure::new(Level::Signatures, None, what));
            }
        }
        let mut given = options.given.clone();
        given.sort_by_key(|given| given.checkpoint.size);
        Self {
            origin,
            vkeys: options.vkeys.clone(),
            witnesses: options
                .witnesses
                .iter()
                .map(|key| Demanded { key: key.clone(), seen: None })
                .collect(),
            findings,
            frontier: Frontier::new(),
            tiles: Some(TileRoots::default()),
            given: given.into(),
            held: None,
            last_good: 0,
            broken: false,
            keys,
            signatures: Signatures::new(threads),
            semantics: Semantics::new(claims.from),
            erasures: Erasures::default(),
            states: States::default(),
            now: options.now,
            below: 0,
            claims,
        }
    }

    /// Processes the hash of a pruned entry.
    pub(crate) fn pruned_hash(&mut self, hash: Hash) {
        self.check_given();
        self.grow(hash);
    }

    /// Processes the subtrees that replace everything before the first entry.
    pub(crate) fn subtrees(&mut self, subtrees: &[Hash]) {
        self.tiles = None;
        match Frontier::from_subtrees(self.claims.from, subtrees.to_vec()) {
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
    pub(crate) fn entry(&mut self, entry: &Entry<'_>, examined: Examined) {
        self.check_given();
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
            self.take_kind(entry, facts);
            self.states.take(entry, facts, &mut self.findings);
        }
        if entry.index == 0 {
            self.check_start(entry, examined.facts.as_ref());
        }
        self.grow(examined.leaf_hash);
    }

    fn grow(&mut self, leaf: Hash) {
        match &mut self.tiles {
            Some(tiles) => tiles.push(&mut self.frontier, leaf),
            None => self.frontier.push(leaf),
        }
    }

    /// Processes an erasure, prune or config entry, which affects the entries around it.
    fn take_kind(&mut self, entry: &Entry<'_>, facts: &Facts) {
        match facts.kind {
            Kind::Erasure => self.erasures.take(entry, facts, self.claims.from, &mut self.findings),
            Kind::Prune => self.prune(entry, facts),
            Kind::Config => self.key(entry, facts),
            _ => {}
        }
    }

    fn prune(&mut self, entry: &Entry<'_>, facts: &Facts) {
        let (Some(below), Some(root)) =
            (facts.number(entry.leaf, Member::Below), facts.hash(entry.leaf, Member::Root))
        else {
            return;
        };
        if below > entry.index {
            let what = format!("it prunes below {below}, which is not before it");
            self.findings.fail(VerifyFailure::new(Level::Semantics, entry.index, what));
            return;
        }
        self.below = self.below.max(below);
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
    fn key(&mut self, entry: &Entry<'_>, facts: &Facts) {
        let Some(text) = facts.text(entry.leaf, Member::Vkey) else { return };
        let subject = facts.text(entry.leaf, Member::Subject);
        let key = std::str::from_utf8(text).ok().and_then(|text| VerifierKey::parse(text).ok());
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
    fn check_start(&mut self, entry: &Entry<'_>, facts: Option<&Facts>) {
        let vkey = facts.and_then(|facts| {
            let start = facts.text(entry.leaf, Member::Subject) == Some(b"start");
            start.then(|| facts.text(entry.leaf, Member::Vkey)).flatten()
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

    /// Processes a checkpoint of the source.
    pub(crate) fn own_checkpoint(&mut self, note: &str, filed_under: Option<u64>) {
        self.check_given();
        let checkpoint = match Checkpoint::parse(note) {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                let what = format!("stored checkpoint: {error}");
                return self.findings.fail(VerifyFailure::new(
                    Level::Signatures,
                    filed_under,
                    what,
                ));
            }
        };
        let size = checkpoint.size;
        let fail = |what: &str| VerifyFailure::new(Level::Signatures, size, what);
        if let Some(filed_under) = filed_under.filter(|filed_under| *filed_under != size) {
            self.findings.fail(
                fail("stored checkpoint: filed under another size").differs(size, filed_under),
            );
        } else if self.held.as_ref().is_some_and(|held| size < held.size) {
            self.findings.fail(fail("stored checkpoint: they are not in the order of their sizes"));
        }
        self.present(&checkpoint, note, "stored checkpoint", true);
        let wrong = self.judge_root(&checkpoint, "stored checkpoint");
        if let Some(older) = self.held.replace(HeldCheckpoint { size, wrong }) {
            self.findings.checked(Level::Consistency, 1);
            if let Some(failure) = older.wrong {
                self.findings.fail(VerifyFailure { level: Level::Consistency, ..failure });
            }
        }
    }

    /// Processes the checkpoints from outside whose size the tree has reached.
    fn check_given(&mut self) {
        while let Some(given) =
            self.given.pop_front_if(|given| given.checkpoint.size <= self.frontier.size())
        {
            self.present(&given.checkpoint, &given.note, &given.label, false);
            if given.checkpoint.size < self.frontier.size() {
                self.findings.warn(
                    given.checkpoint.size,
                    "given checkpoint older than the first entry: not checkable",
                );
                continue;
            }
            self.findings.checked(Level::Consistency, 1);
            if let Some(failure) = self.judge_root(&given.checkpoint, &given.label) {
                self.findings.fail(VerifyFailure { level: Level::Consistency, ..failure });
            }
        }
    }

    /// Checks a checkpoint's origin, cosignatures and signatures.
    fn present(&mut self, checkpoint: &Checkpoint, note: &str, label: &str, own: bool) {
        let size = checkpoint.size;
        if checkpoint.origin != self.origin {
            let what = format!("{label}: it is of another log");
            let failure = VerifyFailure::new(Level::Signatures, size, what);
            self.findings.fail(failure.differs(&self.origin, shown(checkpoint.origin.as_bytes())));
        }
        let key_may_be_unknown = self.claims.from > 0 && size <= self.claims.from;
        self.present_to_witnesses(size, note, label);
        let presented = Presented { size, label, note, own, key_may_be_unknown };
        self.signatures.check(presented, &mut self.keys, &mut self.findings);
    }

    /// Records which required witnesses signed a checkpoint.
    fn present_to_witnesses(&mut self, size: u64, note: &str, label: &str) {
        if self.witnesses.is_empty() {
            return;
        }
        let Ok(note) = Note::parse(note) else { return };
        for witness in &mut self.witnesses {
            match witness.key.signed(&note) {
                Signed::Yes => witness.seen = witness.seen.max(Some(size)),
                Signed::Wrongly => {
                    let what = format!(
                        "{label}: it has a wrong signature of the witness {}",
                        witness.key.name()
                    );
                    self.findings.fail(VerifyFailure::new(Level::Signatures, size, what));
                }
                Signed::No => {}
            }
        }
    }

    /// Reports witnesses that did not sign the whole log. A witness does not vouch for entries
    /// after its last cosignature.
    fn finish_witnesses(&mut self) {
        let size = self.frontier.size();
        for Demanded { key, seen } in &self.witnesses {
            let name = key.name();
            match seen {
                None => {
                    let what = format!("the witness {name} signed no checkpoint of the log");
                    self.findings.fail(VerifyFailure::new(Level::Signatures, None, what));
                }
                Some(seen) if *seen < size => {
                    let what =
                        format!("the witness {name} has signed for {seen} of {size} entries");
                    self.findings.warn(None, &what);
                }
                Some(_) => {}
            }
        }
    }

    /// Compares a checkpoint with the current tree.
    fn judge_root(&mut self, checkpoint: &Checkpoint, label: &str) -> Option<VerifyFailure> {
        let (size, found) = (checkpoint.size, self.frontier.size());
        let fail = |what: String| Some(VerifyFailure::new(Level::Root, size, what));
        if size < found {
            // The checkpoint is older than the first entry of a partial export. Any other mismatch
            // was already reported.
            if self.claims.from > 0 && size < self.claims.from {
                self.findings
                    .warn(size, "stored checkpoint older than the first entry: not checkable");
                return None;
            }
            return fail(format!("{label}: it does not stand where its tree ends"));
        }
        if size > found {
            return fail(format!("{label}: the log is shorter than it says"))
                .map(|failure| failure.differs(size, found));
        }
        let root = self.frontier.root();
        if self.broken || root != checkpoint.root {
            let what = format!(
                "{label}: the tree of this size has another root; what differs is at or after entry {}",
                self.last_good
            );
            return fail(what).map(|failure| failure.differs(checkpoint.root, root));
        }
        self.last_good = size;
        None
    }

    /// Runs the checks that need the whole log.
    fn finish(mut self, source: &mut dyn Source) -> Result<Report, SourceError> {
        self.check_given();
        for given in std::mem::take(&mut self.given) {
            self.present(&given.checkpoint, &given.note, &given.label, false);
            self.findings.checked(Level::Consistency, 1);
            if let Some(failure) = self.judge_root(&given.checkpoint, &given.label) {
                self.findings.fail(VerifyFailure { level: Level::Consistency, ..failure });
            }
        }
        self.finish_newest();
        self.finish_witnesses();
        self.signatures.finish(&mut self.findings);
        self.finish_head();
        self.finish_tiles(source)?;
        if self.claims.missing_needs_prune && self.claims.from > self.below {
            let what =
                format!("the entries below {} are missing without a prune entry", self.claims.from);
            self.findings.fail(VerifyFailure::new(Level::Root, self.claims.from, what));
        }
        self.finish_trust();
        let erased_parts = self.erasures.erased();
        self.erasures.finish(source, self.below, &mut self.findings)?;
        let times = (self.now, self.semantics.last_ts());
        self.states.finish(source, times, &mut self.findings)?;
        self.semantics.finish(&mut self.findings);
        let vkey = self.keys.newest().map(ToString::to_string).unwrap_or_default();
        let key_trust = if self.vkeys.is_empty() { KeyTrust::FromLog } else { KeyTrust::Given };
        let (levels, warnings) = self.findings.into_levels();
        Ok(Report {
            valid: levels.iter().all(|level| level.held),
            origin: self.origin,
            from: self.claims.from,
            size: self.frontier.size(),
            root: self.frontier.root().to_string(),
            key_trust,
            vkey,
            erased_parts,
            levels,
            warnings,
        })
    }

    fn finish_newest(&mut self) {
        match self.held.take() {
            None => {
                let what = "there is no checkpoint that can be read";
                self.findings.fail(VerifyFailure::new(Level::Signatures, None, what));
            }
            Some(HeldCheckpoint { wrong: Some(failure), .. }) => self.findings.fail(failure),
            Some(HeldCheckpoint { size, wrong: None }) if size != self.frontier.size() => {
                let failure = VerifyFailure::new(
                    Level::Root,
                    size,
                    "the log is longer than its newest checkpoint",
                );
                self.findings.fail(failure.differs(size, self.frontier.size()));
            }
            Some(_) => {}
        }
    }

    fn finish_head(&mut self) {
        let size = self.frontier.size();
        let mut differs = |what: &str, expected: String, actual: String| {
            if expected != actual {
                self.findings
                    .fail(VerifyFailure::new(Level::Root, size, what).differs(expected, actual));
            }
        };
        differs("the source names another size", size.to_string(), self.claims.size.to_string());
        let Some(head) = &self.claims.head else { return };
        let hex = |bytes: &[u8]| data_encoding::HEXLOWER.encode(bytes);
        differs("head.root is another", self.frontier.root().to_string(), hex(&head.root));
        let frontier: Vec<u8> =
            self.frontier.subtrees().iter().flat_map(|hash| *hash.as_bytes()).collect();
        differs("head.frontier is another", hex(&frontier), hex(&head.frontier));
        if let Some(last_ts) = self.semantics.last_ts() {
            differs("head.last_ts is another", last_ts.to_string(), head.last_ts.to_string());
        }
        if let Some(newest) = self.keys.newest() {
            let signer = shown(head.signer.as_bytes());
            differs("meta.signer is not the key in force", newest.to_string(), signer);
        }
    }

    fn finish_tiles(&mut self, source: &mut dyn Source) -> Result<(), SourceError> {
        let (Some(tiles), held) = (&self.tiles, self.claims.tiles) else { return Ok(()) };
        if held == TilesHeld::None {
            return Ok(());
        }
        let mut seen = HashSet::new();
        let findings = &mut self.findings;
        source.read_tiles(&mut |Tile { level, number, hashes: tile, root }| {
            let partial = tile.len() as u64 != TILE_WIDTH * 32;
            let what = match tiles.judge(level, number, tile) {
                TileVerdict::Right if held == TilesHeld::Full && partial => "is not full",
                TileVerdict::Right
                    if root.is_some_and(|root| {
                        tiles.above(level, number).is_none_or(|above| above.as_bytes() != root)
                    }) =>
                {
                    "is filed with another root"
                }
                TileVerdict::Right => "",
                TileVerdict::Wrong => "is not what the leaves say",
                TileVerdict::Extra => "is extra, the tree has no such tile",
            };
            seen.insert((level, number));
            if !what.is_empty() {
                let what = format!("tile {number} of level {level} {what}");
                findings.fail(VerifyFailure::new(Level::Root, None, what));
            }
        })?;
        let size = self.frontier.size();
        for level in (0..8).take_while(|level| size >> (8 * level) > 0) {
            for (number, width) in tiles_of(size, level) {
                let needed = width == TILE_WIDTH || held == TilesHeld::FullAndPartial;
                if needed && !seen.contains(&(u64::from(level), number)) {
                    let what = format!("tile {number} of level {level} is missing");
                    self.findings.fail(VerifyFailure::new(Level::Root, None, what));
                }
            }
        }
        Ok(())
    }

    /// Checks that a trusted key is among the log's keys. Level 1 has checked that these keys
    /// signed.
    fn finish_trust(&mut self) {
        if self.vkeys.is_empty() {
            let what = "the key was taken from the log itself: give --vkey to know who wrote it";
            self.findings.warn(None, what);
        } else if !self.vkeys.iter().any(|key| self.keys.contains(key)) {
            let newest = self.keys.newest().map(ToString::to_string).unwrap_or_default();
            let trusted: Vec<String> = self.vkeys.iter().map(ToString::to_string).collect();
            let failure = VerifyFailure::new(
                Level::Signatures,
                None,
                "the log is not signed by a trusted key",
            );
            self.findings.fail(failure.differs(trusted.join(" or "), newest));
        }
    }
}
