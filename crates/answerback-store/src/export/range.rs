use std::ops::Range;

use answerback_ledger::LeafKind;

use super::visit::{leaves, parsed, size_of};
use super::{Export, ExportError};
use crate::engine::EngineRead;
use crate::{EntryFilter, StoreError, reading};

/// The range of the log to export, with its origin, key and checkpoint.
pub(super) struct ExportRange {
    pub(super) origin: String,
    /// The key in force at `from`.
    pub(super) vkey: String,
    pub(super) from: u64,
    pub(super) size: u64,
    /// The checkpoint over the whole range.
    pub(super) newest: String,
}

impl ExportRange {
    pub(super) fn read(read: &mut dyn EngineRead, export: Export) -> Result<Self, ExportError> {
        let head = reading::head(read)?;
        let from = export.from.unwrap_or(head.minimum);
        let wanted = export.size.unwrap_or(head.size);
        if from < head.minimum || from >= wanted || wanted > head.size {
            let kept = head.minimum..head.size;
            return Err(ExportError::Range { from, size: wanted, kept });
        }
        let notes = reading::checkpoints(read, wanted - 1, 1)?;
        let missing = || StoreError::Damaged("it has no newest checkpoint".to_owned());
        let newest = notes.into_iter().next().ok_or_else(missing)?;
        let (size, newest) = (size_of(&newest)?, newest.to_string());
        let damaged = |what: &str| StoreError::Damaged(what.to_owned());
        let mut meta = |key: &str| {
            let value = read.meta(key).map_err(StoreError::from)?;
            value.ok_or_else(|| damaged("it has no origin or key"))
        };
        let (origin, first_key) = (meta("origin")?, meta("vkey")?);
        let span = Self { origin, vkey: first_key, from, size, newest };
        span.check_erasures(read, size..head.size)?;
        let vkey = key_at(read, head.minimum..from)?;
        Ok(match vkey {
            Some(vkey) => Self { vkey, ..span },
            None => span,
        })
    }

    /// Fails if an entry after the end erased content in the range. A verifier would find content
    /// missing without an explanation.
    fn check_erasures(
        &self,
        read: &mut dyn EngineRead,
        after: Range<u64>,
    ) -> Result<(), ExportError> {
        let erasures = EntryFilter::default().with_kind(LeafKind::Erasure);
        leaves(read, &erasures, after, &mut |erasure, leaf, _| match parsed(erasure, &leaf)?
            .index("target_index")
        {
            Some(target) if (self.from..self.size).contains(&target) => {
                Err(ExportError::ErasedLater { target, erasure })
            }
            _ => Ok(()),
        })
    }
}

/// Returns the key that the newest key entry in this range introduces, if there is one.
fn key_at(read: &mut dyn EngineRead, entries: Range<u64>) -> Result<Option<String>, ExportError> {
    let mut key = None;
    let configs = EntryFilter::default().with_kind(LeafKind::Config);
    leaves(read, &configs, entries, &mut |index, leaf, _| {
        let leaf = parsed(index, &leaf)?;
        if leaf.text("subject") == Some("key") {
            key = leaf.text("vkey").map(ToOwned::to_owned);
        }
        Ok(())
    })?;
    Ok(key)
}
