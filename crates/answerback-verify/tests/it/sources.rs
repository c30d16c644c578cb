//! Verifies the same log from all sources, on one thread and on several.

use std::{num::NonZeroUsize, path::Path};

use answerback_verify::{
    KeyTrust, NoteVerifierKey, SourceError, VerifyOptions, VerifyReport, open, verify,
    verify_with_progress,
};

use crate::{
    failed, judge,
    support::{
        Ledger, Writer, sample, text,
        written::{InMemory, SqliteWriter},
    },
};

/// Verifies a ledger from a database file, JSON lines and tiles. The reports must agree.
fn from_everywhere(ledger: &Ledger) -> VerifyReport {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    ledger.write_sqlite(&at("ledger.db"));
    std::fs::write(at("ledger.jsonl"), ledger.jsonl()).unwrap();
    ledger.write_tiles(&at("tiles"));
    let options = VerifyOptions::new().with_vkey(NoteVerifierKey::parse(&ledger.vkey).unwrap());
    let mut reports = Vec::new();
    for name in ["ledger.db", "ledger.jsonl", "tiles"] {
        for threads in [1, 3] {
            let options = options.clone().with_threads(NonZeroUsize::new(threads).unwrap());
            let report = verify(open(&at(name)).unwrap().as_mut(), &options).unwrap();
            assert_eq!(failed(&report), [0_u8; 0], "{name}\n{report}");
            reports.push(report);
        }
    }
    for report in &reports[1..] {
        assert_eq!(report.root, reports[0].root);
        assert_eq!(report.levels, reports[0].levels);
    }
    reports.swap_remove(0)
}

#[test]
fn a_log_with_every_kind_holds_everywhere() {
    let report = from_everywhere(&sample::every_kind().ledger);
    assert_eq!((report.size, report.erased_parts, report.exit_code()), (15, 1, 0));
    insta::assert_snapshot!(report, @r"
    log     answerback.local/0190c3a2-7f00-7000-8000-000000000001
    entries 0 to 14 of 15
    root    1d8661e2f935336b2dcf63a3d89af39f84c5bc04cb6e66a495488c6e282f97ae
    key     as given
    holds   1 signatures (6 checked)
    holds   2 root (15 checked)
    holds   3 content (13 checked)
    holds   4 consistency (5 checked)
    holds   5 semantics (15 checked)
    warning request without an answer: the process may have been ended in between: 1 (12)
    ");
}

#[test]
fn long_logs_hold_everywhere() {
    for size in [255, 256, 257, 600] {
        let report = from_everywhere(&sample::long(size, 50));
        assert_eq!(report.size, size);
    }
}

#[test]
fn a_pruned_log_holds_everywhere() {
    let mut writer = Writer::new(7);
    for number in 0..200 {
        let request = sample::request(&mut writer, number);
        sample::ungoverned_response(&mut writer, request);
        writer.append("validation", &[("attempt", "1".to_owned())], &[]);
        if number % 20 == 0 {
            writer.checkpoint();
        }
    }
    writer.prune(512);
    writer.checkpoint();
    let (pruned, whole) = (writer.ledger.clone(), writer.root());
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    pruned.write_sqlite(&path("ledger.db"));
    pruned.write_tiles(&path("tiles"));
    std::fs::write(path("ledger.jsonl"), pruned.jsonl()).unwrap();
    for name in ["ledger.db", "tiles", "ledger.jsonl"] {
        let report = judge(open(&path(name)).unwrap().as_mut(), VerifyOptions::new());
        assert_eq!(failed(&report), [0_u8; 0], "{name}\n{report}");
        assert_eq!((report.from, report.size), (512, 602));
        assert_eq!(report.root, data_encoding::HEXLOWER.encode(&whole));
    }
    // Without a prune entry, the same missing entries are a failure.
    let mut writer = Writer::new(7);
    for number in 0..600 {
        sample::request(&mut writer, number);
    }
    writer.ledger.rows.drain(..256);
    writer.ledger.parts.retain(|part| part.seq >= 256);
    writer.ledger.minimum = 256;
    writer.checkpoint();
    assert_eq!(failed(&judge(&mut InMemory::new(writer.ledger), VerifyOptions::new())), [2]);
}

#[test]
fn keys_can_change() {
    let mut writer = sample::every_kind();
    writer.rotate(8);
    writer.append("config", &[("subject", text("stop"))], &[]);
    writer.checkpoint();
    writer.append("config", &[("subject", text("start"))], &[]);
    writer.checkpoint();
    let report = from_everywhere(&writer.ledger);
    assert_eq!(report.vkey, crate::support::vkey(&writer.ledger.origin, &crate::support::key(8)));
    assert_eq!(report.key_trust, KeyTrust::Given);
    // Trusting the newest key works as well as trusting the first one.
    let newest = NoteVerifierKey::parse(&report.vkey).unwrap();
    let report = judge(&mut InMemory::new(writer.ledger), VerifyOptions::new().with_vkey(newest));
    assert_eq!(failed(&report), [0_u8; 0], "{report}");
}

#[test]
fn a_key_from_the_log_itself_gives_a_warning() {
    let report = judge(&mut InMemory::new(sample::every_kind().ledger), VerifyOptions::new());
    assert_eq!(report.key_trust, KeyTrust::FromLog);
    assert!(
        report.warnings.iter().any(|warning| warning.what.contains("taken from the log itself"))
    );
}

#[test]
fn anchors_and_notes_from_outside_are_compared() {
    let ledger = sample::every_kind().ledger;
    let anchor = ledger.anchor();
    let torn = format!("{anchor}{{\"checkp");
    let options = VerifyOptions::new().with_checkpoints("anchor", &torn).unwrap();
    let options = options.with_checkpoints("note", &ledger.checkpoints[1].1).unwrap();
    let report = judge(&mut InMemory::new(ledger.clone()), options);
    assert_eq!(failed(&report), [0_u8; 0], "{report}");
    // Five older checkpoints of the log, six of the anchor, one note.
    assert_eq!(report.levels[3].checked, 12);
    assert!(VerifyOptions::new().with_checkpoints("x", "{}\n").is_err());
    assert!(VerifyOptions::new().with_checkpoints("x", "not a note").is_err());
}

#[test]
fn an_erased_manifest_gives_a_warning() {
    let mut writer = sample::every_kind();
    writer.erase(1, "manifest");
    writer.checkpoint();
    let report = judge(&mut InMemory::new(writer.ledger), VerifyOptions::new());
    assert_eq!(failed(&report), [0_u8; 0], "{report}");
    let warning =
        report.warnings.iter().find(|warning| warning.what.contains("not checkable")).unwrap();
    assert_eq!(warning.indexes, [4, 11]);
}

#[test]
fn a_file_can_be_verified_while_it_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.db");
    let mut writer = Writer::new(7);
    let file = SqliteWriter::create(&path);
    writer.checkpoint();
    file.append(&mut writer.ledger);
    std::thread::scope(|scope| {
        let written = scope.spawn(move || {
            for number in 0..300 {
                let request = sample::request(&mut writer, number);
                sample::ungoverned_response(&mut writer, request);
                writer.checkpoint();
                file.append(&mut writer.ledger);
            }
        });
        let mut largest = 0;
        loop {
            let finished = written.is_finished();
            let report = judge(open(&path).unwrap().as_mut(), VerifyOptions::new());
            assert_eq!(failed(&report), [0_u8; 0], "{report}");
            assert!(report.size >= largest, "a later look sees no less");
            largest = report.size;
            if finished {
                break;
            }
        }
        assert_eq!(largest, 601);
    });
}

#[test]
fn a_copy_that_cannot_be_written_to_can_be_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a copy?#.db");
    sample::every_kind().ledger.write_sqlite(&path);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    let report = judge(open(&path).unwrap().as_mut(), VerifyOptions::new());
    assert_eq!(failed(&report), [0_u8; 0], "{report}");
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_file_that_is_not_a_ledger_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let mut said = Vec::new();
    let mut refuse = |path: &Path| {
        let refused = open(path).err().unwrap().to_string();
        assert!(refused.contains("; expected the SQLite file of"), "{refused}");
        let (reason, _) = refused.split_once(';').unwrap();
        said.push(reason.replace(&directory.path().display().to_string(), "[folder]"));
    };
    for content in [
        "",
        "{}\n",
        "{\"answerback_ledger\":2,\"origin\":\"o\",\"vkey\":\"k\",\"from\":\"0\",\"size\":\"0\"}\n",
        "x",
        "{\"a\":1}",
    ] {
        std::fs::write(&path, content).unwrap();
        refuse(&path);
    }
    refuse(directory.path());
    let empty = rusqlite::Connection::open(directory.path().join("empty.db")).unwrap();
    empty.execute_batch("CREATE TABLE t(x)").unwrap();
    refuse(&directory.path().join("empty.db"));
    insta::assert_snapshot!(said.join("\n"), @r"
    [folder]/file is not a ledger: it is empty
    [folder]/file is not a ledger: first line: missing field `answerback_ledger` at line 1 column 2
    [folder]/file is not a ledger: version 2 of the format is unknown
    [folder]/file is not a ledger: it begins neither like an SQLite file nor with a JSON object
    [folder]/file is not a ledger: first line: the line has no end
    [folder] is not a ledger: the directory has no file checkpoint
    [folder]/empty.db is not a ledger: it is an SQLite file, but format cannot be read in meta: no such table: meta
    ");
    assert!(matches!(open(Path::new("/nonexistent/ledger")), Err(SourceError::Read { .. })));
}

#[test]
fn progress_is_reported() {
    let ledger = sample::long(4_200, 500);
    let mut told = Vec::new();
    verify_with_progress(&mut InMemory::new(ledger), &VerifyOptions::new(), &mut |progress| {
        told.push((progress.done, progress.total));
    })
    .unwrap();
    assert_eq!(told, [(0, 4_200), (4_096, 4_200)]);
}
