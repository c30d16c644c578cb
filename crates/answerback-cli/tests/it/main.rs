//! The program as its users run it: exit code, standard output and standard error in one snapshot.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod call;
mod check;
mod convert;
mod explain;
mod folder;
mod govern;
mod help;
mod hostile;
mod ledger;
mod lock;
mod masked;
mod program;
mod replay;
mod show;
mod tools;
mod validate;
