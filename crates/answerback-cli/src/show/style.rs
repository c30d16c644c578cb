//! Defines the meaning of colors. Only the sixteen colors of the terminal's theme are used. A word or a sign always
//! says the same as the color.

use anstyle::{AnsiColor, Effects, Style};

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const HEADING: Style = AnsiColor::Cyan.on_default().effects(Effects::BOLD);
pub(crate) const KEY: Style = AnsiColor::Blue.on_default();
pub(crate) const TEXT: Style = AnsiColor::Green.on_default();
pub(crate) const NUMBER: Style = AnsiColor::Cyan.on_default();
pub(crate) const KEYWORD: Style = AnsiColor::Magenta.on_default();
pub(crate) const COMMENT: Style = Style::new().dimmed().italic();
pub(crate) const LINK: Style = AnsiColor::Blue.on_default().effects(Effects::UNDERLINE);

/// The colors of a chart's series, in order.
const SERIES: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Yellow,
    AnsiColor::Magenta,
    AnsiColor::Green,
    AnsiColor::Red,
    AnsiColor::Blue,
];

/// Returns the color of a chart's series.
pub(crate) fn series(index: usize) -> Style {
    SERIES[index % SERIES.len()].on_default()
}

/// The meaning of a status, with its sign and color.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Tone {
    Good,
    Warning,
    Bad,
    Info,
    Neutral,
}

impl Tone {
    /// Returns the meaning of a status word of any contract, a hint or an agent's own word.
    pub(crate) fn of(word: &str) -> Self {
        let word = word.get(..word.len().min(32)).unwrap_or_default().to_ascii_lowercase();
        match word.as_str() {
            "success" | "succeeded" | "ok" | "completed" | "complete" | "done" | "passed"
            | "approved" | "final" | "valid" => Self::Good,
            "warning" | "warn" | "partial" | "pending" | "waiting" | "skipped" | "degraded"
            | "paused" | "deferred" | "retry" | "urgent" => Self::Warning,
            "error" | "failed" | "failure" | "fail" | "refused" | "rejected" | "blocked"
            | "cancelled" | "canceled" | "timeout" => Self::Bad,
            "info" | "active" | "running" | "proposed" | "started" | "in_progress" => Self::Info,
            _ => Self::Neutral,
        }
    }

    pub(crate) fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Info => AnsiColor::Cyan.on_default(),
            Self::Neutral => PLAIN,
        }
    }

    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Good => "✔",
            Self::Warning => "⚠",
            Self::Bad => "✘",
            Self::Info => "ℹ",
            Self::Neutral => "•",
        }
    }
}
