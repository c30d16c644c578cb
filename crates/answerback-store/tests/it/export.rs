//! Checks exports with the verifier and with the Python verifier in `docs`.

use std::fs;
use std::path::Path;
use std::process::Command;

use answerback_ledger::leaf::Basis;
use answerback_ledger::{Draft, LeafToken};
use answerback_store::{Export, ExportError, Store};
use answerback_verify::{NoteVerifierKey, VerifyOptions, VerifyReport, open, verify};

use crate::scene::{Scene, append};
use crate::verified::written;

fn exported(scene: &Scene, export: Export) -> Result<(VerifyReport, String), ExportError> {
    let path = scene.path("export.jsonl");
    let store = Store::read_sqlite(scene.path("store.db")).unwrap();
    let mut lines = Vec::new();
    store.export_jsonl(export, &mut lines, &mut |_| {})?;
    fs::write(&path, &lines).unwrap();
    let key = NoteVerifierKey::parse(&store.verifier_key().unwrap().to_string()).unwrap();
    let options = VerifyOptions::new().with_vkey(key);
    let report = verify(open(&path).unwrap().as_mut(), &options).unwrap();
    Ok((report, String::from_utf8(lines).unwrap()))
}

/// Runs the Python verifier in `docs`, if Python is installed.
#[expect(clippy::print_stdout, reason = "reports a skipped check")]
fn python(path: &Path) -> Option<i32> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/verify.py");
    match Command::new("python3").arg(script).arg(path).output() {
        Ok(output) => output.status.code(),
        Err(error) => {
            println!("skipped docs/verify.py: {error}");
            None
        }
    }
}

#[test]
fn an_export_verifies_wherever_it_begins_and_ends() {
    let scene = Scene::new();
    written(&scene);
    let store = Store::read_sqlite(scene.path("store.db")).unwrap();
    let head = store.head().unwrap();
    let (whole, lines) = exported(&scene, Export::new()).unwrap();
    assert_eq!(whole.exit_code(), 0, "{whole}");
    assert_eq!((whole.from, whole.size), (256, head.size));
    assert_eq!(whole.root, head.root.to_string());
    assert!(!lines.contains("otel") && lines.ends_with("\"}\n"));
    for path in [scene.path("store.db"), scene.path("export.jsonl")] {
        assert!(python(&path).is_none_or(|code| code == 0), "{}", path.display());
    }
    for from in [257, 301, 304, 312, 313, 314, 400, 512, head.size - 1] {
        let (report, _) = exported(&scene, Export::new().with_from(from)).unwrap();
        assert_eq!(report.exit_code(), 0, "from {from}\n{report}");
        assert_eq!((report.from, &report.root), (from, &whole.root));
    }
    // An export ends at the given size if there is a checkpoint, or else at the next checkpoint.
    let (part, _) = exported(&scene, Export::new().with_size(330)).unwrap();
    assert_eq!(part.exit_code(), 0, "{part}");
    assert!(part.size >= 330 && part.size < head.size, "{part}");
    for (from, size) in [(0, 300), (300, 300), (300, head.size + 1), (head.size, head.size)] {
        let refused = exported(&scene, Export::new().with_from(from).with_size(size)).unwrap_err();
        assert!(matches!(refused, ExportError::Range { .. }), "{from} to {size}: {refused}");
    }
}

/// Checks that an export cannot end between an entry and the entry that records its erasure.
#[test]
fn an_export_does_not_end_between_an_entry_and_its_erasure() {
    let scene = Scene::new();
    let store = scene.open().unwrap();
    let draft = Draft::request().with_part(store.part("seen", *b"{}").unwrap());
    let erased = store.append(draft).unwrap().wait().unwrap().value.index;
    // A full tile lies between the two, so a checkpoint is stored there.
    append(&store, 300);
    let seen = LeafToken::new("seen").unwrap();
    store.erase(erased, seen, Basis::Request).unwrap().wait().unwrap();
    let refused = exported(&scene, Export::new().with_size(100)).unwrap_err();
    let ExportError::ErasedLater { target, .. } = refused else { panic!("{refused}") };
    assert_eq!(target, erased);
    assert_eq!(exported(&scene, Export::new()).unwrap().0.exit_code(), 0);
}

#[test]
fn other_names_ride_along_and_prove_nothing() {
    let scene = Scene::new();
    written(&scene);
    let (report, lines) = exported(&scene, Export::new().with_otel(true)).unwrap();
    assert_eq!(report.exit_code(), 0, "{report}");
    assert!(lines.contains(
        r#""otel":{"gen_ai.operation.name":"invoke_agent","gen_ai.agent.id":"domain-02-analysis""#
    ));
    let changed = lines.replace("gen_ai.agent.id\":\"domain-02", "gen_ai.agent.id\":\"domain-03");
    assert_ne!(changed, lines);
    fs::write(scene.path("changed.jsonl"), changed).unwrap();
    let report =
        verify(open(&scene.path("changed.jsonl")).unwrap().as_mut(), &VerifyOptions::new());
    assert_eq!(report.unwrap().exit_code(), 0);
    assert!(python(&scene.path("export.jsonl")).is_none_or(|code| code == 0));
}

#[test]
fn tiles_verify() {
    let scene = Scene::new();
    written(&scene);
    let store = Store::read_sqlite(scene.path("store.db")).unwrap();
    let directory = scene.path("tiles");
    let mut told = Vec::new();
    let exported = store.export_tiles(&directory, &mut |seen| told.push(seen.done)).unwrap();
    let report = verify(open(&directory).unwrap().as_mut(), &VerifyOptions::new()).unwrap();
    assert_eq!(report.exit_code(), 0, "{report}");
    assert_eq!((report.from, report.size), (256, exported.size));
    assert!(directory.join("tile/0/000").is_file() && !directory.join("tile/entries/000").exists());
    assert_eq!(told.last(), Some(&(exported.size - exported.from)));
    assert!(python(&directory).is_none_or(|code| code == 0));
    // A directory that is in use is not changed.
    let refused = store.export_tiles(&directory, &mut |_| {}).unwrap_err();
    assert!(matches!(refused, ExportError::NotEmpty(_)), "{refused}");
    // Flip one bit in each kind of file.
    for name in ["tile/0/000", "tile/0/001", "tile/entries/001", "parts.jsonl", "checkpoints.jsonl"]
    {
        let path = directory.join(name);
        let good = fs::read(&path).unwrap();
        let mut bad = good.clone();
        let middle = bad.len() / 2;
        bad[middle] ^= 1;
        fs::write(&path, &bad).unwrap();
        let judged =
            open(&directory).and_then(|mut source| verify(source.as_mut(), &VerifyOptions::new()));
        assert!(judged.is_err() || !judged.unwrap().valid, "{name}");
        assert!(python(&directory).is_none_or(|code| code != 0), "{name}");
        fs::write(&path, good).unwrap();
    }
}

/// Checks a log whose first key was in a pruned entry.
#[test]
fn a_log_pruned_beyond_a_change_of_keys_verifies() {
    let scene = Scene::new();
    let store = scene.open().unwrap();
    append(&store, 10);
    store.rotate_key().unwrap().wait().unwrap();
    append(&store, 300);
    let part = store.part("seen", *b"x").unwrap();
    let index = store.append(Draft::request().with_part(part)).unwrap().wait().unwrap().value.index;
    store.prune(256, &mut |_| ()).unwrap();
    store.erase(index, LeafToken::new("seen").unwrap(), Basis::Retention).unwrap().wait().unwrap();
    drop(store);
    let report =
        verify(open(&scene.path("store.db")).unwrap().as_mut(), &VerifyOptions::new()).unwrap();
    assert_eq!(report.exit_code(), 0, "{report}");
    let (report, _) = exported(&scene, Export::new()).unwrap();
    assert_eq!((report.exit_code(), report.from), (0, 256), "{report}");
    assert!(python(&scene.path("store.db")).is_none_or(|code| code == 0));
}
