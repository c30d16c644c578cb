use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use answerback::call::Schema;
use answerback::checker::{
    CallReply, CallRequest, CallRequestError, CallSummary, CheckedCall, ToolCatalog,
    ToolCatalogError, check_call,
};
use answerback::config::ValidationConfig;
use answerback::finding::secrets;
use answerback::json::{Limits, ReadError};
use answerback::retry::AttemptOutcome;
use answerback::{Digest, RetryTracker, Timestamp};
use anyhow::{Context, bail};

use crate::configuration::ConfigurationOptions;
use crate::exit::Exit;
use crate::input::InputSource;
use crate::options::{LimitOptions, OutputFormat};
use crate::output::{ClosableOutput, OUTPUT_CLOSED, push_line, sanitise, say};
use crate::pipeline::{self, Piece, PipelineWork};
use crate::progress::ProgressLine;
use crate::report;

/// Check a log of tool calls, in order, with retries tracked
///
/// Every call gets the result that a model would get: the problems, the attempt, and from the last attempt on the
/// escalation to a person. Attempts are counted per conversation and tool.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback replay --tools tools.json calls.ndjson
  answerback replay --tools tools.json --summary calls.ndjson
  my-agent --log | answerback replay --tools tools.json --strict -

Each line of the log:
  {\"id\", \"tool\", \"arguments\", \"conversation\"?, \"turn\"?, \"model\"?}
  'arguments' is a value, or a string with the model's text. Calls with the same 'turn' are parallel calls and share an
  attempt; a line without 'turn' is a separate turn.

Each line of the output:
  {\"tool_call_id\", \"tool\", \"valid\", \"attempt\", \"max_attempts\", \"status\": \"ok\"|\"retry\"|\"blocked\"|\"unchecked\",
   \"errors\": […], \"repair\": {…}|null, \"result\": {…}|null, \"escalation\": {…}|null}

Exit codes: 0 all calls are valid, 1 some are not valid, 2 a line is not a call, or no call could be checked because all
schemas are unusable (status 'unchecked').")]
pub(crate) struct Arguments {
    /// The list of tools, in the form of MCP, `OpenAI`, Anthropic, Gemini or Bedrock
    #[arg(long, value_name = "TOOLS.json")]
    tools: PathBuf,

    #[command(flatten)]
    configuration: ConfigurationOptions,

    /// Print failure rates by tool, model, place and code instead of the results
    #[arg(long)]
    summary: bool,

    /// The output format [default: json for results, text for a summary]
    #[arg(long, value_enum)]
    format: Option<OutputFormat>,

    #[command(flatten)]
    limits: LimitOptions,

    /// The calls, one JSON object per line; '-' is standard input
    #[arg(value_name = "CALLS.ndjson")]
    calls: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    if arguments.tools.as_os_str() == "-" && arguments.calls.as_os_str() == "-" {
        bail!("tools and calls cannot both come from standard input");
    }
    let limits = arguments.limits.limits();
    let config = arguments.configuration.read()?;
    let tools = InputSource::new(&arguments.tools);
    let catalogue = match ToolCatalog::read(&tools.document(limits)?.value) {
        // Nothing in the document looks like a tool of any known format.
        Err(ToolCatalogError::Shape(error)) if error.place.is_root() => {
            bail!(
                "{}: not a list of tools; write [{{\"name\": …, \"inputSchema\": {{…}}}}], or the list that is sent to the model",
                tools.name()
            )
        }
        catalogue => catalogue.with_context(|| tools.name())?,
    };
    let input = InputSource::new(&arguments.calls);
    let log = input.open()?;
    let summary = arguments.summary.then(|| Mutex::new(CallSummary::default()));
    let tracker = RetryTracker::new(&config);
    let format = arguments.format.unwrap_or(OutputFormat::Json);
    let replay = Replay {
        catalogue: &catalogue,
        config: &config,
        limits,
        tracker: &tracker,
        now: Timestamp::from_unix_millis(0),
        summary,
        format,
    };
    let mut writer = ReplayWriter::new(arguments.summary);
    let has_end = input.has_end();
    let ran = pipeline::run(&input.name(), log, limits.max_bytes, &replay, |done| {
        writer.write(done)?;
        // The exit code must not claim that unread calls are valid.
        if writer.output.is_closed() && !has_end {
            bail!(OUTPUT_CLOSED);
        }
        Ok(())
    });
    writer.progress.finish();
    if ran.is_err() && writer.output.is_closed() && writer.exit != Exit::Good {
        return Ok(writer.exit);
    }
    ran?;
    if writer.calls == 0 {
        say(&format!("error: {} contains no calls", input.name()));
        writer.exit = Exit::CouldNotCheck;
    } else if writer.judged == 0 && writer.exit == Exit::Good {
        say(
            "error: no call could be checked, because all schemas are unusable; correct the schemas named above",
        );
        writer.exit = Exit::CouldNotCheck;
    }
    if let Some(summary) = replay.summary {
        let summary = summary.into_inner().unwrap_or_else(PoisonError::into_inner);
        let summary = summary.finish(&tracker.tally());
        let text = match arguments.format.unwrap_or(OutputFormat::Text) {
            OutputFormat::Text => report::summary(&summary),
            OutputFormat::Json => {
                let mut line = String::new();
                push_line(&mut line, &summary)?;
                line
            }
        };
        writer.output.write_all(text.as_bytes())?;
    }
    writer.output.flush()?;
    Ok(writer.exit)
}

/// Checks the pieces of a log.
struct Replay<'r> {
    catalogue: &'r ToolCatalog,
    config: &'r ValidationConfig,
    limits: Limits,
    tracker: &'r RetryTracker,
    /// A fixed time, because a log has no clock. So no retry state expires, and every replay gives the same results.
    now: Timestamp,
    /// Collects a summary instead of printing results.
    summary: Option<Mutex<CallSummary>>,
    format: OutputFormat,
}

/// Each line of the log: a call, or the error in it.
struct ReplayLine<'r> {
    number: usize,
    judged: Result<CheckedCall<'r>, CallRequestError>,
    outcome: AttemptOutcome,
}

/// The result of one piece.
#[derive(Default)]
struct CheckedPiece {
    text: String,
    notes: Vec<String>,
    exit: Option<Exit>,
    calls: u64,
    /// The number of calls that could be checked.
    judged: u64,
    bytes: u64,
}

impl<'r> PipelineWork for Replay<'r> {
    type CheckedCall = (u64, Vec<ReplayLine<'r>>);
    type Done = CheckedPiece;

    fn judge(&self, piece: &Piece) -> Self::CheckedCall {
        let mut bytes = 0;
        let lines = piece.lines().map(|(number, line)| {
            bytes += line.len() as u64 + 1;
            let judged = CallRequest::read(line, self.limits).map(|mut call| {
                call.id.get_or_insert_with(|| format!("line-{number}"));
                check_call(self.catalogue, call, self.config, self.limits)
            });
            ReplayLine { number, judged, outcome: AttemptOutcome::Ignored }
        });
        let lines = lines.collect();
        (bytes, lines)
    }

    fn count(&self, (_, lines): &mut Self::CheckedCall) {
        let mut summary = self
            .summary
            .as_ref()
            .map(|summary| summary.lock().unwrap_or_else(PoisonError::into_inner));
        for line in lines {
            let Ok(judged) = &line.judged else { continue };
            line.outcome = judged.track(self.tracker, self.now, random(line.number, judged));
            if let Some(summary) = &mut summary {
                summary.add(judged, &line.outcome);
            }
        }
    }

    fn finish(&self, (bytes, lines): Self::CheckedCall) -> CheckedPiece {
        let mut done = CheckedPiece { bytes, calls: lines.len() as u64, ..CheckedPiece::default() };
        for ReplayLine { number, judged, outcome } in lines {
            match judged {
                Ok(judged) => self.add(&mut done, judged, outcome),
                Err(error) => {
                    done.notes.push(no_call(number, &error));
                    done.exit = Some(Exit::CouldNotCheck);
                }
            }
        }
        done
    }
}

impl Replay<'_> {
    fn add(&self, done: &mut CheckedPiece, judged: CheckedCall<'_>, outcome: AttemptOutcome) {
        if let Some(fault) = &judged.unchecked {
            let tool = &judged.tool;
            done.notes.push(format!("warning: calls of {tool:?} are not checked: {fault}"));
        }
        let problems = judged.schema().map(Schema::problems).unwrap_or_default();
        done.notes.extend(problems.iter().map(|problem| {
            let tool = &judged.tool;
            format!(
                "warning: a part of the schema of {tool:?} is not checked as written: {problem}"
            )
        }));
        let exit = if judged.is_valid() { Exit::Good } else { Exit::NotGood };
        // Text that is not JSON is invalid under any schema.
        done.judged += u64::from(judged.unchecked.is_none() || exit == Exit::NotGood);
        done.exit = done.exit.max(Some(exit));
        if self.summary.is_some() {
            return;
        }
        let answer = judged.reply(outcome);
        match self.format {
            // Writing to memory cannot fail.
            OutputFormat::Json => drop(push_line(&mut done.text, &answer)),
            OutputFormat::Text => push_text(&mut done.text, &answer),
        }
    }
}

/// Returns the message about a line that is not a call. The line number of the parse error is always 1 here, so it is
/// left out.
fn no_call(number: usize, error: &CallRequestError) -> String {
    match error {
        CallRequestError::Read(ReadError { kind, column, .. }) => {
            format!("error: line {number}, column {column}: {kind}")
        }
        // The error may contain a member of the line, so it is redacted.
        other => format!("error: line {number}: {}", secrets::redact(&other.to_string())),
    }
}

/// Returns the same random bytes in every replay, and different ones for each line. An escalation's id needs them.
fn random(number: usize, judged: &CheckedCall<'_>) -> [u8; 10] {
    let mut random = [0; 10];
    if !judged.is_valid() {
        let digest = Digest::of_bytes(format!("{number} {}", judged.key()).as_bytes());
        random.copy_from_slice(&digest.as_bytes()[..10]);
    }
    random
}

/// Appends a result as one line for people.
fn push_text(text: &mut String, answer: &CallReply) {
    let mut line = format!(
        "{} {} {} {}/{}",
        answer.tool_call_id,
        answer.tool,
        answer.status.as_str(),
        answer.attempt,
        answer.max_attempts
    );
    if let Some(first) = answer.errors.first() {
        line.push_str(": ");
        line.push_str(&first.to_string());
    }
    if answer.errors.len() > 1 {
        // Writing to a string cannot fail.
        let _ = write!(line, " (and {} more)", answer.errors.len() - 1);
    }
    text.push_str(&sanitise(&line));
    text.push('\n');
}

/// Writes the results of the workers.
struct ReplayWriter {
    output: ClosableOutput<io::StdoutLock<'static>>,
    progress: ProgressLine,
    /// The notes that were printed, so that each is printed once and not for every call.
    printed: BTreeSet<String>,
    calls: u64,
    judged: u64,
    exit: Exit,
}

impl ReplayWriter {
    fn new(is_summary: bool) -> Self {
        let output = io::stdout().lock();
        // Results on a terminal already show the progress.
        let progress = ProgressLine::new("calls").with_watched(is_summary || !output.is_terminal());
        let output = ClosableOutput::new(output);
        Self { output, progress, printed: BTreeSet::new(), calls: 0, judged: 0, exit: Exit::Good }
    }

    fn write(&mut self, done: CheckedPiece) -> anyhow::Result<()> {
        self.output.write_all(done.text.as_bytes())?;
        self.exit = self.exit.max(done.exit.unwrap_or(Exit::Good));
        for note in done.notes {
            if self.printed.insert(note.clone()) {
                self.progress.finish();
                say(&note);
            }
        }
        self.calls += done.calls;
        self.judged += done.judged;
        self.progress.add(done.calls, done.bytes);
        Ok(())
    }
}
