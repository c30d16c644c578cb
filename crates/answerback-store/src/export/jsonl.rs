use std::io::Write;

use answerback_ledger::tree::frontier_at;
use data_encoding::BASE64;

use super::line::{self, CheckpointLine, EntryLine, FirstLine, PartOf, RangeLine, RangeOf};
use super::range::ExportRange;
use super::visit::{PAGE, checkpoints, leaves, parsed};
use super::{ExportError, ExportProgress, otel};
use crate::engine::{EngineRead, Hashes};
use crate::{EntryFilter, StoreError};

/// Writes a range of the log as JSON lines.
pub(super) fn write(
    read: &mut dyn EngineRead,
    span: &ExportRange,
    with_otel: bool,
    output: &mut dyn Write,
    progress: &mut dyn FnMut(ExportProgress),
) -> Result<(), ExportError> {
    let ExportRange { origin, vkey, from, size, .. } = span;
    let first = FirstLine { answerback_ledger: 1, origin, vkey, from: *from, size: *size };
    line::write(output, &first)?;
    if *from > 0 {
        let frontier = frontier_at(*from, &Hashes::of(read)).map_err(StoreError::from)?;
        let hashes = frontier.roots().iter().map(|hash| BASE64.encode(hash.as_bytes())).collect();
        line::write(output, &RangeLine { range: RangeOf { from: *from, hashes } })?;
    }
    let total = size - from;
    leaves(read, &EntryFilter::default(), *from..*size, &mut |index, bytes, read| {
        let leaf = parsed(index, &bytes)?;
        let parts = if leaf.member("parts").is_some() {
            PartOf::all(&read.parts(index).map_err(StoreError::from)?)
        } else {
            Vec::new()
        };
        let otel = with_otel.then(|| otel::attributes(&leaf));
        line::write(output, &EntryLine { index, leaf: BASE64.encode(&bytes), parts, otel })?;
        let done = index - from + 1;
        if done.is_multiple_of(PAGE as u64) || done == total {
            progress(ExportProgress { done, total });
        }
        Ok(())
    })?;
    checkpoints(read, *from, *size, &mut |note| {
        Ok(line::write(output, &CheckpointLine { checkpoint: note })?)
    })?;
    Ok(output.flush()?)
}
