//! Tests `answerback ledger` from outside: its output, its exit codes, and its files.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::folder::Folder;
use crate::masked::masked;
use crate::program::{program, told};

const DOCUMENTS: &str = "../answerback/tests/documents";

/// A ledger in its own folder.
pub(crate) struct Ledger {
    pub(crate) folder: tempfile::TempDir,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program(DOCUMENTS);
        let home = self.folder.path();
        command.env_remove("ANSWERBACK_STORE").env("HOME", home);
        command.env("XDG_STATE_HOME", home.join("state")).env("XDG_DATA_HOME", home.join("data"));
        command.arg("ledger").args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that must succeed, and returns its output.
    pub(crate) fn good(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}\n{}", told(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn code(&self, arguments: &[&str]) -> i32 {
        self.run(arguments).status.code().unwrap()
    }

    pub(crate) fn told(&self, arguments: &[&str]) -> String {
        masked(&told(&self.run(arguments)), self.folder.path())
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path("state/answerback/ledger.db")
    }

    /// Creates a ledger with a call and its response, a governed response, and an invalid one.
    pub(crate) fn filled() -> Self {
        let ledger = Self::new();
        let call = ledger.write("call.json", r#"{"tool": "solution.project.register"}"#);
        let tool = "solution.project.register";
        ledger.good(&["record", "--request", &call, "--tool", tool, "tool-full.json"]);
        ledger.good(&["record", "governed-refused.json"]);
        let broken = ledger.write("broken.json", r#"{"schema_id": "dotbot-mcp-response@1"}"#);
        assert_eq!(ledger.code(&["record", &broken]), 1);
        ledger
    }

    /// Copies the store to a single file.
    fn copy(&self, name: &str) -> PathBuf {
        let behind = Connection::open(self.store()).unwrap();
        behind.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        drop(behind);
        let copy = self.path(name);
        fs::copy(self.store(), &copy).unwrap();
        copy
    }
}

/// Returns all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn what_is_recorded_is_shown() {
    let ledger = Ledger::filled();
    for (name, arguments) in [
        ("tail", &["tail"][..]),
        ("tail-one", &["tail", "-n", "1"]),
        ("tail-json", &["tail", "-n", "2", "--format", "json"]),
        ("show-request", &["show", "1"]),
        ("show-response", &["show", "2"]),
        ("show-governed", &["show", "4"]),
        ("show-json", &["show", "2", "--format", "json"]),
        ("verify", &["verify"]),
        ("prove", &["prove", "2"]),
        ("prove-growth", &["prove", "--from", "3"]),
        ("checkpoint", &["checkpoint"]),
        ("vkey", &["checkpoint", "--vkey"]),
        ("again", &["record", "governed-refused.json"]),
        ("search-tool", &["search", "--tool", "solution.project.register"]),
        ("search-kind", &["search", "--kind", "rejected"]),
        ("search-nothing", &["search", "--agent", "nobody"]),
        ("search-nothing-json", &["search", "--agent", "nobody", "--format", "json"]),
        ("search-page", &["search", "--limit", "2"]),
        ("search-cursor", &["search", "--limit", "2", "--cursor", "4", "--format", "json"]),
    ] {
        insta::assert_snapshot!(format!("ledger-{name}"), ledger.told(arguments));
    }
    let bytes = ledger.run(&["show", "2", "--part", "response", "--raw"]).stdout;
    assert_eq!(bytes, fs::read(Path::new(DOCUMENTS).join("tool-full.json")).unwrap());
}

/// A governed response is verified against manifest and lock, which are recorded, too. The verifier repeats the
/// verification.
#[test]
fn governed_responses_are_verified() {
    let (ledger, prompts) = (Ledger::new(), Folder::of_prompts("ledger-governed"));
    let at = |name: &str| format!("{}/{name}", prompts.path());
    let (manifest, lock) = (at("prompt-manifest.json"), at("prompt-lock.json"));
    let record =
        |file: &str| ledger.run(&["record", "--manifest", &manifest, "--lock", &lock, file]);
    let accepted = record(&at("response.json"));
    assert_eq!(accepted.status.code(), Some(0), "{}", told(&accepted));
    let response = fs::read_to_string(at("response.json")).unwrap();
    let mut forged: Value = serde_json::from_str(&response).unwrap();
    forged["agent"]["prompt_hash"] = "0".repeat(64).into();
    forged["response_id"] = "6f1e1f0a-0000-4000-8000-000000000001".into();
    let refused = record(&ledger.write("forged.json", forged.to_string()));
    insta::assert_snapshot!(
        "ledger-record-refused",
        masked(&told(&refused), ledger.folder.path()).split("----- stderr").nth(1).unwrap()
    );
    assert_eq!(refused.status.code(), Some(1));
    insta::assert_snapshot!("ledger-tail-governed", ledger.told(&["tail"]));
    let found = ledger.good(&["search", "--kind", "rejected", "--format", "json"]);
    let found: Value = serde_json::from_str(found.trim()).unwrap();
    assert_eq!(found["leaf"]["verdict"]["result"], "refused");
    let report: Value =
        serde_json::from_str(&ledger.good(&["verify", "--format", "json"])).unwrap();
    assert_eq!(report["valid"], true);
}

/// A response is recorded with the handoff that it answers. One that names another request is rejected, but still
/// linked.
#[test]
fn a_response_is_recorded_with_its_handoff() {
    let (ledger, prompts) = (Ledger::new(), Folder::of_prompts("ledger-handoff"));
    let at = |name: &str| format!("{}/{name}", prompts.path());
    let (manifest, lock, handoff) =
        (at("prompt-manifest.json"), at("prompt-lock.json"), at("handoff.json"));
    let record = |handoff: &str, file: &str| {
        let against = ["record", "--manifest", &manifest, "--lock", &lock, "--handoff", handoff];
        ledger.told(&[&against[..], &["--format", "json", file]].concat())
    };
    // The first response names another request, so it is rejected but linked to this handoff.
    let response = fs::read_to_string(at("response.json")).unwrap();
    let mut other: Value = serde_json::from_str(&response).unwrap();
    other["request_context"]["request_id"] = "4f1c2b7e-5d64-4a0c-9b1e-8a7d6c5b4a39".into();
    other["response_id"] = "6f1e1f0a-0000-4000-8000-000000000002".into();
    let other = ledger.write("other.json", other.to_string());
    insta::assert_snapshot!(
        "ledger-handoff-other",
        record(&handoff, &other).split("----- stderr").nth(1).unwrap()
    );
    assert!(record(&handoff, &at("response.json")).starts_with("exit: 0"));
    insta::assert_snapshot!("ledger-tail-handoff", ledger.told(&["tail"]));
    let request = ledger.good(&["show", "3", "--part", "handoff", "--raw"]);
    assert_eq!(request, fs::read_to_string(&handoff).unwrap());
    let leaf = |index: &str| -> Value {
        let shown = ledger.good(&["show", index, "--format", "json"]);
        serde_json::from_str::<Value>(&shown).unwrap()["leaf"].clone()
    };
    let (request, refused, accepted) = (leaf("3"), leaf("4"), leaf("5"));
    assert_eq!(request["agent_id"], "domain-02-product");
    assert_eq!((&request["contract"], &request["kind"]), (&json!("handoff"), &json!("request")));
    assert_eq!((&refused["kind"], &accepted["kind"]), (&json!("rejected"), &json!("response")));
    for answer in [&refused, &accepted] {
        assert_eq!(answer["request_index"], "3");
        assert_eq!(answer["request_id"], request["request_id"]);
    }
    let report: Value =
        serde_json::from_str(&ledger.good(&["verify", "--format", "json"])).unwrap();
    assert_eq!(report["valid"], true);
    // A second response, another handoff with the same id, and documents that are not handoffs are not recorded.
    let mut second: Value = serde_json::from_str(&response).unwrap();
    second["response_id"] = "6f1e1f0a-0000-4000-8000-000000000003".into();
    let second = ledger.write("second.json", second.to_string());
    let forged = fs::read_to_string(&handoff).unwrap().replace("Give a 95", "Give a 99");
    let forged = ledger.write("forged-handoff.json", forged);
    for (name, said) in [
        ("second", record(&handoff, &second)),
        ("forged", record(&forged, &second)),
        ("not-one", record(&lock, &second)),
        ("no-response", record(&handoff, "tool-full.json")),
        ("alone", ledger.told(&["record", &handoff])),
        ("no-authority", ledger.told(&["record", "--handoff", &handoff, &second])),
    ] {
        let said = said.replace(prompts.path(), "[prompts]");
        assert!(said.starts_with("exit: 2"), "{name}: {said}");
        insta::assert_snapshot!(format!("ledger-handoff-{name}"), said);
    }
    assert_eq!(ledger.code(&["verify"]), 0);
}

#[test]
fn words_of_content_are_found() {
    let ledger = Ledger::filled();
    let found = ledger.good(&["search", "--text", "refund time", "--format", "json"]);
    let found: Value = serde_json::from_str(found.trim()).unwrap();
    assert_eq!(found["index"], "4");
    assert_eq!(ledger.code(&["search", "--text", "marmalade"]), 1);
    assert_eq!(ledger.code(&["search", "--since", "1h", "--kind", "request"]), 0);
    assert_eq!(ledger.code(&["search", "--until", "2020-01-01"]), 1);
    assert_eq!(ledger.code(&["search", "--response", "5e0b9a41-72cd-4f18-b3a6-0d9c8e7f6a55"]), 0);
    let masked = ledger.told(&["stats"]);
    let stable: String = masked
        .lines()
        .filter(|line| !line.starts_with("files") && !line.starts_with("leaves"))
        .map(|line| format!("{line}\n"))
        .collect();
    insta::assert_snapshot!("ledger-stats", stable);
    let stats: Value = serde_json::from_str(&ledger.good(&["stats", "--format", "json"])).unwrap();
    assert_eq!((&stats["anchor"], &stats["text_behind"]), (&json!("in_step"), &json!(0)));
}

/// After an erasure no file of the ledger contains the content, and everything still verifies.
#[test]
fn erased_content_is_in_no_file() {
    let ledger = Ledger::new();
    let secret = "zanzibarMarmaladeQuintessence";
    let document =
        json!({"response_type": "text", "summary": secret, "timestamp": "2026-03-04T05:06:07Z"});
    let path = ledger.path("secret.json");
    fs::write(&path, document.to_string()).unwrap();
    ledger.good(&["record", path.to_str().unwrap()]);
    fs::remove_file(&path).unwrap();
    assert_eq!(ledger.code(&["search", "--text", secret]), 0, "the index has it, too");
    let holding = || {
        let needle = secret.to_ascii_lowercase();
        let holds = |path: &PathBuf| {
            let bytes = fs::read(path).unwrap().to_ascii_lowercase();
            bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
        };
        files(ledger.folder.path()).into_iter().filter(holds).count()
    };
    assert!(holding() >= 2);
    insta::assert_snapshot!(
        "ledger-erase-unasked",
        ledger.told(&["erase", "2", "response", "--basis", "request"])
    );
    insta::assert_snapshot!(
        "ledger-erase",
        ledger.told(&["erase", "2", "response", "--basis", "request", "--yes"])
    );
    assert_eq!(holding(), 0);
    insta::assert_snapshot!("ledger-show-erased", ledger.told(&["show", "2"]));
    assert_eq!(ledger.code(&["search", "--text", secret]), 1);
    assert_eq!(ledger.code(&["verify"]), 0);
    insta::assert_snapshot!(
        "ledger-erase-again",
        ledger.told(&["erase", "2", "response", "--basis", "request", "--yes"])
    );
}

/// If content is erased during a read, the command says that the files still contain it. The next write removes it.
#[test]
fn content_that_is_still_read_goes_later() {
    let ledger = Ledger::filled();
    let reader = Connection::open(ledger.store()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM entry").unwrap();
    let erase = ["erase", "2", "response", "--basis", "request", "--yes", "--format", "json"];
    let output = ledger.run(&erase);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &said["gone_from_files"]), (Some(0), &json!(false)));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("the files still contain the content"), "{told}");
    drop(reader);
    let erase = ["erase", "4", "response", "--basis", "request", "--yes", "--format", "json"];
    let said: Value = serde_json::from_str(&ledger.good(&erase)).unwrap();
    assert_eq!(said["gone_from_files"], true);
    assert_eq!(ledger.code(&["verify"]), 0);
}

/// After a key rotation the log continues with the new key, and both keys verify it.
#[test]
fn a_key_is_changed() {
    let ledger = Ledger::filled();
    let old = ledger.good(&["checkpoint", "--vkey"]);
    assert_eq!(ledger.code(&["rotate"]), 2, "nobody is asked where there is no terminal");
    assert_eq!(ledger.good(&["checkpoint", "--vkey"]), old);
    let changed: Value =
        serde_json::from_str(&ledger.good(&["rotate", "--yes", "--format", "json"])).unwrap();
    let new = ledger.good(&["checkpoint", "--vkey"]);
    assert_eq!((&changed["vkey"], &changed["old_vkey"]), (&json!(new.trim()), &json!(old.trim())));
    let index = changed["changed_by"].as_str().unwrap();
    let entry: Value =
        serde_json::from_str(&ledger.good(&["show", index, "--format", "json"])).unwrap();
    assert_eq!(entry["leaf"]["vkey"], changed["vkey"]);
    ledger.good(&["record", "tool-least.json"]);
    let text = ledger.good(&["rotate", "--yes"]);
    assert!(text.contains("signs from now on"), "{text}");
    ledger.good(&["record", "ui-least.json"]);
    for key in [&old, &new, &ledger.good(&["checkpoint", "--vkey"])] {
        assert_eq!(ledger.code(&["verify", "--vkey", key.trim()]), 0, "{key}");
    }
    // No old key file is left.
    let keys = files(&ledger.path("state/answerback"));
    let keys = keys.iter().filter(|path| path.to_string_lossy().contains(".key"));
    assert_eq!(keys.count(), 1);
}

#[test]
fn tampering_ends_with_the_level_that_fails() {
    let ledger = Ledger::filled();
    let old = ledger.copy("old.db");
    ledger.good(&["record", "ui-least.json"]);
    for (number, (sql, code)) in [
        ("UPDATE meta SET value = value || 'x' WHERE key = 'origin'", 11),
        ("UPDATE entry SET outcome = 'ok'", 12),
        ("DELETE FROM entry WHERE seq = 3", 12),
        ("UPDATE part SET bytes = x'7b7d' WHERE seq = 2", 13),
        ("DELETE FROM part WHERE seq = 4", 13),
    ]
    .into_iter()
    .enumerate()
    {
        let copy = ledger.copy(&format!("copy-{number}.db"));
        let behind = Connection::open(&copy).unwrap();
        behind.execute_batch("DROP TRIGGER entry_update; DROP TRIGGER entry_delete").unwrap();
        behind.execute_batch(sql).unwrap();
        drop(behind);
        assert_eq!(ledger.code(&["verify", copy.to_str().unwrap()]), code, "{sql}");
    }
    let anchor = files(&ledger.path("data")).pop().unwrap();
    let arguments = ["verify", old.to_str().unwrap(), "--checkpoint", anchor.to_str().unwrap()];
    insta::assert_snapshot!("ledger-verify-rolled-back", ledger.told(&arguments));
    // The old copy fails verification, `stats` reports it, and writing to it is rejected.
    fs::copy(&old, ledger.store()).unwrap();
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", ledger.store().display()));
    }
    assert_eq!(ledger.code(&["verify"]), 14);
    assert_eq!(ledger.code(&["stats"]), 1);
    insta::assert_snapshot!("ledger-record-behind", ledger.told(&["record", "ui-least.json"]));
    let told = ledger.told(&["stats"]);
    assert!(!told.contains("health     good") && told.contains("ledger adopt"), "{told}");
    // After adopting, the ledger can be written again, and `verify` reports the rollback.
    assert_eq!(ledger.code(&["adopt"]), 2, "nobody said yes");
    insta::assert_snapshot!("ledger-adopt", ledger.told(&["adopt", "--yes"]));
    assert_eq!(ledger.code(&["adopt", "--yes"]), 2, "there is nothing to adopt any more");
    let told = ledger.good(&["verify"]);
    assert!(told.contains("restored from an older copy"), "{told}");
    ledger.good(&["record", "ui-least.json"]);
    let told = ledger.good(&["stats"]);
    assert!(told.contains("health     good"), "{told}");
}

#[test]
fn a_key_that_is_gone_is_not_called_another_key() {
    let ledger = Ledger::filled();
    fs::remove_file(ledger.path("state/answerback/ledger.key")).unwrap();
    let told = ledger.told(&["record", "ui-least.json"]);
    assert!(told.contains("there is no key file") && !told.contains("another key"), "{told}");
}

/// Replacing a file must not remove a pipe or a link: a pipe is written to, and a link stays a link.
#[cfg(unix)]
#[test]
fn only_files_are_replaced_by_an_export() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let ledger = Ledger::filled();
    let expected = ledger.good(&["export", "--to", "-"]);
    let name = |name: &str| ledger.path(name).to_str().unwrap().to_owned();
    let pipe = name("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for force in [&["--force"][..], &[]] {
        let reading = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        ledger.good(&[&["export", "--to", &pipe], force].concat());
        assert_eq!(reading.join().unwrap(), expected);
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    }
    let (file, link, lost) = (ledger.write("file.jsonl", "old"), name("link"), name("lost"));
    symlink(&file, &link).unwrap();
    symlink(name("nothing"), &lost).unwrap();
    assert_eq!(ledger.code(&["export", "--to", &link]), 2);
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    ledger.good(&["export", "--to", &link, "--force"]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    let socket = name("socket");
    let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (place, format) in [(&lost, "jsonl"), (&socket, "jsonl"), (&pipe, "parquet")] {
        for force in [&["--force"][..], &[]] {
            let arguments = ["export", "--to", place, "--format", format];
            let refused = ledger.run(&[&arguments, force].concat());
            let said = String::from_utf8(refused.stderr).unwrap();
            assert_eq!(refused.status.code(), Some(2), "{said}");
            assert!(!said.contains("--force") && said.contains("; name "), "{said}");
            assert!(!fs::symlink_metadata(place).unwrap().is_file());
        }
    }
    assert!(!ledger.path("nothing").exists());
}

#[test]
fn receipts_are_verified_without_the_log() {
    let ledger = Ledger::filled();
    let receipt = ledger.good(&["prove", "4"]);
    let vkey = ledger.good(&["checkpoint", "--vkey"]);
    let file = ledger.write("receipt.txt", &receipt);
    let empty = Ledger::new();
    let verify = ["verify", "--receipt", &file, "--vkey", vkey.trim()];
    insta::assert_snapshot!(
        "ledger-receipt",
        masked(&told(&empty.run(&verify)), empty.folder.path())
    );
    assert_eq!(ledger.code(&["verify", "--receipt", &file]), 0);
    let changed = ledger.write("changed.txt", receipt.replace("index 4", "index 3"));
    for (format, said) in [("text", "FAILS   "), ("json", "{\"valid\":false,\"level\":\"root\",")] {
        let failed = empty
            .run(&[&["verify", "--receipt", &changed, "--format", format], &verify[3..]].concat());
        let (out, errors) = (String::from_utf8(failed.stdout), String::from_utf8(failed.stderr));
        assert!(out.unwrap().starts_with(said));
        assert_eq!((failed.status.code(), errors.unwrap().as_str()), (Some(12), ""));
    }
    assert_eq!(ledger.code(&["verify", "--receipt", &changed]), 12);
    let stranger = Ledger::filled().good(&["checkpoint", "--vkey"]);
    assert_eq!(ledger.code(&["verify", "--receipt", &file, "--vkey", stranger.trim()]), 11);
    let cut = ledger.write("cut.txt", &receipt[..40]);
    let unread = ledger.run(&["verify", "--receipt", &cut, "--format", "json"]);
    let said: Value = serde_json::from_slice(&unread.stdout).unwrap();
    assert_eq!((unread.status.code(), &said["level"]), (Some(2), &Value::Null));
    assert_eq!(empty.code(&["verify", "--receipt", &file]), 2, "no key and no store");
}

#[test]
fn exports_verify() {
    let ledger = Ledger::filled();
    let (file, tiles) = (ledger.path("export.jsonl"), ledger.path("tiles"));
    let (file, tiles) = (file.to_str().unwrap(), tiles.to_str().unwrap());
    let vkey = ledger.good(&["checkpoint", "--vkey"]);
    insta::assert_snapshot!("ledger-export", ledger.told(&["export", "--to", file, "--otel"]));
    insta::assert_snapshot!("ledger-export-there", ledger.told(&["export", "--to", file]));
    ledger.good(&["export", "--to", file, "--force"]);
    ledger.good(&["export", "--to", tiles, "--format", "tiles"]);
    for path in [file, tiles] {
        assert_eq!(ledger.code(&["verify", path, "--vkey", vkey.trim()]), 0, "{path}");
    }
    assert_eq!(ledger.code(&["export", "--to", tiles, "--format", "tiles"]), 2, "it is not empty");
    assert_eq!(ledger.code(&["export", "--to", "-", "--format", "tiles"]), 2);
    let rest = ledger.good(&["export", "--to", "-", "--from", "3"]);
    assert_eq!(ledger.code(&["verify", &ledger.write("rest.jsonl", rest)]), 0);
    insta::assert_snapshot!(
        "ledger-export-beyond",
        ledger.told(&["export", "--to", "-", "--from", "99"])
    );
    let published = ledger.path("checkpoint");
    ledger.good(&["checkpoint", "--publish", published.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(&published).unwrap(), ledger.good(&["checkpoint"]));
    let other = Ledger::filled();
    assert_eq!(other.code(&["checkpoint", "--publish", published.to_str().unwrap()]), 2);
}

#[test]
fn young_entries_are_not_pruned_by_accident() {
    let ledger = Ledger::new();
    let mut arguments = vec!["record", "--format", "json"];
    arguments.extend(["ui-least.json"; 130]);
    let receipts = ledger.good(&arguments);
    assert_eq!(receipts.lines().count(), 130);
    insta::assert_snapshot!(
        "ledger-prune-young",
        ledger.told(&["prune", "--below", "260", "--yes"])
    );
    insta::assert_snapshot!(
        "ledger-prune-old",
        ledger.told(&["prune", "--older-than", "183d", "--yes"])
    );
    assert_eq!(ledger.code(&["prune", "--below", "99999", "--force", "--yes"]), 2);
    insta::assert_snapshot!(
        "ledger-prune",
        ledger.told(&["prune", "--below", "260", "--force", "--yes"])
    );
    assert_eq!(ledger.code(&["verify"]), 0);
    insta::assert_snapshot!("ledger-show-pruned", ledger.told(&["show", "3"]));
    let tiles = ledger.path("tiles");
    ledger.good(&["export", "--to", tiles.to_str().unwrap(), "--format", "tiles"]);
    assert_eq!(ledger.code(&["verify", tiles.to_str().unwrap()]), 0);
}

#[test]
fn a_ledger_that_is_not_there_is_said_to_be_not_there() {
    let ledger = Ledger::new();
    insta::assert_snapshot!("ledger-none", ledger.told(&["tail"]));
    for arguments in [
        &["show", "1"][..],
        &["search"],
        &["verify"],
        &["prove", "1"],
        &["checkpoint"],
        &["export", "--to", "-"],
        &["erase", "1", "response", "--basis", "legal", "--yes"],
        &["prune", "--older-than", "200d", "--yes"],
        &["stats"],
    ] {
        let output = ledger.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("there is no ledger at"));
    }
    assert!(files(ledger.folder.path()).is_empty(), "looking makes nothing");
}

#[test]
fn wrong_input_says_what_is_right() {
    let ledger = Ledger::filled();
    let not_json = ledger.write("not.json", "{");
    let unknown = ledger.write("unknown.json", "{}");
    let foreign = ledger.write("foreign.db", "not a database, but long enough to be looked at");
    for (name, arguments) in [
        ("show-beyond", &["show", "99"][..]),
        ("show-word", &["show", "first"]),
        ("erase-beyond", &["erase", "99", "response", "--basis", "request", "--yes"]),
        ("erase-no-part", &["erase", "2", "answer", "--basis", "request", "--yes"]),
        ("unknown-contract", &["record", &unknown]),
        ("prove-beyond", &["prove", "99"]),
        ("prove-between", &["prove", "--from", "1", "--to", "2"]),
        ("prove-nothing", &["prove"]),
        ("bad-kind", &["search", "--kind", "answer"]),
        ("bad-time", &["search", "--since", "yesterday"]),
        ("bad-id", &["search", "--request", "7"]),
        ("bad-basis", &["erase", "1", "response", "--basis", "whim"]),
        ("bad-key", &["verify", "--vkey", "nonsense"]),
        ("bad-span", &["prune", "--older-than", "long"]),
        ("not-json", &["record", &not_json]),
        ("no-reply", &["record", "descriptor-least.json"]),
        ("not-a-ledger", &["verify", &foreign]),
        ("foreign-store", &["--store", &foreign, "tail"]),
    ] {
        insta::assert_snapshot!(format!("ledger-wrong-{name}"), ledger.told(arguments));
    }
}

#[test]
fn several_programs_share_one_ledger() {
    let ledger = Ledger::new();
    ledger.good(&["record", "ui-least.json"]);
    let mut arguments = vec!["record", "--format", "json"];
    arguments.extend(["tool-least.json"; 10]);
    let children: Vec<_> = (0..4)
        .map(|_| ledger.command(&arguments).stdout(Stdio::piped()).spawn().unwrap())
        .collect();
    let mut indexes: Vec<u64> = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            indexes.push(line["index"].as_str().unwrap().parse().unwrap());
        }
    }
    indexes.sort_unstable();
    indexes.dedup();
    assert_eq!(indexes.len(), 40, "each has an entry of its own");
    let report: Value =
        serde_json::from_str(&ledger.good(&["verify", "--format", "json"])).unwrap();
    assert_eq!((&report["valid"], &report["size"]), (&json!(true), &json!(83)));
}

#[test]
fn following_sees_what_others_write() {
    let ledger = Ledger::filled();
    let mut follower = ledger.command(&["tail", "-n", "1", "--follow", "--for", "4"]);
    let follower = follower.stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    ledger.good(&["record", "ui-least.json"]);
    let output = follower.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(lines.lines().count(), 3, "{lines}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let ledger = Ledger::new();
    let mut arguments = vec!["record", "--format", "json"];
    arguments.extend(["tool-full.json"; 100]);
    ledger.good(&arguments);
    for arguments in [&["export", "--to", "-"][..], &["tail", "-n", "1000", "--format", "json"]] {
        let mut child = ledger
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

/// Output never controls the terminal and shows no secret, whatever the content.
#[test]
fn hostile_content_is_shown_not_sent() {
    let ledger = Ledger::new();
    let summary = "\u{1b}]0;owned\u{7}\u{202e} postgres://app:hunter2@db.example.com/orders";
    let document =
        json!({"response_type": "text", "summary": summary, "timestamp": "2026-03-04T05:06:07Z"});
    let path = ledger.write("hostile.json", document.to_string());
    ledger.good(&["record", &path]);
    for arguments in
        [&["show", "2"][..], &["show", "2", "--format", "json"], &["show", "2", "--raw"]]
    {
        let shown = ledger.good(arguments);
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

/// Recorded content has no secrets, from whatever source. A commitment covers the original.
#[test]
fn secrets_are_not_recorded() {
    let (ledger, prompts) = (Ledger::new(), Folder::of_prompts("ledger-secrets"));
    let at = |name: &str| format!("{}/{name}", prompts.path());
    let reply = json!({"response_type": "text", "summary": "password=hunter22!", "timestamp": "2026-03-04T05:06:07Z"});
    let reply = ledger.write("reply.json", reply.to_string());
    let request = ledger.write("request.json", r#"{"api_key":"hunter22-abcd-1234"}"#);
    ledger.good(&["record", "--request", &request, &reply]);
    let mut handoff: Value =
        serde_json::from_str(&fs::read_to_string(at("handoff.json")).unwrap()).unwrap();
    handoff["context"]["request"]["input_data"]["password"] = "hunter22".into();
    let handoff = ledger.write("handoff.json", handoff.to_string());
    let (manifest, lock, response) =
        (at("prompt-manifest.json"), at("prompt-lock.json"), at("response.json"));
    let against =
        ["record", "--manifest", &manifest, "--lock", &lock, "--handoff", &handoff, &response];
    for _ in 0..2 {
        let recorded = ledger.run(&against);
        assert!(
            recorded.status.code() < Some(2),
            "the same handoff is the same: {}",
            told(&recorded)
        );
    }
    for file in files(&ledger.path("state")) {
        let bytes = fs::read(&file).unwrap();
        assert!(!bytes.windows(8).any(|window| window == b"hunter22"), "{}", file.display());
    }
    let entry: Value =
        serde_json::from_str(&ledger.good(&["show", "2", "--format", "json"])).unwrap();
    let parts: Vec<_> = entry["leaf"]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["name"].clone())
        .collect();
    assert_eq!(parts, ["response", "response.original"], "{entry}");
    assert_eq!(ledger.code(&["verify"]), 0);
}

/// A response id belongs to the first response with it.
#[test]
fn another_response_under_an_id_is_recorded_as_rejected() {
    let (ledger, prompts) = (Ledger::new(), Folder::of_prompts("ledger-taken"));
    let at = |name: &str| format!("{}/{name}", prompts.path());
    let (manifest, lock) = (at("prompt-manifest.json"), at("prompt-lock.json"));
    let record = |lock: &str, file: &str| {
        let output = ledger.run(&[
            "record",
            "--manifest",
            &manifest,
            "--lock",
            lock,
            "--format",
            "json",
            file,
        ]);
        let line: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(&output)));
        let said = String::from_utf8(output.stderr).unwrap();
        (
            output.status.code().unwrap(),
            line["index"].as_str().unwrap().to_owned(),
            line["kind"].as_str().unwrap().to_owned(),
            said,
        )
    };
    let (code, first, kind, _) = record(&lock, &at("response.json"));
    assert_eq!((code, kind.as_str()), (0, "response"));
    let (code, again, kind, said) = record(&lock, &at("response.json"));
    assert_eq!((code, again.as_str(), kind.as_str()), (0, first.as_str(), "response"), "{said}");
    let response = fs::read_to_string(at("response.json")).unwrap();
    let mut other: Value = serde_json::from_str(&response).unwrap();
    other["timestamp"] = "2026-03-04T05:06:08Z".into();
    let other = ledger.write("other.json", other.to_string());
    let (code, index, kind, said) = record(&lock, &other);
    assert_eq!((code, kind.as_str()), (1, "rejected"), "{said}");
    assert!(
        index != first && said.contains(&format!("another reply, entry {first}, already has")),
        "{said}"
    );
    let entry: Value =
        serde_json::from_str(&ledger.good(&["show", &index, "--format", "json"])).unwrap();
    assert_eq!(entry["leaf"]["codes"], json!(["RESPONSE_ID_TAKEN"]), "{entry}");
    // A rejected response stays rejected under its id, even with the right lock later.
    let mut early: Value = serde_json::from_str(&response).unwrap();
    early["response_id"] = "6f1e1f0a-0000-4000-8000-000000000009".into();
    early["request_context"]["request_id"] = "6f1e1f0a-0000-4000-8000-00000000000a".into();
    let early = ledger.write("early.json", early.to_string());
    let mut stale: Value = serde_json::from_str(&fs::read_to_string(&lock).unwrap()).unwrap();
    for prompt in stale["prompts"].as_object_mut().unwrap().values_mut() {
        prompt["hash"] = "0".repeat(64).into();
    }
    let stale = ledger.write("stale-lock.json", stale.to_string());
    let (code, refused, kind, said) = record(&stale, &early);
    assert_eq!((code, kind.as_str()), (1, "rejected"), "{said}");
    let (code, late, kind, said) = record(&lock, &early);
    assert_eq!((code, kind.as_str()), (1, "rejected"), "{said}");
    assert!(
        late != refused && said.contains(&format!("another reply, entry {refused}, already has")),
        "{said}"
    );
    assert_eq!(ledger.code(&["verify"]), 0);
}

/// With or without the Parquet feature, the program reports what it did.
#[test]
fn parquet_is_a_matter_of_how_the_program_was_built() {
    let ledger = Ledger::filled();
    let to = ledger.path("ledger.parquet");
    let export = ["export", "--format", "parquet", "--to", to.to_str().unwrap()];
    let told = ledger.told(&export);
    if cfg!(feature = "parquet") {
        assert!(told.starts_with("exit: 0"), "{told}");
        assert!(fs::read(&to).unwrap().starts_with(b"PAR1"));
        assert_eq!(ledger.code(&export), 2, "what is there stays");
    } else {
        assert!(told.starts_with("exit: 2") && told.contains("--features parquet"), "{told}");
        assert!(!to.exists());
    }
    assert_eq!(ledger.code(&["export", "--format", "parquet", "--to", "-"]), 2);
}

/// A ledger moves from a file to a database with the same log and key, and its receipts stay valid.
#[test]
fn a_ledger_moves_into_a_database() {
    let ledger = Ledger::filled();
    for (name, arguments) in [
        ("migrate-to-nowhere", &["migrate", "--to", "ledger.db"][..]),
        ("migrate-no-server", &["migrate", "--to", "postgresql://nobody@127.0.0.1:1/x"]),
    ] {
        insta::assert_snapshot!(name, ledger.told(arguments));
    }
    // The rest needs a server, so it runs only under `scripts/postgres`.
    let Ok(server) = std::env::var("ANSWERBACK_TEST_POSTGRES") else { return };
    let schema = format!("moved_{}", std::process::id());
    let url = format!("{server}?schema={schema}");
    let receipt = ledger.write("receipt.txt", ledger.good(&["prove", "2"]));
    let key = ledger.path("state/answerback/ledger.key");
    let moved = ledger.good(&["migrate", "--to", &url, "--format", "json"]);
    let moved: Value = serde_json::from_str(&moved).unwrap();
    let anchor = moved["anchor"].as_str().unwrap();
    let there = ["--store", &url, "--key", key.to_str().unwrap(), "--anchor", anchor];
    let with = |arguments: &[&'static str]| [&there[..], arguments].concat();
    ledger.good(&with(&["record", "governed-full.json"]));
    let report: Value =
        serde_json::from_str(&ledger.good(&with(&["verify", "--format", "json"]))).unwrap();
    assert!(report["levels"].to_string().contains("root"), "{report}");
    assert_eq!(ledger.code(&["verify", &url]), 0, "the verifier takes the URL itself");
    ledger.good(&with(&["stats"]));
    ledger.good(&with(&["show", "2"]));
    ledger.good(&[&there[..], &["verify", "--receipt", &receipt]].concat());
    // The old file can still be read, but not written.
    ledger.good(&["show", "2"]);
    assert_eq!(ledger.code(&["record", "governed-text.json"]), 2);
    assert_eq!(ledger.code(&["migrate", "--to", &url]), 2);
}

#[test]
fn one_entry_is_one() {
    let ledger = Ledger::new();
    ledger.good(&["record", "tool-least.json"]);
    ledger.run(&["search", "--text", "x"]);
    ledger.good(&["rotate", "--yes"]);
    let told = ledger.good(&["stats"]);
    assert!(told.contains("full text  1 entry behind\n"), "{told}");
}
