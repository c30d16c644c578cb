//! Runs long computations without blocking other tasks.

use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};

/// The number of bytes beyond which a check moves to a blocking thread. A regular expression may be slow for each
/// of them.
const LARGE_TEXT: usize = 16 << 10;

/// Runs work on a text of this size. For a large text, the other tasks of this thread move to another thread.
pub(crate) fn run<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let has_threads = || {
        Handle::try_current()
            .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
    };
    if bytes > LARGE_TEXT && has_threads() { tokio::task::block_in_place(work) } else { work() }
}

/// Returns the number of bytes of text in a value.
pub(crate) fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.iter().map(text_bytes).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| name.len() + text_bytes(value)).sum()
        }
        _ => 0,
    }
}
