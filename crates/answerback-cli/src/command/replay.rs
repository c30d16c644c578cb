use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use answerback::call::Options;
use answerback::json::{Limits, read};
use anyhow::Context;
use serde_json::Value;

use crate::exit::Exit;
use crate::input::Input;
use crate::judge::{Judged, answer, judge};
use crate::ndjson::push_line;
use crate::tools::Tools;

/// Judge a log of tool calls, in order
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A line of CALLS is {\"id\",\"tool\",\"arguments\"}; 'arguments' is a value, or the text the model wrote.\n\
                  Exit code 1: at least one call is not valid."
)]
pub(crate) struct Arguments {
    /// The list of tools, in the form of MCP, Anthropic or `OpenAI`
    #[arg(long, value_name = "TOOLS.json")]
    tools: PathBuf,
    /// Take an unknown field for an error even where its schema allows it
    #[arg(long)]
    strict: bool,
    /// The calls, one JSON object a line; '-' is standard input
    #[arg(value_name = "CALLS.ndjson")]
    calls: PathBuf,
}

/// The size of the pieces in which the log is read and handed out.
const CHUNK_BYTES: usize = 1 << 17;
/// How many pieces are on their way at once, for each worker. It bounds memory.
const CHUNKS_A_WORKER: usize = 4;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let limits = Limits::default();
    let tools = Tools::read(&arguments.tools, limits)?;
    let options = Options::default().with_strict(arguments.strict);
    let input = Input::new(&arguments.calls);
    let log = BufReader::new(input.open()?);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let flight = workers * CHUNKS_A_WORKER;

    // A piece may only be read when one of the pieces before it has been written.
    let (permits, permitted) = sync_channel::<()>(flight);
    for _ in 0..flight {
        permits.send(()).context("the replay has ended")?;
    }
    let (to_work, work) = sync_channel::<Piece>(flight);
    let (to_write, written) = sync_channel::<(usize, Outcome)>(flight);
    let work = Mutex::new(work);
    let (work, tools) = (&work, &tools);
    thread::scope(move |scope| {
        let reading = scope.spawn(move || cut(log, &permitted, &to_work, limits.max_bytes));
        for _ in 0..workers {
            let to_write = to_write.clone();
            scope.spawn(move || {
                while let Some(piece) = next(work) {
                    if to_write.send((piece.index, judge_piece(&piece, tools, options))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(to_write);
        let exit = write_in_order(&written, &permits);
        // Whatever ended the writing also ends the reading.
        drop((permits, written));
        let read = reading.join().map_err(|_| anyhow::anyhow!("reading the log failed"))?;
        let exit = exit?;
        read.with_context(|| format!("cannot read {}", input.name()))?;
        Ok(exit)
    })
}

/// Some whole lines of the log.
struct Piece {
    index: usize,
    first_line: usize,
    bytes: Vec<u8>,
}

/// What came of a piece.
#[derive(Default)]
struct Outcome {
    lines: Vec<u8>,
    exit: Option<Exit>,
    notes: Vec<String>,
}

/// Cuts the log into pieces of whole lines.
fn cut(
    mut log: impl BufRead,
    permitted: &Receiver<()>,
    to_work: &SyncSender<Piece>,
    longest_line: usize,
) -> io::Result<()> {
    let mut first_line = 1;
    for index in 0.. {
        if permitted.recv().is_err() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 4);
        let mut lines = 0;
        while bytes.len() < CHUNK_BYTES {
            let before = bytes.len();
            let mut line = io::Read::take(&mut log, longest_line as u64 + 1);
            if line.read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            if bytes.len() - before > longest_line {
                let text =
                    format!("line {} has more than {longest_line} bytes", first_line + lines);
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            lines += 1;
        }
        if bytes.is_empty() || to_work.send(Piece { index, first_line, bytes }).is_err() {
            return Ok(());
        }
        first_line += lines;
    }
    Ok(())
}

fn next(work: &Mutex<Receiver<Piece>>) -> Option<Piece> {
    work.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

fn judge_piece(piece: &Piece, tools: &Tools, options: Options) -> Outcome {
    let mut outcome = Outcome::default();
    for (offset, line) in piece.bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let number = piece.first_line + offset;
        match judge_line(line, number, tools, options) {
            Ok(judged) => outcome.add(&judged),
            Err(error) => {
                outcome.notes.push(format!("error: line {number}: {error:#}"));
                outcome.exit = outcome.exit.max(Some(Exit::CouldNotJudge));
            }
        }
    }
    outcome
}

/// One line of the log, judged.
fn judge_line(
    line: &[u8],
    number: usize,
    tools: &Tools,
    options: Options,
) -> anyhow::Result<Judged> {
    // The call may nest one level deeper than its arguments.
    let document = read(line, Limits::default().with_max_depth(Limits::DEEPEST))?;
    let text = |name: &str| document.value.get(name).and_then(Value::as_str);
    let tool = text("tool").context("no tool is named")?.to_owned();
    let call_id = text("id").map_or_else(|| format!("line-{number}"), str::to_owned);
    let arguments = document.value.get("arguments").unwrap_or(&Value::Null);
    Ok(judge(call_id, tool, arguments, tools, options))
}

impl Outcome {
    fn add(&mut self, judged: &Judged) {
        if let Some(fault) = &judged.unchecked {
            self.notes
                .push(format!("warning: calls of {:?} are not checked: {fault}", judged.tool));
        }
        let exit = if judged.is_valid() { Exit::Good } else { Exit::NotGood };
        self.exit = self.exit.max(Some(exit));
        // Writing to memory does not fail.
        let _ = push_line(&mut self.lines, &answer(judged, 1));
    }
}

/// Writes what the workers have made, in the order of the log.
fn write_in_order(
    written: &Receiver<(usize, Outcome)>,
    permits: &SyncSender<()>,
) -> anyhow::Result<Exit> {
    let mut output = io::stdout().lock();
    let mut exit = Exit::Good;
    let mut early = BTreeMap::new();
    let mut told = BTreeSet::new();
    let mut due = 0;
    for (index, outcome) in written {
        early.insert(index, outcome);
        while let Some(outcome) = early.remove(&due) {
            due += 1;
            output.write_all(&outcome.lines)?;
            exit = exit.max(outcome.exit.unwrap_or(Exit::Good));
            for note in outcome.notes {
                // One tool's schema is complained of once, not once a call.
                if told.insert(note.clone()) {
                    anstream::eprintln!("{note}");
                }
            }
            // The reader may be done already.
            let _ = permits.send(());
        }
    }
    output.flush()?;
    Ok(exit)
}
