//! Tests receipts in the format of C2SP tlog-proofs.

use std::fmt::Write as _;

use answerback_verify::{NoteVerifierKey, ReceiptProofError, verify_receipt};
use data_encoding::BASE64;

use crate::support::{Ledger, inclusion, key, sample, vkey};

fn receipt(ledger: &Ledger, index: usize, with_leaf: bool) -> String {
    let mut receipt = "c2sp.org/tlog-proof@v1\n".to_owned();
    if with_leaf {
        writeln!(receipt, "extra {}", BASE64.encode(&ledger.rows[index].leaf)).unwrap();
    }
    writeln!(receipt, "index {index}").unwrap();
    for hash in inclusion(&ledger.hashes, index) {
        writeln!(receipt, "{}", BASE64.encode(&hash)).unwrap();
    }
    format!("{receipt}\n{}", ledger.checkpoints.last().unwrap().1)
}

#[test]
fn receipts_of_every_entry_hold() {
    let ledger = sample::every_kind().ledger;
    let key = NoteVerifierKey::parse(&ledger.vkey).unwrap();
    for index in 0..ledger.rows.len() {
        let leaf = ledger.rows[index].leaf.as_slice();
        let proven = verify_receipt(&receipt(&ledger, index, true), &key, None).unwrap();
        assert_eq!((proven.index, proven.leaf.as_slice()), (index as u64, leaf));
        assert_eq!(proven.checkpoint.size, 15);
        verify_receipt(&receipt(&ledger, index, false), &key, Some(leaf)).unwrap();
    }
}

#[test]
fn receipts_that_prove_nothing_are_refused() {
    let ledger = sample::every_kind().ledger;
    let trusted = NoteVerifierKey::parse(&ledger.vkey).unwrap();
    let good = receipt(&ledger, 4, true);
    let refused = |text: &str| verify_receipt(text, &trusted, None).unwrap_err();
    assert_eq!(refused(&good.replace("index 4", "index 5")), ReceiptProofError::Proof);
    assert_eq!(
        refused(&good.replace("index 4", "index 04")),
        ReceiptProofError::Form("it has no index")
    );
    assert_eq!(refused(&receipt(&ledger, 4, false)), ReceiptProofError::NoLeaf);
    assert_eq!(
        refused(&good.replace("@v1", "@v2")),
        ReceiptProofError::Form("its first line is not that of a tlog-proof")
    );
    assert_eq!(refused(&good.replace("\n15\n", "\n14\n")), ReceiptProofError::Signature);
    assert_eq!(verify_receipt(&good, &trusted, Some(b"{}")), Err(ReceiptProofError::OtherLeaf));
    let other = NoteVerifierKey::parse(&vkey(&ledger.origin, &key(9))).unwrap();
    assert_eq!(verify_receipt(&good, &other, None), Err(ReceiptProofError::Signature));
    let elsewhere = NoteVerifierKey::parse(&vkey("elsewhere", &key(7))).unwrap();
    assert!(matches!(
        verify_receipt(&good, &elsewhere, None),
        Err(ReceiptProofError::Origin { .. })
    ));
    // Every changed byte and every truncation must be detected.
    for at in 0..good.len() {
        let mut bytes = good.clone().into_bytes();
        bytes[at] ^= 1 << (at % 7);
        let altered = String::from_utf8_lossy(&bytes).into_owned();
        assert!(verify_receipt(&altered, &trusted, None).is_err(), "byte {at}");
        if let Some(cut) = good.get(..at) {
            assert!(verify_receipt(cut, &trusted, None).is_err(), "cut at {at}");
        }
    }
}
