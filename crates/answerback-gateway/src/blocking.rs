//! Runs long computations without blocking other tasks.

use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};

/// The number of bytes beyond which a check moves to a blocking thread. A regular expression may be slow for each
/// of them.
const MUCH: usize = 16 << 10;

/// Runs work on a text of this size. For a large text, the other tasks of this thread move to another thread.
pub(crate) fn work<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let has_threads = || {
        Handle::try_current()
            .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
    };
    if bytes > MUCH && has_threads() { tokio::task::block_in_place(work) } else { work() }
}

/// Returns the number of bytes of text in a value.
pub(crate) fn text_in(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.iter().map(text_in).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| name.len() + text_in(value)).sum()
        }
        _ => 0,
    }
}
