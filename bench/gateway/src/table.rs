//! Formats the results as a Markdown table with a row for each program and size of result.

use std::time::Duration;

use crate::load::Measurement;
use crate::target::Target;

/// Holds the figures of one program with one size of result.
pub(crate) struct Row {
    pub(crate) target: Target,
    pub(crate) size: usize,
    /// The figures for each concurrency, or the reason why there are none.
    pub(crate) cells: Vec<Result<Measurement, String>>,
    pub(crate) ready: Duration,
    /// The memory in bytes before any load.
    pub(crate) idle: u64,
}

pub(crate) fn head(concurrencies: &[usize]) -> String {
    let list = concurrencies.iter().map(ToString::to_string).collect::<Vec<_>>().join(" / ");
    format!(
        "Concurrency {list}. Times in ms, memory in MiB.\n\n\
         | program | client → server | result | CPU a call | p50 | p99 | memory at most | idle | ready |\n\
         |---|---|---|---|---|---|---|---|---|"
    )
}

impl Row {
    pub(crate) fn line(&self) -> String {
        let each = |show: &dyn Fn(&Measurement) -> String| {
            let shown = self.cells.iter().map(|cell| cell.as_ref().map_or("–".to_owned(), show));
            shown.collect::<Vec<_>>().join(" / ")
        };
        let figures = format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {:.0} |",
            self.target.name(),
            self.target.transports(),
            size(self.size),
            each(&|it| millis(it.cpu_per_call)),
            each(&|it| millis(it.p50)),
            each(&|it| millis(it.p99)),
            each(&|it| mebibytes(it.peak)),
            mebibytes(self.idle),
            self.ready.as_secs_f64() * 1e3,
        );
        let failures = self.cells.iter().filter_map(|cell| cell.as_ref().err());
        let failures = failures.map(|failure| format!("\n| | | | {} |", one_line(failure)));
        figures + &failures.collect::<String>()
    }
}

/// Returns the row of a program without figures.
pub(crate) fn missing(target: Target, reason: &str) -> String {
    format!("| {} | {} | | {} |", target.name(), target.transports(), one_line(reason))
}

/// Returns a text that fits into a cell of the table.
fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    words.chars().take(200).collect()
}

fn size(bytes: usize) -> String {
    if bytes >= 1_000_000 {
        format!("{} MB", bytes / 1_000_000)
    } else {
        format!("{} KB", bytes / 1000)
    }
}

fn millis(time: Duration) -> String {
    let value = time.as_secs_f64() * 1e3;
    if value < 10.0 { format!("{value:.3}") } else { format!("{value:.1}") }
}

fn mebibytes(bytes: u64) -> String {
    format!("{}.{}", bytes >> 20, ((bytes & 0xF_FFFF) * 10) >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::GatewayMode;

    #[test]
    fn figures_and_failures() {
        let measured = Measurement {
            cpu_per_call: Duration::from_micros(123),
            p50: Duration::from_micros(456),
            p99: Duration::from_micros(12_340),
            peak: 10 << 20 | 1 << 19,
        };
        let row = Row {
            target: Target::Wrap(GatewayMode::Checking),
            size: 1000,
            cells: vec![Ok(measured), Err("it | broke\noff".to_owned())],
            ready: Duration::from_millis(7),
            idle: 9 << 20,
        };
        assert_eq!(
            row.line(),
            "| answerback wrap, checking | stdio → stdio | 1 KB | 0.123 / – | 0.456 / – | 12.3 / – | 10.5 / – | 9.0 | 7 |\n\
             | | | | it \\| broke off |"
        );
        assert_eq!(
            missing(Target::Relay, "not installed"),
            "| bare relay | http → http | | not installed |"
        );
    }
}
