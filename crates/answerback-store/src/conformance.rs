//! The guarantees of a store, as test functions. Each engine runs all of them.
#![expect(clippy::unwrap_used, reason = "a violated guarantee panics the test")]

mod content;
mod log;
mod operation;

use crate::{Settings, Store, StoreError};

/// Opens the store with this name and changed settings. The first call creates the store.
pub type Open<'a> = &'a dyn Fn(&str, &dyn Fn(Settings) -> Settings) -> Result<Store, StoreError>;

/// A guarantee with its name.
pub type Promise = (&'static str, fn(Open<'_>));

/// All guarantees.
pub const PROMISES: &[Promise] = &[
    ("the first entry is the start", log::the_first_entry_is_the_start),
    ("what is appended is durable and proven", log::what_is_appended_is_durable_and_proven),
    ("time only rises", log::time_only_rises),
    ("a response finds its request", log::a_response_finds_its_request),
    ("entries are found", log::entries_are_found),
    ("entries are found across tiles", log::entries_are_found_across_tiles),
    ("an erased part is gone and every proof holds", log::an_erased_part_is_gone),
    ("pruning keeps every proof of the rest", log::pruning_keeps_proofs),
    ("attempts compare and swap", content::attempts_compare_and_swap),
    ("lapsed attempts go, and those beyond the cap", content::attempts_are_swept),
    ("notes lapse, and go with what they tell", content::notes_lapse),
    ("the first decision wins", content::the_first_decision_wins),
    ("a case goes with what it comes from", content::a_case_goes_with_what_it_comes_from),
    ("events count without holes", content::events_count_without_holes),
    ("blobs are kept by digest", content::blobs_are_kept_by_digest),
    ("a failing unit takes back only itself", operation::a_failing_unit_takes_back_only_itself),
    ("two handles share one chain", operation::two_handles_share_one_chain),
    ("a full queue is an answer", operation::a_full_queue_is_an_answer),
    ("a key is changed by an entry", operation::a_key_is_changed_by_an_entry),
    ("keys are changed one after the other", operation::keys_are_changed_one_after_the_other),
    ("a store behind its anchor does not sign", operation::a_store_behind_its_anchor_does_not_sign),
    ("an anchor that fails shows", operation::an_anchor_that_fails_shows),
];

/// Checks that an engine meets all guarantees, each on a separate store.
pub fn conformance(open: Open<'_>) {
    for (_, promise) in PROMISES {
        promise(open);
    }
}
