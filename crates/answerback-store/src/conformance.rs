//! The guarantees of a store, as test functions. Each engine runs all of them.
#![expect(clippy::unwrap_used, reason = "a violated guarantee panics the test")]

mod content;
mod log;
mod operation;

use crate::{Settings, Store, StoreError};

/// Opens the store with this name and changed settings. The first call creates the store.
pub type Open<'a> = &'a dyn Fn(&str, &dyn Fn(Settings) -> Settings) -> Result<Store, StoreError>;

/// A guarantee with its name.
pub type Guarantee = (&'static str, fn(Open<'_>));

/// All guarantees.
pub const GUARANTEES: &[Guarantee] = &[
    ("the first entry is the start", log::the_first_entry_is_the_start),
    (
        "an appended entry is durable and has a proof",
        log::an_appended_entry_is_durable_and_has_a_proof,
    ),
    ("time only rises", log::time_only_rises),
    ("a response finds its request", log::a_response_finds_its_request),
    ("entries are found", log::entries_are_found),
    ("entries are found across tiles", log::entries_are_found_across_tiles),
    ("an erased part is removed and every proof stays valid", log::an_erased_part_is_removed),
    ("pruning keeps every proof of the rest", log::pruning_keeps_proofs),
    ("attempts compare and swap", content::attempts_compare_and_swap),
    ("expired retry states are removed, and those beyond the cap", content::attempts_are_swept),
    ("notes expire, and are erased with their entries", content::notes_expire),
    ("the first decision wins", content::the_first_decision_wins),
    (
        "erasing an entry erases the cases that come from it",
        content::erasing_an_entry_erases_its_cases,
    ),
    ("events count without holes", content::events_count_without_holes),
    ("blobs are stored by digest", content::blobs_are_stored_by_digest),
    ("a failing unit is rolled back alone", operation::a_failing_unit_is_rolled_back_alone),
    ("two handles share one chain", operation::two_handles_share_one_chain),
    ("a full queue is an error", operation::a_full_queue_is_an_error),
    ("a key is changed by an entry", operation::a_key_is_changed_by_an_entry),
    ("keys are changed one after the other", operation::keys_are_changed_one_after_the_other),
    ("a store behind its anchor does not sign", operation::a_store_behind_its_anchor_does_not_sign),
    ("a failing anchor is reported", operation::a_failing_anchor_is_reported),
];

/// Checks that an engine meets all guarantees, each on a separate store.
pub fn conformance(open: Open<'_>) {
    for (_, check) in GUARANTEES {
        check(open);
    }
}
