//! The `answerback` program, which connects the library to files, terminals and pipes. Each command has its own file.

mod actor;
mod address;
mod arguments;
mod command;
mod configuration;
mod console;
mod demo;
mod exit;
mod folders;
mod gateway;
mod governance_inputs;
mod input;
mod log_format;
mod options;
mod output;
mod pipeline;
mod plural;
mod progress;
mod prompts;
mod replace;
mod report;
mod runtime;
mod server_identity;
mod shell;
mod show;
mod terminal;
mod tokens;
mod tools;
mod trusted;
mod webhook;

use std::process::ExitCode;

use clap::Parser;

/// The system's allocator took a fifth of the cost of a forwarded call
/// (docs/adr/0053-box-what-only-some-calls-need.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The warden is internal, so it is in no help text and no completion.
    if command::warden::is_asked_for() {
        return command::warden::run().into();
    }
    let arguments = arguments::Arguments::parse();
    match command::run(arguments.command) {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::say(&format!("error: {error:#}"));
            exit::Exit::CouldNotJudge.into()
        }
    }
}
