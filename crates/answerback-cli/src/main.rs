//! The `answerback` program, which connects the library to files, terminals and pipes. Each command has its own file.

mod actor;
mod agent_tools;
mod atomic_replace;
mod command;
mod configuration;
mod console_host;
mod demo;
mod exit;
mod gateway;
mod governance_inputs;
mod input;
mod ledger_location;
mod log_format;
mod options;
mod output;
mod pipeline;
mod plural;
mod progress;
mod prompts;
mod report;
mod runtime;
mod server_address;
mod server_identity;
mod shell;
mod show;
mod terminal;
mod tokens;
mod tools;
mod trusted_files;
mod user_folders;
mod verify_source;
mod webhook;
mod witnesses;

use std::process::ExitCode;

use clap::Parser;

/// The system's allocator took a fifth of the cost of a forwarded call
/// (docs/adr/0053-box-what-only-some-calls-need.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The reaper is internal, so it is in no help text and no completion.
    if command::reaper::is_requested() {
        return command::reaper::run().into();
    }
    let arguments = command::ProgramArguments::parse();
    match arguments.command.run() {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::say(&format!("error: {error:#}"));
            exit::Exit::CouldNotCheck.into()
        }
    }
}
