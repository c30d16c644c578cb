use std::io::Write;
use std::path::PathBuf;

use answerback::call::{Options, Schema};
use answerback::json::Limits;
use anyhow::Context;
use clap::ValueEnum;
use serde_json::Value;

use crate::exit::Exit;
use crate::input::Input;
use crate::judge::{answer, judge_against, message};

/// Judge one tool call, and print what the model would be told
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The tool's name
    #[arg(long, value_name = "NAME")]
    tool: String,
    /// The tool's schema; '-' is standard input
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// The call's id
    #[arg(long, value_name = "ID", default_value = "call-1")]
    call_id: String,
    /// Which attempt this is
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    attempt: u32,
    /// Take an unknown field for an error even where its schema allows it
    #[arg(long)]
    strict: bool,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Message)]
    format: Format,
    /// The arguments, as the model wrote them; '-' reads them from standard input
    #[arg(value_name = "ARGS", allow_hyphen_values = true)]
    text: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// The message to the model
    Message,
    /// The line that 'replay' prints
    Json,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let limits = Limits::default();
    let source = Input::new(&arguments.schema).document(limits)?.value;
    let text = if arguments.text == "-" {
        String::from_utf8(Input::Stdin.bytes(limits)?).context("the arguments are not UTF-8")?
    } else {
        arguments.text.clone()
    };
    let schema = Schema::compile(source);
    let judged = judge_against(
        arguments.call_id.clone(),
        arguments.tool.clone(),
        &Value::from(text),
        schema.as_ref().map_err(Clone::clone),
        Options::default().with_strict(arguments.strict),
    );
    if let Some(fault) = &judged.unchecked {
        anstream::eprintln!("warning: the call is not checked: {fault}");
    }
    let mut output = std::io::stdout().lock();
    match arguments.format {
        Format::Message if judged.is_valid() => {}
        Format::Message => writeln!(output, "{}", message(&judged, arguments.attempt))?,
        Format::Json => {
            serde_json::to_writer(&mut output, &answer(&judged, arguments.attempt))?;
            writeln!(output)?;
        }
    }
    Ok(if judged.is_valid() { Exit::Good } else { Exit::NotGood })
}
