//! A check of any arguments against any schema; see `answerback_fuzz::promises`.
#![no_main]

use answerback::call::parse;
use answerback::json::Limits;
use answerback_fuzz::{call, promises};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let Some((schema, arguments)) = call::compiled(input) else { return };
    let Ok(document) = parse(arguments, Limits::default()) else { return };
    promises::of_check(&schema, &document.value);
});
