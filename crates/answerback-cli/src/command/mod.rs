//! One file a command: its arguments, its help, and what it does.

pub(crate) mod check;
pub(crate) mod show;

use crate::arguments::Command;
use crate::exit::Exit;

/// Runs one command.
pub(crate) fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
    }
}
