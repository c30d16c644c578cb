//! What a program that runs on needs of its surroundings: somewhere to log, and somebody who ends it.

use anyhow::Context;
use tracing_subscriber::filter::LevelFilter;

/// The variable that says how much is told on standard error.
const LOG: &str = "ANSWERBACK_LOG";
/// Warnings go to standard error, where clients keep what servers say.
pub(crate) fn log() -> anyhow::Result<()> {
    log_from(LevelFilter::WARN)
}

/// What matters this much goes to standard error, unless the variable says otherwise.
pub(crate) fn log_from(usual: LevelFilter) -> anyhow::Result<()> {
    let level = match std::env::var(LOG) {
        Ok(word) if !word.is_empty() => word.parse::<LevelFilter>().ok().with_context(|| {
            format!("${LOG} is {word:?}; expected off, error, warn, info, debug or trace")
        })?,
        _ => usual,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        // Where nobody reads what we log, nothing is lost but that: a call is answered all the same.
        .log_internal_errors(false)
        .with_ansi(false)
        .without_time()
        .init();
    Ok(())
}

/// When somebody asks us to end.
pub(crate) async fn stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut terminate), Ok(mut interrupt)) =
            (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        else {
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
