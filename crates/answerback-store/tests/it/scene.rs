//! A store in a temporary folder, and the program that appends to it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use answerback::case::{Case, CaseKind, Decision, DecisionSubmission};
use answerback::finding::ValidationError;
use answerback::retry::{
    Context, HideSecrets, RetryEvent, RetryKey, RetryPolicy, RetryState, Sent, TrackedCall, step,
};
use answerback::{Digest, Severity, Timestamp, UuidV7};
use answerback_ledger::tree::Frontier;
use answerback_ledger::{Checkpoint, Draft, Hash, LeafId, LeafToken};
use answerback_store::{
    Export, NewCase, Settings, Store, StoreError, Transaction, case_reference, entry_reference,
};
use answerback_verify::{VerifyOptions, open, verify};
use serde_json::json;

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
        self.appender_that("", count, in_flight)
    }

    /// Starts the appender with a word for its extra task. It waits when it reads its input.
    pub(crate) fn appender_that(&self, word: &str, count: u64, in_flight: usize) -> Child {
        // Cargo builds the examples before it runs tests, into a folder next to them.
        let tests = std::env::current_exe().unwrap();
        let program = tests.parent().and_then(Path::parent).unwrap().join("examples/appender");
        Command::new(program)
            .args([self.path("store.db"), self.path("ledger.key")])
            .args([count.to_string(), in_flight.to_string()])
            .args([self.path("anchor").as_os_str(), word.as_ref()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

/// One distinct word for each kind of text that a store contains.
pub(crate) const WORDS: [&str; 12] = [
    "quinceRequest",
    "quinceEvent",
    "quinceBlob",
    "quinceFirst",
    "quinceLast",
    "quinceState",
    "quinceShown",
    "quinceDecision",
    "quinceCorrected",
    "quinceDecider",
    "quinceSealed",
    "quinceNote",
];

/// Returns the state of a retry key after a failing call with this argument.
fn failed(argument: &str, record: &str, now: Timestamp) -> RetryState {
    let arguments = json!({ "path": argument });
    let findings = [ValidationError::new("VAL-002", Severity::Error)];
    let call = TrackedCall::new("read_file", "call-1", Sent::Value(&arguments), &findings, [7; 10]);
    let call = call.with_record(record);
    let policy = RetryPolicy::default();
    step(None, RetryEvent::Call(call), &Context::new(&policy, &HideSecrets, now)).state.unwrap()
}

/// Returns the retry key that [`tell_everything`] uses.
pub(crate) fn told_key() -> RetryKey {
    RetryKey::of_conversation("thread", "read_file")
}

/// Writes each of [`WORDS`] to its place in the store. Returns the entries with parts that they
/// come from.
pub(crate) fn tell_everything(store: &Store) -> Vec<u64> {
    let part = |word: &str| store.part("seen", word.as_bytes()).unwrap();
    let request = Draft::request().with_part(part("quinceRequest"));
    let first = Draft::validation(1, 3).with_part(part("quinceFirst"));
    let last = Draft::validation(2, 3).with_part(part("quinceLast"));
    let said = part("quinceDecision");
    let unit = move |transaction: &mut dyn Transaction| {
        let request = transaction.append(&request)?.index;
        let reference = entry_reference(request);
        transaction.append_event("live", "row", Some(&reference), b"quinceEvent")?;
        transaction.put_blob(b"quinceBlob", Some(&reference))?;
        let first = transaction.append(&first)?.index;
        let now = transaction.now();
        let state = failed("quinceState", &entry_reference(first), now);
        assert!(transaction.replace_retry_state(&told_key(), None, Some(&state))?);
        let last = transaction.append(&last)?.index;
        let id = UuidV7::from_time(now, [3; 10]);
        let digest = Digest::of_bytes(b"quinceShown");
        let case = Case::new(id.clone(), CaseKind::Escalation, digest, now.plus_days(9));
        let mut new =
            NewCase::new(case.clone(), *b"quinceShown").with_reference(entry_reference(last));
        for source in transaction.attempt_sources(&told_key())? {
            new = new.with_source(source);
        }
        transaction.put_case(&new)?;
        let ledger_id = LeafId::try_from(&id).unwrap();
        transaction.append(&Draft::escalation(ledger_id, digest, 0).with_attempt(2, 3))?;
        let arguments = json!({ "path": "quinceCorrected" });
        let submission = DecisionSubmission::about(&case, Decision::Modify { arguments });
        transaction.decide_case(&id, &submission.with_by("quinceDecider"))?;
        let draft = Draft::decision(ledger_id, LeafToken::new("modify").unwrap(), digest, 1);
        let decision = transaction.append(&draft.with_part(said.clone()))?.index;
        transaction.add_words_source(&id, &entry_reference(decision))?;
        transaction.store_private(&id, Some(b"quinceSealed"))?;
        let note = case_reference(&id);
        transaction.append_event(
            "answerback/case/1",
            "acknowledged",
            Some(&note),
            b"quinceNote",
        )?;
        Ok(vec![request, first, last, decision])
    };
    store.write(unit).unwrap().wait().unwrap().value
}

/// Reads the output of a child process: the acknowledged indexes with their hashes.
pub(crate) fn acknowledged(child: &mut Child) -> Vec<(u64, String)> {
    let output = BufReader::new(child.stdout.take().unwrap());
    let line = |line: String| {
        let (index, hash) = line.split_once(' ')?;
        // A line that the kill truncated is not an acknowledgment.
        (hash.len() == 64).then(|| (index.parse().unwrap(), hash.to_owned()))
    };
    output.lines().map_while(Result::ok).filter_map(line).collect()
}

/// Hashes every entry again, and checks head and newest checkpoint. It also runs the verifier,
/// which shares no code with the store. Returns the hash of each entry.
pub(crate) fn verified(store: &Store) -> Vec<Hash> {
    let folder = tempfile::tempdir().unwrap();
    let export = folder.path().join("export.jsonl");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&export).unwrap());
    store.export_jsonl(Export::new(), &mut file, &mut |_| ()).unwrap();
    drop(file);
    judged(&export);
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

/// Checks a store's file or an export with the verifier.
pub(crate) fn judged(path: &Path) {
    let report = verify(open(path).unwrap().as_mut(), &VerifyOptions::new()).unwrap();
    assert_eq!(report.exit_code(), 0, "{report}");
}

pub(crate) fn append(store: &Store, count: u64) {
    let tickets: Vec<_> =
        (0..count).map(|_| store.append(Draft::request().with_tool("test")).unwrap()).collect();
    for ticket in tickets {
        ticket.wait().unwrap();
    }
}
