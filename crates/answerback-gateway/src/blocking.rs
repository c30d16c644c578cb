//! Work that may take long, while others are served.

use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};

/// Beyond so many bytes of text a call is judged aside: a pattern may take its time over each of them.
const MUCH: usize = 16 << 10;

/// Does work on so much text. Where that is much, whoever else is served by this thread goes on meanwhile on another.
pub(crate) fn work<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let has_threads = || {
        Handle::try_current()
            .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
    };
    if bytes > MUCH && has_threads() { tokio::task::block_in_place(work) } else { work() }
}

/// How much text there is in a value.
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
