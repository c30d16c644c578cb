//! See `answerback_fuzz::judge`.
#![no_main]

use answerback::contract::Contract;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| answerback_fuzz::judge(Contract::Manifest, bytes));
