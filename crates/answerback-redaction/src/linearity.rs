//! Tests that the cost of a search grows linearly with the text, for any text.
//!
//! They count steps instead of time, so that a test gives the same result on every machine.

use proptest::prelude::*;

use crate::testing::{grows_linearly, pieces, steps_of};
use crate::{SecretKind, redact, redact_pointer, scan};

fn search(text: &str) {
    scan::find(text);
}

#[test]
fn the_search_takes_linear_time() {
    let slow: Vec<String> =
        pieces().iter().filter_map(|piece| grows_linearly(piece, search).err()).collect();
    assert!(slow.is_empty(), "{slow:#?}");
}

#[test]
fn no_piece_uses_up_the_budget() {
    for piece in pieces() {
        let text = piece.repeat((16 << 10) / piece.len());
        let unsearched =
            scan::find(&text).into_iter().find(|found| found.kind == SecretKind::Unsearched);
        assert_eq!(unsearched, None, "{piece:?}");
    }
}

#[test]
fn a_long_run_of_one_prefix_costs_a_few_steps_for_each_byte() {
    for unit in ["sk-", "$", "pwd=$", "hf_", "a://", "$2b$"] {
        let text = unit.repeat((256 << 10) / unit.len());
        let steps = steps_of(|| search(&text));
        assert!(steps <= 64 * text.len(), "{unit:?}: {steps} steps for {} bytes", text.len());
    }
}

#[test]
fn a_pointer_costs_what_its_text_does() {
    for piece in pieces() {
        grows_linearly(&format!("{piece}/"), |text| drop(redact_pointer(text))).unwrap();
        grows_linearly(&piece, |text| drop(redact(text))).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_row_of_pieces_is_searched_in_linear_time(
        unit in prop::collection::vec(prop_oneof![
            4 => prop::sample::select(pieces()),
            1 => "[ -~]{1,12}",
        ], 1..5),
    ) {
        prop_assert_eq!(grows_linearly(&unit.concat(), search), Ok(()));
    }

    #[test]
    fn a_beginning_that_differs_changes_nothing(
        start in prop::sample::select(pieces()),
        unit in prop::collection::vec(prop::sample::select(pieces()), 1..4),
    ) {
        let unit = unit.concat();
        prop_assert_eq!(grows_linearly(&unit, |text| search(&format!("{start}{text}"))), Ok(()));
    }
}
