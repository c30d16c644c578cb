//! The commands. Each file has the arguments, the help and the implementation of one.

pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod inbox;
pub(crate) mod init;
pub(crate) mod ledger;
pub(crate) mod link;
pub(crate) mod lock;
pub(crate) mod man;
mod program;
pub(crate) mod reaper;
pub(crate) mod replay;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod validate;
pub(crate) mod watch;
pub(crate) mod wrap;

pub(crate) use program::ProgramArguments;
