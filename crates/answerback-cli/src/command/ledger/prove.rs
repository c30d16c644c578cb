use std::io::Write;

use answerback_ledger::Checkpoint;
use answerback_store::Store;
use anyhow::bail;
use data_encoding::BASE64;

use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;
use crate::options::number;
use crate::output::ClosableOutput;
use crate::plural::count_noun;

/// Print the proof that an entry is in the log, or that the log only grew
///
/// The proof of an entry is a receipt (c2sp.org/tlog-proof), which can be verified with the key and without the log.
/// The proof between two sizes has the form that witnesses accept (c2sp.org/tlog-witness).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger prove 42 > receipt.txt
  answerback ledger prove --from 1000 --to 2000
  answerback ledger prove --from 1000")]
#[command(group = clap::ArgGroup::new("what").required(true).args(["index", "from"]))]
pub(crate) struct Arguments {
    /// The entry's index
    #[arg(value_name = "INDEX", value_parser = number)]
    index: Option<u64>,

    /// The size of the older log
    #[arg(long, value_name = "SIZE", value_parser = number)]
    from: Option<u64>,

    /// The size of the newer log, which must have a checkpoint [default: the newest]
    #[arg(long, value_name = "SIZE", requires = "from", value_parser = number)]
    to: Option<u64>,
}

pub(crate) fn run(arguments: &Arguments, location: &LedgerLocation) -> anyhow::Result<Exit> {
    let store = location.read()?;
    let mut output = ClosableOutput::new(std::io::stdout().lock());
    if let Some(index) = arguments.index {
        write!(output, "{}", store.receipt(index)?)?;
    } else {
        let text = growth(&store, arguments.from.unwrap_or_default(), arguments.to)?;
        write!(output, "{text}")?;
    }
    Ok(Exit::Good)
}

/// Returns the old size, the consistency proof, an empty line, and the newer checkpoint.
fn growth(store: &Store, from: u64, to: Option<u64>) -> anyhow::Result<String> {
    let note = match to {
        None => store.checkpoint()?,
        Some(size) => {
            let next = store.checkpoints(size.saturating_sub(1), 1)?.into_iter().next();
            let Some(note) = next else {
                let has = store.head()?.size;
                bail!("the log has never had {}; its size is {has}", count_noun(size, "entry"));
            };
            let found = Checkpoint::read(&note)?.size();
            if found != size {
                bail!("there is no checkpoint of size {size}; the next one has size {found}");
            }
            note
        }
    };
    let size = Checkpoint::read(&note)?.size();
    let mut text = format!("old {from}\n");
    for hash in store.consistency(from, size)? {
        text.push_str(&BASE64.encode(hash.as_bytes()));
        text.push('\n');
    }
    Ok(format!("{text}\n{note}"))
}
