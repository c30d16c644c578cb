//! `answerback ledger`: records, shows, proves and verifies entries. Each file has one command.

mod adopt;
pub(crate) mod authority;
mod checkpoint;
mod confirm;
mod entry;
mod erase;
mod export;
mod handoff;
pub(crate) mod location;
mod migrate;
mod moment;
mod prove;
mod prune;
mod record;
mod rotate;
mod search;
mod show;
pub(crate) mod source;
mod stats;
mod tail;
mod verify;
mod witness;

use crate::exit::Exit;
use location::Location;

/// Look into the ledger, prove what it says, verify it, and take content out
///
/// The ledger is a list that can only grow; a signed checkpoint commits to all of it. What that proves and what it
/// does not is in docs/explanation/trust.md. Commands that read need no key, and may run while others write.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger record reply.json
  answerback ledger tail -n 20
  answerback ledger verify
  answerback ledger checkpoint > today.note
  answerback ledger export --to ledger.jsonl

The store is --store, else $ANSWERBACK_STORE, else the store of the configuration (--config, or one that `answerback
trust` allowed), else ledger.db beside such a configuration, else ledger.db in the user's state directory.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    location: Location,

    #[command(subcommand)]
    command: LedgerCommand,
}

#[derive(Debug, clap::Subcommand)]
enum LedgerCommand {
    Record(record::Arguments),
    Show(show::Arguments),
    Tail(tail::Arguments),
    Search(search::Arguments),
    Verify(verify::Arguments),
    Prove(prove::Arguments),
    Checkpoint(checkpoint::Arguments),
    Export(export::Arguments),
    Erase(erase::Arguments),
    Prune(prune::Arguments),
    Rotate(rotate::Arguments),
    Migrate(migrate::Arguments),
    Adopt(adopt::Arguments),
    Stats(stats::Arguments),
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let location = &arguments.location;
    match &arguments.command {
        LedgerCommand::Record(arguments) => record::run(arguments, location),
        LedgerCommand::Show(arguments) => show::run(arguments, location),
        LedgerCommand::Tail(arguments) => tail::run(arguments, location),
        LedgerCommand::Search(arguments) => search::run(arguments, location),
        LedgerCommand::Verify(arguments) => verify::run(arguments, location),
        LedgerCommand::Prove(arguments) => prove::run(arguments, location),
        LedgerCommand::Checkpoint(arguments) => checkpoint::run(arguments, location),
        LedgerCommand::Export(arguments) => export::run(arguments, location),
        LedgerCommand::Erase(arguments) => erase::run(arguments, location),
        LedgerCommand::Prune(arguments) => prune::run(arguments, location),
        LedgerCommand::Rotate(arguments) => rotate::run(arguments, location),
        LedgerCommand::Migrate(arguments) => migrate::run(arguments, location),
        LedgerCommand::Adopt(arguments) => adopt::run(arguments, location),
        LedgerCommand::Stats(arguments) => stats::run(arguments, location),
    }
}
