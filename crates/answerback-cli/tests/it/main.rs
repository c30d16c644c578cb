//! The program as its users run it: exit code, standard output and standard error in one snapshot.

mod call;
mod check;
mod convert;
mod explain;
mod help;
mod hostile;
mod program;
mod replay;
mod show;
mod validate;
