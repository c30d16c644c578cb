//! Who may speak: the prompt lock, from which an agent's identity is taken.
//!
//! Here is what conversions need of the lock: reading it and finding one agent's identity in it.

mod lock;

pub use lock::{Lock, LockError, LockedPrompt};
