//! The strict reader against `serde_json`: the same verdict and the same value.
#![no_main]

use answerback::json::{Limits, ReadErrorKind, read};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    // `serde_json` refuses nesting from 128 on and reads a byte order mark as a mistake.
    let limits = Limits::default().with_max_depth(127);
    let plain = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match (read(bytes, limits), serde_json::from_slice::<Value>(plain)) {
        (Ok(ours), Ok(theirs)) => assert_eq!(ours.value, theirs),
        (Err(_), Err(_)) => {}
        (Err(ours), Ok(_)) => assert!(
            matches!(ours.kind, ReadErrorKind::KeyTooLong { .. } | ReadErrorKind::TooDeep { .. }),
            "only we refuse it: {ours}"
        ),
        (Ok(_), Err(theirs)) => panic!("only serde_json refuses it: {theirs}"),
    }
});
