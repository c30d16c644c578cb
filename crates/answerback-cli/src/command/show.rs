use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anstream::{AutoStream, ColorChoice};
use answerback::contract::{Contract, Profile, recognise};
use answerback::json::{Document, Limits};
use anyhow::Context;

use crate::exit::Exit;
use crate::input::Input;
use crate::show::{self, Charset, Sheet};

/// Draw envelopes on the terminal: tables, charts, documents, code, timelines
///
/// The contract is recognised by the document's shape. A document that is broken in places is drawn
/// as far as it goes. Text of the document can never act on the terminal: escape sequences, controls
/// and characters that hide or reorder text are shown, not sent.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback show reply.json\n  \
    agent run | answerback show -\n  \
    answerback show --width 120 --all reply.json | less\n  \
    answerback show --color always reply.json | less -R\n  \
    answerback show --as tool broken.json\n\n\
    Exit codes: 0 drawn, 2 unreadable, not JSON or not recognised. A document that breaks its contract\n\
    is drawn and ends with 0; standard error then says that answerback check has findings.")]
pub(crate) struct Arguments {
    /// The documents; '-' is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Draw it as this contract instead of recognising it
    #[arg(long = "as", value_name = "CONTRACT", value_parser = contract())]
    contract: Option<Contract>,

    /// Columns to draw in [default: the terminal's width, else 80]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(20..=1000))]
    width: Option<u16>,

    /// Rows of a table, events, signals and bars to draw before the rest is counted
    #[arg(long, value_name = "N", default_value_t = 50, conflicts_with = "all",
          value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,

    /// Draw every row
    #[arg(long)]
    all: bool,

    /// When to use colours; auto looks at the terminal and `NO_COLOR`
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    color: Color,

    /// Use ASCII only, for terminals without Unicode
    #[arg(long)]
    ascii: bool,

    /// Draw it, or print the parsed document as one line of JSON
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

fn contract() -> impl clap::builder::TypedValueParser<Value = Contract> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(Contract::ALL.map(Contract::as_str))
        .try_map(|word| word.parse::<Contract>())
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let output = std::io::stdout();
    let choice = match arguments.color {
        Color::Auto => AutoStream::choice(&output),
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    let in_colour = choice != ColorChoice::Never;
    let sheet = arguments.sheet();
    let is_several = arguments.files.len() > 1 && arguments.format == Format::Text;
    let mut output = AutoStream::new(output.lock(), choice);
    let mut exit = Exit::Good;
    for (index, file) in arguments.files.iter().enumerate() {
        let input = Input::new(file);
        let text = match arguments.shown(&input, sheet, in_colour) {
            Ok(text) => text,
            Err(error) => {
                say(&format!("error: {error:#}"));
                exit = Exit::CouldNotJudge;
                continue;
            }
        };
        if is_several {
            let gap = if index > 0 { "\n" } else { "" };
            let heading = show::file_heading(sheet, &input.name(), in_colour);
            write!(output, "{gap}{heading}").context("cannot write")?;
        }
        output.write_all(text.as_bytes()).context("cannot write")?;
    }
    output.flush().context("cannot write")?;
    Ok(exit)
}

impl Arguments {
    fn sheet(&self) -> Sheet {
        let output = std::io::stdout();
        let terminal = output.is_terminal().then(|| terminal_size::terminal_size_of(&output));
        let found = terminal.flatten().map_or(80, |(terminal_size::Width(columns), _)| columns);
        Sheet {
            width: usize::from(self.width.unwrap_or(found).max(20)),
            rows: if self.all { usize::MAX } else { usize::try_from(self.rows).unwrap_or(50) },
            charset: if self.ascii { Charset::Ascii } else { Charset::Unicode },
        }
    }

    /// One document as text.
    fn shown(&self, input: &Input, sheet: Sheet, in_colour: bool) -> anyhow::Result<String> {
        let document = input.document(Limits::default())?;
        if self.format == Format::Json {
            return Ok(quiet_json(&document.value.to_string()) + "\n");
        }
        let contract = match self.contract {
            Some(contract) => contract,
            None => {
                recognise(&document.value)
                    .with_context(|| {
                        format!(
                            "{}: not recognised as any contract; name it with --as {}",
                            input.name(),
                            Contract::ALL.map(Contract::as_str).join("|")
                        )
                    })?
                    .contract
            }
        };
        tell_findings(input, contract, &document);
        Ok(show::draw(sheet, contract, &document.value, in_colour))
    }
}

/// Says on standard error that the document breaks its contract, when it does.
fn tell_findings(input: &Input, contract: Contract, document: &Document) {
    let found = contract.check(&document.value, Profile::Strict);
    let all = || document.findings.iter().chain(&found);
    if all().any(answerback::ValidationError::is_error) {
        let count = all().count();
        let findings =
            if count == 1 { "1 finding".to_owned() } else { format!("{count} findings") };
        say(&format!(
            "{}: drawn as far as it goes; `answerback check --as {contract}` has {findings}",
            input.name()
        ));
    }
}

/// One line for people. File names and what a document says of itself are no more trusted here.
fn say(text: &str) {
    anstream::eprintln!("{}", show::sanitise(text, Charset::Unicode));
}

/// JSON with every character that would act on a terminal escaped: the same document, quiet.
fn quiet_json(json: &str) -> String {
    use std::fmt::Write as _;

    let mut quiet = String::with_capacity(json.len());
    for character in json.chars() {
        if show::acts(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(quiet, "\\u{unit:04x}");
            }
        } else {
            quiet.push(character);
        }
    }
    quiet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_json_is_the_same_document() {
        let value =
            serde_json::json!({"a\u{202e}": "\u{1b}[31m \u{9b} \u{e0041} é", "b": [1.5, null]});
        let quiet = quiet_json(&value.to_string());
        assert_eq!(
            quiet,
            "{\"a\\u202e\":\"\\u001b[31m \\u009b \\udb40\\udc41 é\",\"b\":[1.5,null]}"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&quiet).unwrap(), value);
    }
}
