//! `answerback ledger`: records, shows, proves and verifies entries. Each file has one command.

mod adopt;
pub(crate) mod authority;
mod checkpoint;
mod command;
mod confirm;
mod entry;
mod erase;
mod export;
mod handoff;
mod migrate;
mod moment;
mod prove;
mod prune;
mod record;
mod rotate;
mod search;
mod show;
mod stats;
mod tail;
mod verify;
mod witness;

pub(crate) use command::{Arguments, run};
