//! Defines the command line.

use clap::{Parser, Subcommand};

use crate::command;

/// The reply layer for AI agents and their tools.
#[derive(Debug, Parser)]
#[command(
    name = "answerback",
    version,
    about,
    propagate_version = true,
    after_help = "Exit codes: 0 good, 1 judged and not good, 2 could not judge (usage, unreadable, not JSON).\n\
                  A reader that leaves, as 'head' does, makes nothing good that is not.\n\
                  Data goes to standard output, everything else to standard error; '-' reads standard input."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(command::check::Arguments),
    Call(command::call::Arguments),
    Replay(command::replay::Arguments),
    Convert(command::convert::Arguments),
    Show(command::show::Arguments),
    Wrap(command::wrap::Arguments),
    Serve(command::serve::Arguments),
    Doctor(command::doctor::Arguments),
    Inbox(command::inbox::Arguments),
    Watch(command::watch::Arguments),
    Link(command::link::Arguments),
    Init(command::init::Arguments),
    Ledger(command::ledger::Arguments),
    Validate(command::validate::Arguments),
    Lock(command::lock::Arguments),
    Trust(command::trust::Arguments),
    Tools(command::tools::Arguments),
    Schema(command::schema::Arguments),
    Explain(command::explain::Arguments),
    Completions(command::completions::Arguments),
    Man(command::man::Arguments),
}
