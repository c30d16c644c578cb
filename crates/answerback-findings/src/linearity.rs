//! Tests that a preview costs what its text does.

use answerback_redaction::testing::{grows_linearly, pieces};

use crate::Preview;

#[test]
fn a_preview_costs_what_its_text_does() {
    for piece in pieces() {
        grows_linearly(&piece, |text| drop(Preview::new().show_text(text))).unwrap();
    }
}
