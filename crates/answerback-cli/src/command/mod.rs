//! One file a command: its arguments, its help, and what it does.

pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod replay;

use crate::arguments::Command;
use crate::exit::Exit;

/// Runs one command.
pub(crate) fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Call(arguments) => call::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
    }
}
