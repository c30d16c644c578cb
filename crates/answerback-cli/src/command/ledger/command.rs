use super::{
    adopt, checkpoint, erase, export, migrate, prove, prune, record, rotate, search, show, stats,
    tail, verify,
};
use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;

/// Read, prove and verify the ledger, and remove content
///
/// The ledger is an append-only log; a signed checkpoint commits to all of its entries. docs/explanation/trust.md explains what
/// this proves. Commands that only read need no key, and may run while other processes write.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger record reply.json
  answerback ledger tail -n 20
  answerback ledger verify
  answerback ledger checkpoint > today.note
  answerback ledger export --to ledger.jsonl

The store is the first of: --store, $ANSWERBACK_STORE, the store in the configuration (--config, or one that is trusted),
ledger.db next to that configuration, ledger.db in the user's state directory.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    location: LedgerLocation,

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
