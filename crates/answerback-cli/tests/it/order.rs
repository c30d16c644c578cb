//! The order in which functions are linked speaks of functions that exist.

use std::collections::HashSet;
use std::fs;

/// Most of what it names of our own code may not have been renamed since: the program would be larger in memory, and nobody would
/// see why. Which instances of generic code of others exist is for the compiler to say.
#[test]
fn the_order_is_of_this_program() {
    let program = fs::read(env!("CARGO_BIN_EXE_answerback")).unwrap();
    // A dollar would be the linker's own, so the order has a question mark, which is any character.
    let path = |name: &str| Some(name.rsplit_once("17h")?.0.replace('$', "?"));
    let existing: HashSet<String> = program
        .split(|byte| *byte == 0)
        .filter(|word| word.starts_with(b"_ZN"))
        .filter_map(|word| path(str::from_utf8(word).ok()?))
        .collect();
    let order = include_str!("../../order.ld");
    let named = order.lines().filter_map(|line| path(line.trim().strip_prefix(".text.")?));
    let ours: Vec<String> = named
        .filter(|name| {
            name.trim_start_matches("_ZN")
                .trim_start_matches(|it: char| it.is_ascii_digit())
                .starts_with("answerback")
        })
        .collect();
    assert!(ours.len() > 100, "the order names {} functions of ours", ours.len());
    let gone: Vec<&String> = ours.iter().filter(|name| !existing.contains(*name)).collect();
    assert!(
        gone.len() * 10 < ours.len(),
        "{} of {} functions are gone: bench/gateway/order.py says how the order is renewed: {gone:?}",
        gone.len(),
        ours.len(),
    );
}
