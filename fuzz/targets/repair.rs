//! The repair of any call: its patch applies, the result is valid, the rest is untouched.
#![no_main]

use answerback::call::parse;
use answerback::json::Limits;
use answerback_fuzz::{call, promises};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let Some((schema, arguments)) = call::compiled(input) else { return };
    match parse(arguments, Limits::default()) {
        Ok(document) => drop(promises::of_repair(&schema, &document.value)),
        Err(malformed) => drop(promises::of_malformed_repair(&schema, &malformed)),
    }
});
