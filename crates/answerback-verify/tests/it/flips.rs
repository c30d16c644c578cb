//! Flips single bits everywhere: the verification must always fail.

use std::num::NonZeroUsize;

use answerback_verify::{VerifyOptions, open, verify};

use crate::{
    failed, judge,
    support::{Ledger, sample, written::InMemory},
};

fn on_one_thread() -> VerifyOptions {
    VerifyOptions::new().with_threads(NonZeroUsize::MIN)
}

/// Returns all byte values of a ledger, with their names.
fn pieces(ledger: &mut Ledger) -> Vec<(String, &mut [u8])> {
    let mut pieces: Vec<(String, &mut [u8])> = Vec::new();
    for row in &mut ledger.rows {
        let seq = row.seq;
        let mut add =
            |column: &str, bytes| pieces.push((format!("{column} of entry {seq}"), bytes));
        add("kind", &mut row.kind);
        add("leaf", &mut row.leaf);
        add("leaf_hash", &mut row.leaf_hash);
        for (column, value) in [
            ("agent", &mut row.agent),
            ("tool", &mut row.tool),
            ("outcome", &mut row.outcome),
            ("request_id", &mut row.request_id),
            ("response_id", &mut row.response_id),
            ("reply_id", &mut row.reply_id),
        ] {
            if let Some(bytes) = value {
                add(column, bytes);
            }
        }
    }
    for part in &mut ledger.parts {
        let seq = part.seq;
        pieces.push((format!("name of a part of {seq}"), &mut part.name));
        pieces.push((format!("salt of a part of {seq}"), &mut part.salt));
        pieces.push((format!("bytes of a part of {seq}"), &mut part.bytes));
    }
    for (level, number, root, data) in &mut ledger.tiles {
        pieces.push((format!("root of tile {level} {number}"), root));
        pieces.push((format!("tile {level} {number}"), data));
    }
    pieces.push(("frontier".to_owned(), &mut ledger.frontier));
    pieces.push(("root".to_owned(), &mut ledger.root));
    pieces
}

/// Flips one bit in each byte. A `step` above 1 skips bytes.
fn flip_all(good: &Ledger, step: usize) -> usize {
    let lengths: Vec<usize> =
        pieces(&mut good.clone()).iter().map(|(_, bytes)| bytes.len()).collect();
    let mut flips = 0;
    for (place, length) in lengths.into_iter().enumerate() {
        for at in (0..length).step_by(step) {
            let mut ledger = good.clone();
            let name = {
                let (name, bytes) = pieces(&mut ledger).swap_remove(place);
                bytes[at] ^= 1 << ((at + place) % 8);
                name
            };
            let report = judge(&mut InMemory::new(ledger), VerifyOptions::new());
            assert!(!report.valid, "byte {at} of {name} can be changed");
            flips += 1;
        }
    }
    flips
}

#[test]
fn no_byte_of_a_ledger_can_change() {
    let flips = flip_all(&sample::small(), 1) + flip_all(&sample::every_kind().ledger, 13);
    assert!(flips > 2_000, "{flips}");
}

#[test]
fn no_byte_of_tiles_can_change() {
    let good = sample::long(258, 100);
    let tile = good.tiles[0].3.len();
    for at in (0..tile).step_by(61) {
        let mut ledger = good.clone();
        ledger.tiles[0].3[at] ^= 1 << (at % 8);
        assert_eq!(
            failed(&judge(&mut InMemory::new(ledger), VerifyOptions::new())),
            [2],
            "byte {at}"
        );
    }
    for at in 0..32 {
        let mut ledger = good.clone();
        ledger.tiles[0].2[at] ^= 1 << (at % 8);
        let levels = failed(&judge(&mut InMemory::new(ledger), VerifyOptions::new()));
        assert_eq!(levels, [2], "byte {at} of the root");
    }
}

/// Checks flips in checkpoints. Notes are text, so a flip that breaks UTF-8 could not be stored and
/// is converted.
#[test]
fn no_byte_of_a_checkpoint_can_change() {
    let good = sample::small();
    for place in [0, good.checkpoints.len() - 1] {
        for at in 0..good.checkpoints[place].1.len() {
            for bit in 0..8 {
                let mut note = good.checkpoints[place].1.clone().into_bytes();
                note[at] ^= 1 << bit;
                let mut ledger = good.clone();
                ledger.checkpoints[place].1 = String::from_utf8_lossy(&note).into_owned();
                let report = judge(&mut InMemory::new(ledger), VerifyOptions::new());
                assert_eq!(report.exit_code(), 11, "bit {bit} of byte {at}\n{report}");
            }
        }
    }
}

/// Checks that a flipped export is either unreadable or fails the verification.
#[test]
fn no_byte_of_an_export_can_change() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.jsonl");
    let good = sample::small().jsonl().into_bytes();
    let (mut unjudged, mut judged) = (0, 0);
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 7);
        std::fs::write(&path, &bytes).unwrap();
        let report = open(&path).and_then(|mut source| verify(source.as_mut(), &on_one_thread()));
        match report {
            Err(_) => unjudged += 1,
            Ok(report) => {
                assert!(
                    !report.valid,
                    "byte {at}: {}",
                    String::from_utf8_lossy(&bytes[at.saturating_sub(30)..=at])
                );
                judged += 1;
            }
        }
    }
    assert!(unjudged > 100 && judged > 1_000, "{unjudged} {judged}");
}

/// Checks that truncating an export at any line is detected.
#[test]
fn no_export_can_be_cut() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.jsonl");
    let good = sample::every_kind().ledger.jsonl();
    for (at, _) in good.match_indices('\n') {
        for length in [at, at + 1].into_iter().filter(|length| *length < good.len()) {
            std::fs::write(&path, &good[..length]).unwrap();
            let report =
                open(&path).and_then(|mut source| verify(source.as_mut(), &on_one_thread()));
            assert!(report.is_err() || !report.unwrap().valid, "cut at {length}");
        }
    }
}
