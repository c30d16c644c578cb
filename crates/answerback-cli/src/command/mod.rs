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
pub(crate) mod replay;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod validate;
pub(crate) mod warden;
pub(crate) mod watch;
pub(crate) mod wrap;

use crate::arguments::Command;
use crate::exit::Exit;

/// Runs one command.
pub(crate) fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Convert(arguments) => convert::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
        Command::Wrap(arguments) => wrap::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Inbox(arguments) => inbox::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Ledger(arguments) => ledger::run(&arguments),
        Command::Validate(arguments) => validate::run(&arguments),
        Command::Watch(arguments) => watch::run(&arguments),
        Command::Link(arguments) => link::run(&arguments),
        Command::Lock(arguments) => lock::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
        Command::Call(arguments) => call::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Trust(arguments) => trust::run(&arguments),
        Command::Tools(arguments) => tools::run(&arguments),
    }
}
