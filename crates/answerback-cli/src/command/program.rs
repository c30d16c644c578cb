//! Defines the command line.

use clap::{Parser, Subcommand};

use super::{
    call, check, completions, convert, doctor, explain, inbox, init, ledger, link, lock, man,
    replay, schema, serve, show, tools, trust, validate, watch, wrap,
};
use crate::exit::Exit;

/// The reply layer for AI agents and their tools.
#[derive(Debug, Parser)]
#[command(
    name = "answerback",
    version,
    about,
    propagate_version = true,
    after_help = "Exit codes: 0 valid, 1 checked and not valid, 2 could not check (usage, unreadable, not JSON).\n\
                  Piping the output into 'head' never turns an invalid result into a valid one.\n\
                  Data goes to standard output, everything else to standard error; '-' reads standard input."
)]
pub(crate) struct ProgramArguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(check::Arguments),
    Call(call::Arguments),
    Replay(replay::Arguments),
    Convert(convert::Arguments),
    Show(show::Arguments),
    Wrap(wrap::Arguments),
    Serve(serve::Arguments),
    Doctor(doctor::Arguments),
    Inbox(inbox::Arguments),
    Watch(watch::Arguments),
    Link(link::Arguments),
    Init(init::Arguments),
    Ledger(ledger::Arguments),
    Validate(validate::Arguments),
    Lock(lock::Arguments),
    Trust(trust::Arguments),
    Tools(tools::Arguments),
    Schema(schema::Arguments),
    Explain(explain::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

impl Command {
    /// Runs one command.
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Check(arguments) => check::run(&arguments),
            Self::Convert(arguments) => convert::run(&arguments),
            Self::Show(arguments) => show::run(&arguments),
            Self::Wrap(arguments) => wrap::run(&arguments),
            Self::Serve(arguments) => serve::run(&arguments),
            Self::Doctor(arguments) => doctor::run(&arguments),
            Self::Inbox(arguments) => inbox::run(&arguments),
            Self::Init(arguments) => init::run(&arguments),
            Self::Ledger(arguments) => ledger::run(&arguments),
            Self::Validate(arguments) => validate::run(&arguments),
            Self::Watch(arguments) => watch::run(&arguments),
            Self::Link(arguments) => link::run(&arguments),
            Self::Lock(arguments) => lock::run(&arguments),
            Self::Schema(arguments) => schema::run(&arguments),
            Self::Explain(arguments) => explain::run(&arguments),
            Self::Completions(arguments) => completions::run(&arguments),
            Self::Man(arguments) => man::run(&arguments),
            Self::Call(arguments) => call::run(&arguments),
            Self::Replay(arguments) => replay::run(&arguments),
            Self::Trust(arguments) => trust::run(&arguments),
            Self::Tools(arguments) => tools::run(&arguments),
        }
    }
}
