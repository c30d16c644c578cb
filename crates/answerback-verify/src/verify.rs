//! Verifies a log from one source.

use std::num::NonZeroUsize;
use std::thread;

use crate::log_check::LogCheck;
use crate::options::VerifyOptions;
use crate::pipeline;
use crate::progress::VerifyProgress;
use crate::report::VerifyReport;
use crate::source::{LogSource, SourceError};

/// Verifies a log at all five levels. An invalid log is not an error; the [`VerifyReport`] describes it.
///
/// # Errors
///
/// Returns an error if the source cannot be read to its end, so that there is no result.
pub fn verify(
    source: &mut dyn LogSource,
    options: &VerifyOptions,
) -> Result<VerifyReport, SourceError> {
    verify_with_progress(source, options, &mut |_| {})
}

/// Verifies a log and reports the progress.
///
/// # Errors
///
/// Returns an error if [`verify`] would return an error.
pub fn verify_with_progress(
    source: &mut dyn LogSource,
    options: &VerifyOptions,
    progress: &mut dyn FnMut(VerifyProgress),
) -> Result<VerifyReport, SourceError> {
    let threads = options
        .threads
        .unwrap_or_else(|| thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
    let fold = LogCheck::new(source.claims().clone(), options, threads.get());
    pipeline::run(source, fold, threads, progress)?.finish(source)
}
