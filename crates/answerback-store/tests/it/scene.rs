//! A store in a folder of its own, and the program that appends to it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use answerback_ledger::tree::Frontier;
use answerback_ledger::{Checkpoint, Draft, Hash};
use answerback_store::{Settings, Store, StoreError};

pub(crate) struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::new(self.path("ledger.key")).with_anchor_file(self.path("anchor"))
    }

    pub(crate) fn open(&self) -> Result<Store, StoreError> {
        Store::open_sqlite(self.path("store.db"), self.settings())
    }

    pub(crate) fn appender(&self, count: u64, in_flight: usize) -> Child {
        // Cargo builds examples before it runs tests, beside them.
        let tests = std::env::current_exe().unwrap();
        let program = tests.parent().and_then(Path::parent).unwrap().join("examples/appender");
        Command::new(program)
            .args([self.path("store.db"), self.path("ledger.key")])
            .args([count.to_string(), in_flight.to_string()])
            .arg(self.path("anchor"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

/// What a child printed: the indexes that were acknowledged, with their hashes.
pub(crate) fn acknowledged(child: &mut Child) -> Vec<(u64, String)> {
    let output = BufReader::new(child.stdout.take().unwrap());
    let line = |line: String| {
        let (index, hash) = line.split_once(' ')?;
        // A line that the kill cut off is not an acknowledgement.
        (hash.len() == 64).then(|| (index.parse().unwrap(), hash.to_owned()))
    };
    output.lines().map_while(Result::ok).filter_map(line).collect()
}

/// Every entry hashed anew, against the head and the newest checkpoint; and the hash of each.
pub(crate) fn verified(store: &Store) -> Vec<Hash> {
    let head = store.head().unwrap();
    let mut frontier = Frontier::default();
    let mut hashes = Vec::new();
    for index in 0..head.size {
        let entry = store.entry(index).unwrap().unwrap_or_else(|| panic!("no entry at {index}"));
        for (part, said) in entry.parts.iter().zip(entry.leaf.commitments()) {
            assert_eq!(part.commitment().to_string(), said.commit, "{index}");
        }
        frontier.append(entry.hash);
        hashes.push(entry.hash);
    }
    let checkpoint = Checkpoint::read(&store.checkpoint().unwrap()).unwrap();
    assert_eq!((checkpoint.size(), checkpoint.root()), (head.size, frontier.root()));
    assert_eq!(head.root, frontier.root());
    hashes
}

pub(crate) fn append(store: &Store, count: u64) {
    let tickets: Vec<_> =
        (0..count).map(|_| store.append(Draft::request().with_tool("test")).unwrap()).collect();
    for ticket in tickets {
        ticket.wait().unwrap();
    }
}
