use std::io::{self, Write};
use std::path::{Path, PathBuf};

use answerback::call::Schema;
use answerback::checker::{CallRequest, CheckedCall, ToolCatalog, check_call};
use answerback::contract::atdf::{EnrichSource, enrich};
use answerback::json::Limits;
use answerback::message::Style;
use answerback::provider::{self, Provider, ToolCall};
use anyhow::{Context, bail};
use clap::ValueEnum;
use serde_json::Value;

use crate::configuration::{ConfigurationOptions, for_all};
use crate::exit::Exit;
use crate::input::InputSource;
use crate::options::LimitOptions;
use crate::output::{ClosableOutput, push_line, quiet_json, sanitise, say};
use answerback_store::system::{now, random};

/// Check one tool call, and print the message to the model
///
/// A valid call prints only warnings, and the exit code is 0.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback call --tool read_file --schema read_file.json '{\"path\": 7}'
  answerback call --tool read_file --schema tools.json --format anthropic --call-id toolu_1 '{}'
  echo \"{'path': 'a'}\" | answerback call --tool read_file --schema read_file.json -
  answerback call --tool read_file --schema read_file.json --attempt 3 '{}'

At the last attempt the call is escalated: the text sums up the attempts and asks a person to intervene.
Exit codes: 0 the call is valid, 1 it is not valid, 2 it could not be checked.")]
pub(crate) struct Arguments {
    /// The tool's name
    #[arg(long, value_name = "NAME")]
    tool: String,

    /// The schema of the arguments, or a list of tools that contains the tool; '-' is standard input
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,

    /// The call's id
    #[arg(long, value_name = "ID", default_value = "call_1")]
    call_id: String,

    /// The number of the attempt; earlier attempts are unknown to this command
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    attempt: u8,

    /// The layout of the message; overrides the configuration
    #[arg(long, value_enum)]
    style: Option<StyleName>,

    #[command(flatten)]
    configuration: ConfigurationOptions,

    /// The output format
    #[arg(long, value_enum, default_value_t = CallFormat::Message)]
    format: CallFormat,

    #[command(flatten)]
    limits: LimitOptions,

    /// The arguments, as the model wrote them; '-' reads them from standard input
    #[arg(value_name = "ARGS", allow_hyphen_values = true)]
    text: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StyleName {
    /// A block of lines for each finding
    Detailed,
    /// One line for each finding
    Compact,
}

impl From<StyleName> for Style {
    fn from(name: StyleName) -> Self {
        match name {
            StyleName::Detailed => Self::Detailed,
            StyleName::Compact => Self::Compact,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CallFormat {
    /// The text for the model
    Message,
    /// The line that 'replay' prints
    Json,
    /// A tool result of the Model Context Protocol
    Mcp,
    /// A tool message of `OpenAI`'s Chat Completions
    #[value(name = "openai")]
    OpenAi,
    /// A function call output of `OpenAI`'s Responses
    #[value(name = "openai-responses")]
    OpenAiResponses,
    /// A tool result block of Anthropic's Messages
    Anthropic,
    /// A function response of Gemini
    Gemini,
    /// A tool result of Amazon Bedrock's Converse
    Bedrock,
    /// An ATDF enriched error
    Atdf,
}

impl CallFormat {
    fn provider(self) -> Option<Provider> {
        match self {
            Self::Message | Self::Json | Self::Atdf => None,
            Self::Mcp => Some(Provider::Mcp),
            Self::OpenAi => Some(Provider::OpenAiChat),
            Self::OpenAiResponses => Some(Provider::OpenAiResponses),
            Self::Anthropic => Some(Provider::Anthropic),
            Self::Gemini => Some(Provider::Gemini),
            Self::Bedrock => Some(Provider::Bedrock),
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let limits = arguments.limits.limits();
    let mut config = arguments.configuration.read()?;
    if let Some(style) = arguments.style {
        for_all(&mut config, |settings| settings.formatting.style = style.into());
    }
    let catalogue = catalogue(&arguments.tool, &arguments.schema, limits)?;
    let text = text(arguments, limits)?;
    let line =
        CallRequest::new(&arguments.tool, Value::from(text.clone())).with_id(&arguments.call_id);
    let judged = check_call(&catalogue, line, &config, limits);
    let most = judged.settings().retry.max_attempts();
    if arguments.attempt > most {
        bail!(
            "--attempt {} exceeds the maximum of {most} attempts; use a smaller number",
            arguments.attempt
        );
    }
    if let Some(fault) = &judged.unchecked {
        say(&format!("warning: the call is not checked: {fault}"));
    }
    for problem in judged.schema().map(Schema::problems).unwrap_or_default() {
        say(&format!("warning: a part of the tool's schema is not checked as written: {problem}"));
    }
    let exit = match (&judged.unchecked, judged.is_valid()) {
        (Some(_), _) => Exit::CouldNotCheck,
        (None, true) => Exit::Good,
        (None, false) => Exit::NotGood,
    };
    let output = output(judged, arguments, &text)?;
    ClosableOutput::new(io::stdout()).write_all(output.as_bytes())?;
    Ok(exit)
}

/// Reads the tools of the file: a list of tools, one tool, or a single schema, which gets the called name.
fn catalogue(tool: &str, file: &Path, limits: Limits) -> anyhow::Result<ToolCatalog> {
    let input = InputSource::new(file);
    let source = input.document(limits)?.value;
    let has = |key: &str| source.get(key).is_some();
    let is_tool = ["inputSchema", "input_schema", "function", "toolSpec", "functionDeclarations"]
        .iter()
        .any(|key| has(key))
        || has("name") && source.get("parameters").is_some_and(Value::is_object);
    let is_list = source.is_array() || source.get("tools").is_some_and(Value::is_array);
    let catalogue = if is_tool {
        ToolCatalog::read(&Value::from(vec![source]))
    } else if is_list {
        ToolCatalog::read(&source)
    } else {
        ToolCatalog::new([(tool.to_owned(), source)])
    };
    catalogue.with_context(|| input.name())
}

fn text(arguments: &Arguments, limits: Limits) -> anyhow::Result<String> {
    if arguments.text != "-" {
        return Ok(arguments.text.clone());
    }
    if arguments.schema.as_os_str() == "-" {
        bail!("schema and arguments cannot both come from standard input");
    }
    String::from_utf8(InputSource::Stdin.bytes(limits)?).context("the arguments are not UTF-8")
}

/// Returns the output, with its line end.
fn output(judged: CheckedCall<'_>, arguments: &Arguments, text: &str) -> anyhow::Result<String> {
    let outcome = judged.as_attempt(arguments.attempt, now(), random()?);
    let mut output = String::new();
    match arguments.format {
        CallFormat::Message => {
            let notes = judged.notes();
            let result = judged.reply(outcome).result;
            if let Some(message) = result.map(|result| result.content).or(notes) {
                output.push_str(&lines(&message));
            }
        }
        CallFormat::Json => push_line(&mut output, &judged.reply(outcome))?,
        CallFormat::Atdf => {
            let empty = Value::Null;
            let source = EnrichSource::Call {
                schema: judged.schema().map_or(&empty, Schema::source),
                arguments: judged.arguments.value().unwrap_or(&empty),
            };
            if let Some(error) = enrich(&judged.findings, &source, now()) {
                output.push_str(&pretty(&error.to_document())?);
            }
        }
        format => {
            let sent = provider::Arguments::Text(text.to_owned());
            let call = ToolCall::new(&judged.tool_call_id, &judged.tool, sent);
            let result = judged.reply(outcome).result;
            if let Some((provider, result)) = format.provider().zip(result) {
                output.push_str(&pretty(&provider.result(&call, &result))?);
            }
        }
    }
    Ok(output)
}

/// Returns the lines of a message, sanitized for a terminal.
fn lines(message: &str) -> String {
    message.lines().fold(String::new(), |lines, line| lines + &sanitise(line) + "\n")
}

fn pretty(value: &Value) -> anyhow::Result<String> {
    Ok(quiet_json(&serde_json::to_string_pretty(value)?).into_owned() + "\n")
}
