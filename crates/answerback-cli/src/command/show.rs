use std::io::Write;
use std::path::PathBuf;

use anstream::{AutoStream, ColorChoice};
use answerback::contract::{Contract, Profile, recognise};
use answerback::json::Document;
use anyhow::Context;
use serde_json::Value;

use crate::exit::Exit;
use crate::input::InputSource;
use crate::options::{LimitOptions, OutputFormat, unrecognised};
use crate::output::{ClosableOutput, quiet_json, say};
use crate::plural::count_noun;
use crate::shell::quoted;
use crate::show::{self, Charset, Sheet};
use crate::terminal;

/// Draw envelopes on the terminal: tables, charts, documents, code, timelines
///
/// The contract is recognized by the document's shape. An invalid document is drawn as far as possible.
/// Text of the document never controls the terminal: escape sequences, control characters and characters
/// that hide or reorder text are printed visibly.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback show reply.json\n  \
    agent run | answerback show -\n  \
    answerback show --width 120 --all reply.json | less\n  \
    answerback show --color always reply.json | less -R\n  \
    answerback show --as tool broken.json\n\n\
    Exit codes: 0 drawn, 2 unreadable, not JSON or not recognized. A document that breaks its contract\n\
    is drawn with exit code 0, and a note on standard error refers to answerback check.")]
pub(crate) struct Arguments {
    /// The documents; '-' is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The contract to draw as, instead of recognizing it
    #[arg(long = "as", value_name = "CONTRACT", value_parser = crate::options::contract())]
    contract: Option<Contract>,

    /// The width in columns [default: the terminal's width, or 80]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(20..=1000))]
    width: Option<u16>,

    /// The number of rows, events, signals and bars to draw; the rest is only counted
    #[arg(long, value_name = "N", default_value_t = 50, conflicts_with = "all",
          value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,

    /// Draw every row
    #[arg(long)]
    all: bool,

    /// When to use colors; auto depends on the terminal and `NO_COLOR`
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    color: Color,

    /// Use ASCII only, for terminals without Unicode
    #[arg(long)]
    ascii: bool,

    /// Draw it, or print the parsed document as one line of JSON
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,

    #[command(flatten)]
    limits: LimitOptions,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let output = std::io::stdout();
    let choice = match arguments.color {
        Color::Auto => AutoStream::choice(&output),
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    let in_color = choice != ColorChoice::Never;
    let sheet = arguments.sheet();
    let is_several = arguments.files.len() > 1 && arguments.format == OutputFormat::Text;
    let mut output = ClosableOutput::new(AutoStream::new(output.lock(), choice));
    let mut exit = Exit::Good;
    for (index, file) in arguments.files.iter().enumerate() {
        let input = InputSource::new(file);
        let text = match arguments.shown(&input, sheet, in_color) {
            Ok(text) => text,
            Err(error) => {
                say(&format!("error: {error:#}"));
                exit = Exit::CouldNotCheck;
                continue;
            }
        };
        if is_several {
            let gap = if index > 0 { "\n" } else { "" };
            let heading = show::file_heading(sheet, &input.name(), in_color);
            write!(output, "{gap}{heading}").context("cannot write")?;
        }
        output.write_all(text.as_bytes()).context("cannot write")?;
    }
    output.flush().context("cannot write")?;
    Ok(exit)
}

/// Draws a document on this terminal.
pub(crate) fn draw(contract: Contract, document: &Value) -> anyhow::Result<()> {
    let output = std::io::stdout();
    let choice = AutoStream::choice(&output);
    let sheet = Sheet { width: terminal_width(), rows: 50, charset: Charset::Unicode };
    let text = show::draw(sheet, contract, document, choice != ColorChoice::Never);
    let mut output = ClosableOutput::new(AutoStream::new(output.lock(), choice));
    output.write_all(text.as_bytes()).context("cannot write")
}

/// Returns the terminal's width, or 80.
fn terminal_width() -> usize {
    terminal::columns().unwrap_or(80)
}

impl Arguments {
    fn sheet(&self) -> Sheet {
        Sheet {
            width: self.width.map_or_else(terminal_width, usize::from),
            rows: if self.all { usize::MAX } else { usize::try_from(self.rows).unwrap_or(50) },
            charset: if self.ascii { Charset::Ascii } else { Charset::Unicode },
        }
    }

    /// Formats one document as text.
    fn shown(&self, input: &InputSource, sheet: Sheet, in_color: bool) -> anyhow::Result<String> {
        let document = input.document(self.limits.limits())?;
        if self.format == OutputFormat::Json {
            return Ok(format!("{}\n", quiet_json(&document.value.to_string())));
        }
        let contract = match self.contract {
            Some(contract) => contract,
            None => {
                recognise(&document.value)
                    .with_context(|| format!("{}: {}", input.name(), unrecognised()))?
                    .contract
            }
        };
        report_findings(input, contract, &document);
        Ok(show::draw(sheet, contract, &document.value, in_color))
    }
}

/// Reports on standard error if the document breaks its contract.
fn report_findings(input: &InputSource, contract: Contract, document: &Document) {
    let found = contract.check(&document.value, Profile::Strict);
    let all = || document.findings.iter().chain(&found);
    if all().any(answerback::ValidationError::is_error) {
        let findings = count_noun(all().count(), "finding");
        let name = input.name();
        let file = quoted(&name);
        say(&format!(
            "{name}: drawn as far as possible; `answerback check --as {contract} {file}` reports {findings}"
        ));
    }
}
