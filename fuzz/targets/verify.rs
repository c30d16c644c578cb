//! See `answerback_fuzz::verify`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| answerback_fuzz::verify(bytes));
