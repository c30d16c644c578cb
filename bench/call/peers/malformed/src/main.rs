//! What llm_json and the product read out of texts that are not JSON, and in what time.
//!
//! `bench-call-malformed DATA OUT` takes each part below DATA/malformed and prints a row for each program, as
//! harness.py does. What a program made of each text goes to OUT/NAME.PART.values.ndjson; a line without `value` is
//! a text that it gave up.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;

use answerback::call::{Malformed, parse};
use answerback::checker::{CallRequest, ToolCatalog, check_call};
use answerback::config::ValidationConfig;
use answerback::json::Limits;
use anyhow::{Context, bail};
use llm_json::{RepairOptions, loads};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

/// As in bench-call and the harnesses: the best round of each text, a batch between two looks at the clock.
const ROUNDS: usize = 30;
const BATCH: u32 = 8;

/// The texts of one folder, with what the product has ready before a call comes.
struct Part {
    name: String,
    catalogue: ToolCatalog,
    config: ValidationConfig,
    calls: Vec<Call>,
}

struct Call {
    id: String,
    text: String,
    line: CallRequest,
}

/// A program: what it reads out of a text, if anything.
struct Program {
    name: &'static str,
    version: &'static str,
    read: fn(&Part, &Call) -> Option<Value>,
}

const PROGRAMS: [Program; 3] = [
    Program { name: "answerback", version: "", read: reading },
    Program { name: "answerback, checked", version: "", read: checked },
    Program { name: "llm_json", version: "1.0.3", read: llm_json },
];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [data, out] = arguments.as_slice() else {
        bail!("usage: bench-call-malformed DATA OUT");
    };
    let mut folders: Vec<PathBuf> = fs::read_dir(data.join("malformed"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    folders.sort();
    for folder in folders {
        let part = Part::read(&folder).with_context(|| folder.display().to_string())?;
        for program in &PROGRAMS {
            keep_values(&part, program, out)?;
        }
        for (program, times) in PROGRAMS.iter().zip(measure(&part)) {
            print_row(&part, program, times)?;
        }
    }
    Ok(())
}

impl Part {
    fn read(folder: &Path) -> anyhow::Result<Self> {
        let tools = serde_json::from_str(&fs::read_to_string(folder.join("tools.json"))?)?;
        let calls = fs::read_to_string(folder.join("calls.ndjson"))?
            .lines()
            .map(|line| {
                let line = CallRequest::read(line.as_bytes(), Limits::default())?;
                let text = line.arguments.as_ref().and_then(Value::as_str);
                let text = text.context("a call without a text")?.to_owned();
                Ok(Call { id: line.id.clone().unwrap_or_default(), text, line })
            })
            .collect::<anyhow::Result<_>>()?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let catalogue = ToolCatalog::read(&tools)?;
        Ok(Self { name, catalogue, config: ValidationConfig::default(), calls })
    }
}

/// The lenient reading alone: what llm_json does.
fn reading(_: &Part, call: &Call) -> Option<Value> {
    match parse(&call.text, Limits::default()) {
        Ok(document) => Some(document.value),
        Err(malformed) => Malformed::into_reading(malformed).map(|reading| reading.value),
    }
}

/// The reading, its mistakes as a finding, and the check against the tool's schema: only a reading that makes the
/// call valid is offered.
fn checked(part: &Part, call: &Call) -> Option<Value> {
    let judged = check_call(&part.catalogue, call.line.clone(), &part.config, Limits::default());
    judged.repair.map(|repair| repair.arguments)
}

/// The strict parser is spared, as a caller who has just seen it fail does.
fn llm_json(_: &Part, call: &Call) -> Option<Value> {
    let options = RepairOptions { skip_json_loads: true, ..RepairOptions::default() };
    loads(&call.text, &options).ok()
}

fn keep_values(part: &Part, program: &Program, out: &Path) -> anyhow::Result<()> {
    let path = out.join(format!("{}.{}.values.ndjson", program.name, part.name));
    let mut file = BufWriter::new(File::create(path)?);
    for call in &part.calls {
        let mut line = json!({ "id": call.id });
        if let Some(value) = (program.read)(part, call) {
            line["value"] = value;
        }
        writeln!(file, "{line}")?;
    }
    Ok(file.flush()?)
}

/// Microseconds of CPU time for each program and text: the best round. The programs take turns, so that whatever
/// disturbs the machine disturbs them alike.
fn measure(part: &Part) -> [Vec<f64>; PROGRAMS.len()] {
    let mut best = PROGRAMS.map(|_| vec![f64::INFINITY; part.calls.len()]);
    for _ in 0..ROUNDS {
        for (place, call) in part.calls.iter().enumerate() {
            for (program, best) in PROGRAMS.iter().zip(&mut best) {
                let before = now();
                for _ in 0..BATCH {
                    black_box((program.read)(part, black_box(call)));
                }
                let spent = now().saturating_sub(before).as_secs_f64();
                best[place] = best[place].min(spent * 1e6 / f64::from(BATCH));
            }
        }
    }
    best
}

/// The CPU time of this thread, which starts at zero and does not go back.
fn now() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

fn print_row(part: &Part, program: &Program, mut times: Vec<f64>) -> anyhow::Result<()> {
    times.sort_by(f64::total_cmp);
    let at = |hundredths: usize| {
        let rank = (times.len() * hundredths).div_ceil(100).max(1);
        times.get(rank - 1).copied().context("a part without texts")
    };
    let rounded = |time: f64| (time * 100.0).round() / 100.0;
    let row = json!({
        "name": program.name,
        "version": program.version,
        "part": part.name,
        "calls": times.len(),
        "p50_us": rounded(at(50)?),
        "p99_us": rounded(at(99)?),
        "mean_us": rounded(times.iter().sum::<f64>() / times.len() as f64),
    });
    Ok(writeln!(stdout(), "{row}")?)
}
