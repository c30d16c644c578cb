//! Sets up logging and signal handling for commands that keep running.

use anyhow::Context;
use tracing_subscriber::filter::LevelFilter;

use crate::log_format::{JsonEvents, LogFormat, LogOptions};

/// The environment variable for the log level.
const LOG: &str = "ANSWERBACK_LOG";
/// Logs warnings to standard error, which clients store for their servers.
pub(crate) fn log(options: LogOptions) -> anyhow::Result<()> {
    log_from(LevelFilter::WARN, options)
}

/// Logs to standard error from this level on, unless the environment variable sets another.
pub(crate) fn log_from(usual: LevelFilter, options: LogOptions) -> anyhow::Result<()> {
    options.log_format.set();
    let level = match std::env::var(LOG) {
        Ok(word) if !word.is_empty() => word.parse::<LevelFilter>().ok().with_context(|| {
            format!("${LOG} is {word:?}; expected off, error, warn, info, debug or trace")
        })?,
        _ => usual,
    };
    let lines = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        // If standard error is closed, only log lines are lost. Calls are still answered.
        .log_internal_errors(false)
        .with_ansi(false);
    match options.log_format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.event_format(JsonEvents).init(),
    }
    Ok(())
}

/// Returns a future that completes when the process is asked to end, by Ctrl-C or by a signal.
///
/// The handlers are installed at once, in the runtime that this is called in. A signal that arrives before the future
/// is polled must not end the process without its cleanup.
pub(crate) fn stop() -> impl Future<Output = ()> {
    #[cfg(unix)]
    let signals = {
        use tokio::signal::unix::{SignalKind, signal};
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    };
    async move {
        #[cfg(unix)]
        {
            let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
                return std::future::pending().await;
            };
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
        #[cfg(not(unix))]
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
