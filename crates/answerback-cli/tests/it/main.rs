//! Tests the program as users run it: exit code, standard output and standard error in one snapshot.
#![expect(clippy::unwrap_used, reason = "a failed unwrap in a test names its line")]

#[cfg(unix)]
mod artifacts;
mod attest;
mod call;
mod check;
#[cfg(unix)]
mod checked_call;
mod closed_pipe;
mod configured;
#[cfg(unix)]
mod console;
mod convert;
#[cfg(unix)]
mod decisions;
#[cfg(unix)]
mod demo;
#[cfg(unix)]
mod doctor;
#[cfg(unix)]
mod environment;
#[cfg(unix)]
mod event_reader;
mod explain;
#[cfg(target_os = "linux")]
mod faults;
mod folder;
mod forged;
#[cfg(unix)]
mod gateway;
mod govern;
#[cfg(unix)]
mod guards;
mod help;
mod hostile;
#[cfg(unix)]
mod hub;
#[cfg(unix)]
mod inbox;
mod init;
#[cfg(unix)]
mod judging;
mod ledger;
#[cfg(unix)]
mod limits;
mod link;
mod lock;
mod masked;
mod messages;
#[cfg(unix)]
mod missing;
#[cfg(unix)]
mod open_call;
#[cfg(target_os = "linux")]
mod original;
#[cfg(unix)]
mod person;
mod planted;
#[cfg(unix)]
mod printed_commands;
mod program;
#[cfg(unix)]
mod prompt;
mod replay;
#[cfg(unix)]
mod replies;
#[cfg(unix)]
mod resumed;
#[cfg(unix)]
mod serve;
mod show;
#[cfg(unix)]
mod streams;
#[cfg(unix)]
mod tasks;
#[cfg(unix)]
mod told;
mod tools;
mod trace;
#[cfg(unix)]
mod transport;
mod trust;
#[cfg(unix)]
mod unrecorded;
mod validate;
#[cfg(feature = "witness")]
mod witness;
#[cfg(feature = "witness")]
#[path = "../../../answerback-store/tests/it/witness_server.rs"]
mod witness_server;
mod wrap;
