//! A small ledger writer, based only on docs/reference/ledger-format.md, that creates test data for the
//! verifier.
//!
//! It shares no code with the store or the verifier: its tree is a stack of subtrees. All data is
//! public in [`Ledger`], so that tests can change any of it before it is written to a file.

pub(crate) mod sample;
pub(crate) mod written;

use std::{collections::BTreeMap, fmt::Write as _};

use data_encoding::{BASE64, HEXLOWER};
use ed25519_dalek::{Signer as _, SigningKey};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

pub(crate) type Digest = [u8; 32];

/// A row of `entry`.
#[derive(Clone, Default)]
pub(crate) struct Row {
    pub(crate) seq: u64,
    pub(crate) ts: i64,
    pub(crate) kind: Vec<u8>,
    pub(crate) agent: Option<Vec<u8>>,
    pub(crate) tool: Option<Vec<u8>>,
    pub(crate) outcome: Option<Vec<u8>>,
    pub(crate) request_id: Option<Vec<u8>>,
    pub(crate) response_id: Option<Vec<u8>>,
    pub(crate) reply_id: Option<Vec<u8>>,
    pub(crate) leaf: Vec<u8>,
    pub(crate) leaf_hash: Vec<u8>,
}

/// A row of `part`.
#[derive(Clone)]
pub(crate) struct PartRow {
    pub(crate) seq: u64,
    pub(crate) name: Vec<u8>,
    pub(crate) salt: Vec<u8>,
    pub(crate) bytes: Vec<u8>,
}

/// Holds the complete data of a ledger.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    pub(crate) origin: String,
    pub(crate) vkey: String,
    /// The key in force.
    pub(crate) signer: String,
    pub(crate) rows: Vec<Row>,
    pub(crate) parts: Vec<PartRow>,
    pub(crate) tiles: Vec<(u64, u64, Vec<u8>, Vec<u8>)>,
    pub(crate) checkpoints: Vec<(u64, String)>,
    pub(crate) size: u64,
    pub(crate) frontier: Vec<u8>,
    pub(crate) root: Vec<u8>,
    pub(crate) last_ts: i64,
    pub(crate) minimum: u64,
    /// All leaf hashes, including pruned ones, for exported tiles and for proofs.
    pub(crate) hashes: Vec<Digest>,
}

/// Creates a key from one byte, so that every run creates the same log.
pub(crate) fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

pub(crate) fn key_bytes(key: &SigningKey) -> Vec<u8> {
    [&[1], key.verifying_key().as_bytes().as_slice()].concat()
}

fn key_id(name: &str, key: &SigningKey) -> [u8; 4] {
    let digest = Sha256::digest([name.as_bytes(), b"\n", &key_bytes(key)].concat());
    digest[..4].try_into().unwrap()
}

pub(crate) fn vkey(name: &str, key: &SigningKey) -> String {
    format!("{name}+{}+{}", HEXLOWER.encode(&key_id(name, key)), BASE64.encode(&key_bytes(key)))
}

pub(crate) fn sign(origin: &str, size: u64, root: &Digest, keys: &[&SigningKey]) -> String {
    let text = format!("{origin}\n{size}\n{}\n", BASE64.encode(root));
    let mut note = format!("{text}\n");
    for key in keys {
        let signature = key.sign(text.as_bytes()).to_bytes();
        let line = BASE64.encode(&[key_id(origin, key).as_slice(), &signature].concat());
        writeln!(note, "— {origin} {line}").unwrap();
    }
    note
}

pub(crate) fn leaf_hash(leaf: &[u8]) -> Digest {
    Sha256::digest([&[0], leaf].concat()).into()
}

pub(crate) fn node_hash(left: &Digest, right: &Digest) -> Digest {
    Sha256::digest([&[1], left.as_slice(), right].concat()).into()
}

/// Computes the root by the definition of RFC 6962, which splits at the largest power of two below
/// the size.
pub(crate) fn root(hashes: &[Digest]) -> Digest {
    match hashes {
        [] => Sha256::digest([]).into(),
        [hash] => *hash,
        _ => {
            let split = hashes.len().next_power_of_two() / 2;
            node_hash(&root(&hashes[..split]), &root(&hashes[split..]))
        }
    }
}

/// Computes the inclusion path by the definition of RFC 6962.
pub(crate) fn inclusion(hashes: &[Digest], index: usize) -> Vec<Digest> {
    if hashes.len() < 2 {
        return Vec::new();
    }
    let split = hashes.len().next_power_of_two() / 2;
    let (left, right) = hashes.split_at(split);
    let (mut path, sibling) = if index < split {
        (inclusion(left, index), root(right))
    } else {
        (inclusion(right, index - split), root(left))
    };
    path.push(sibling);
    path
}

pub(crate) fn commit(salt: &[u8], bytes: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(salt).unwrap();
    mac.update(bytes);
    HEXLOWER.encode(&mac.finalize().into_bytes())
}

pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// Formats the value of a member as a JSON string.
pub(crate) fn text(value: impl AsRef<str>) -> String {
    format!("\"{}\"", value.as_ref())
}

/// Formats a time as `2026-11-15THH:MM:SS.ffffffZ`, for the first 24 hours of a log.
pub(crate) fn time(micros_after_start: i64) -> String {
    let (seconds, micros) = (micros_after_start / 1_000_000, micros_after_start % 1_000_000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("2026-11-15T{hours:02}:{minutes:02}:{seconds:02}.{micros:06}Z")
}

/// The start of all logs: 2026-11-15T00:00:00Z.
pub(crate) const START: i64 = 1_794_700_800_000_000;

/// Writes a log, one entry at a time.
pub(crate) struct Writer {
    pub(crate) ledger: Ledger,
    keys: Vec<SigningKey>,
    /// The old keys that must also sign the next checkpoint.
    leaving: Vec<SigningKey>,
    stack: Vec<(u32, Digest)>,
    levels: Vec<Vec<Digest>>,
    clock: i64,
}

impl Writer {
    /// Starts a log with its start entry.
    pub(crate) fn new(seed: u8) -> Self {
        let origin = "answerback.local/0190c3a2-7f00-7000-8000-000000000001";
        let key = key(seed);
        let vkey = vkey(origin, &key);
        let mut writer = Self {
            ledger: Ledger {
                origin: origin.to_owned(),
                vkey: vkey.clone(),
                signer: vkey.clone(),
                ..Ledger::default()
            },
            keys: vec![key],
            leaving: Vec::new(),
            stack: Vec::new(),
            levels: Vec::new(),
            clock: 1_000_000,
        };
        writer.append("config", &[("subject", text("start")), ("vkey", text(vkey))], &[]);
        writer
    }

    /// Appends an entry with members (values in JSON) and parts (name, bytes).
    pub(crate) fn append(
        &mut self,
        kind: &str,
        members: &[(&str, String)],
        parts: &[(&str, &[u8])],
    ) -> u64 {
        let seq = self.ledger.size;
        self.clock += 137;
        let mut all: BTreeMap<&str, String> = members.iter().cloned().collect();
        all.insert("v", "1".to_owned());
        all.insert("kind", text(kind));
        all.entry("ts").or_insert_with(|| text(time(self.clock)));
        let mut commitments = Vec::new();
        for (name, bytes) in parts {
            let salt: Digest = Sha256::digest(format!("salt {seq} {name}")).into();
            let commit = commit(&salt, bytes);
            let length = bytes.len();
            commitments.push(format!(
                r#"{{"alg":"hmac-sha256","commit":"{commit}","len":{length},"name":"{name}"}}"#
            ));
            let (name, salt) = (name.as_bytes().to_vec(), salt.to_vec());
            self.ledger.parts.push(PartRow { seq, name, salt, bytes: bytes.to_vec() });
        }
        if !commitments.is_empty() {
            all.insert("parts", format!("[{}]", commitments.join(",")));
        }
        let member =
            |name: &str| all.get(name).map(|value| value.trim_matches('"').as_bytes().to_vec());
        let uuid = |name: &str| {
            all.get(name)
                .map(|value| HEXLOWER.decode(value.replace(['"', '-'], "").as_bytes()).unwrap())
        };
        let row = Row {
            seq,
            ts: START + self.clock,
            kind: kind.as_bytes().to_vec(),
            agent: member("agent_id"),
            tool: member("tool"),
            outcome: member("outcome"),
            request_id: uuid("request_id"),
            response_id: uuid("response_id"),
            reply_id: uuid("reply_id"),
            leaf: Vec::new(),
            leaf_hash: Vec::new(),
        };
        let members: Vec<String> =
            all.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        self.append_leaf(row, format!("{{{}}}", members.join(",")).into_bytes())
    }

    /// Appends exact bytes as a leaf.
    pub(crate) fn append_leaf(&mut self, row: Row, leaf: Vec<u8>) -> u64 {
        let hash = leaf_hash(&leaf);
        self.ledger.last_ts = row.ts;
        self.ledger.rows.push(Row { leaf, leaf_hash: hash.to_vec(), ..row });
        self.grow(hash);
        self.ledger.size - 1
    }

    fn grow(&mut self, hash: Digest) {
        let (mut height, mut node) = (0, hash);
        while let Some((top, left)) = self.stack.last().copied()
            && top == height
        {
            self.stack.pop();
            (height, node) = (height + 1, node_hash(&left, &node));
        }
        self.stack.push((height, node));
        let (mut level, mut hash) = (0, hash);
        loop {
            self.levels.resize_with(self.levels.len().max(level + 1), Vec::new);
            self.levels[level].push(hash);
            if self.levels[level].len() < 256 {
                break;
            }
            let tile = std::mem::take(&mut self.levels[level]);
            let number =
                (self.ledger.size + 1) / 256_u64.pow(u32::try_from(level).unwrap() + 1) - 1;
            hash = root(&tile);
            self.ledger.tiles.push((level as u64, number, hash.to_vec(), tile.concat()));
            level += 1;
        }
        self.ledger
            .hashes
            .push(self.ledger.rows.last().unwrap().leaf_hash.as_slice().try_into().unwrap());
        self.ledger.size += 1;
    }

    /// Returns the current root of the log.
    pub(crate) fn root(&self) -> Digest {
        let mut nodes = self.stack.iter().rev().map(|(_, node)| *node);
        let Some(last) = nodes.next() else { return root(&[]) };
        nodes.fold(last, |right, left| node_hash(&left, &right))
    }

    /// Signs the current log and updates the head row.
    pub(crate) fn checkpoint(&mut self) -> String {
        let root = self.root();
        let leaving = std::mem::take(&mut self.leaving);
        let keys: Vec<&SigningKey> = leaving.iter().chain(self.keys.last()).collect();
        let note = sign(&self.ledger.origin, self.ledger.size, &root, &keys);
        self.ledger.checkpoints.push((self.ledger.size, note.clone()));
        self.ledger.root = root.to_vec();
        self.ledger.frontier = self.stack.iter().flat_map(|(_, node)| *node).collect();
        note
    }

    /// Rotates to another key.
    pub(crate) fn rotate(&mut self, seed: u8) -> u64 {
        let next = key(seed);
        let vkey = vkey(&self.ledger.origin, &next);
        self.ledger.signer.clone_from(&vkey);
        let index = self.append("config", &[("subject", text("key")), ("vkey", text(vkey))], &[]);
        self.leaving.extend(self.keys.last().cloned());
        self.keys.push(next);
        index
    }

    /// Erases a part and appends the entry that records it.
    pub(crate) fn erase(&mut self, target: u64, part: &str) -> u64 {
        self.ledger.parts.retain(|row| row.seq != target || row.name != part.as_bytes());
        let members = [
            ("target_index", text(target.to_string())),
            ("target_part", text(part)),
            ("basis", text("request")),
        ];
        self.append("erasure", &members, &[])
    }

    /// Prunes everything below an index and appends the entry that records it.
    pub(crate) fn prune(&mut self, below: u64) -> u64 {
        let root = root(&self.ledger.hashes[..usize::try_from(below).unwrap()]);
        self.ledger.rows.retain(|row| row.seq >= below);
        self.ledger.parts.retain(|row| row.seq >= below);
        self.ledger.minimum = below;
        let members = [("below", text(below.to_string())), ("root", text(HEXLOWER.encode(&root)))];
        self.append("prune", &members, &[])
    }
}
