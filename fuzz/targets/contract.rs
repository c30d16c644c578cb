//! Every contract's checker on any document, under both profiles: it never panics, and whatever it
//! finds can be explained.
#![no_main]

use answerback::contract::{Contract, Profile, recognise};
use answerback::finding::codes;
use answerback::json::{Limits, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(document) = read(bytes, Limits::default()) else { return };
    let _ = recognise(&document.value);
    for contract in Contract::ALL {
        for profile in [Profile::Strict, Profile::Lenient] {
            for finding in contract.check(&document.value, profile) {
                assert!(codes::find(&finding.error_code).is_some(), "{finding}");
            }
        }
    }
});
