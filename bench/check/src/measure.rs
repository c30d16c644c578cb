//! CPU time of parsing, reading and judging the same documents, as medians over rounds.

use std::hint::black_box;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use answerback::contract::{Contract, Profile, recognise};
use answerback::json::{Limits, read};
use anyhow::Context;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

use crate::documents::{Corpus, Document};

/// Judging may cost this many times what parsing costs.
const TARGET: f64 = 3.0;
const WARM_UP: usize = 2;
const ROUNDS: usize = 11;

/// Prints the table and says whether the target is met.
pub(crate) fn run(corpus: &Corpus, output: &mut impl Write) -> anyhow::Result<ExitCode> {
    let all: Vec<&Document> = corpus.documents.iter().collect();
    let spoiled = all.iter().filter(|document| document.is_spoiled).count();
    let judged =
        all.iter().map(|document| judge(&document.bytes)).collect::<Result<Vec<_>, _>>()?;
    let invalid = judged.iter().filter(|verdict| **verdict == Verdict::Invalid).count();
    let unknown = judged.iter().filter(|verdict| **verdict == Verdict::NotRecognised).count();
    writeln!(
        output,
        "{} documents, {:.1} MB; {spoiled} spoiled, {invalid} judged invalid, {unknown} not recognised",
        all.len(),
        megabytes(&all),
    )?;
    writeln!(output, "CPU time, median of {ROUNDS} rounds\n")?;
    writeln!(
        output,
        "{:<10} {:>8} {:>11} {:>11} {:>11} {:>8} {:>8}",
        "", "MB", "parse ms", "read ms", "judge ms", "read/p", "judge/p"
    )?;
    let contracts = [Contract::Atdf, Contract::Governed, Contract::Ui, Contract::Tool];
    for contract in contracts {
        let some: Vec<&Document> =
            all.iter().copied().filter(|document| document.contract == contract).collect();
        row(output, contract.as_str(), &some)?;
    }
    let ratio = row(output, "all", &all)?;
    let met = ratio <= TARGET;
    let verdict = if met { "met" } else { "MISSED" };
    writeln!(
        output,
        "\njudging costs {ratio:.2} times parsing; target at most {TARGET:.2}: {verdict}"
    )?;
    writeln!(
        output,
        "parse: serde_json::from_slice::<Value>; read: answerback::json::read; judge: read, recognise, check"
    )?;
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures these documents, prints a line and answers how many times parsing the judging costs.
fn row(output: &mut impl Write, name: &str, documents: &[&Document]) -> anyhow::Result<f64> {
    let mut rounds: [Vec<f64>; 3] = Default::default();
    let mut ratios: [Vec<f64>; 2] = Default::default();
    for round in 0..WARM_UP + ROUNDS {
        // The three take turns, so that whatever disturbs the machine disturbs them alike.
        let parse = cpu_time(|| {
            for document in documents {
                black_box(serde_json::from_slice::<Value>(black_box(&document.bytes))?);
            }
            Ok(())
        })?;
        let read = cpu_time(|| {
            for document in documents {
                black_box(read(black_box(&document.bytes), Limits::default())?);
            }
            Ok(())
        })?;
        let judge = cpu_time(|| {
            for document in documents {
                black_box(judge(black_box(&document.bytes))?);
            }
            Ok(())
        })?;
        if round >= WARM_UP {
            for (kept, time) in rounds.iter_mut().zip([parse, read, judge]) {
                kept.push(time);
            }
            ratios[0].push(read / parse);
            ratios[1].push(judge / parse);
        }
    }
    let [parse, read, judge] = rounds.map(median);
    let [read_ratio, judge_ratio] = ratios.map(median);
    writeln!(
        output,
        "{name:<10} {:>8.1} {:>11.2} {:>11.2} {:>11.2} {read_ratio:>8.2} {judge_ratio:>8.2}",
        megabytes(documents),
        parse * 1e3,
        read * 1e3,
        judge * 1e3,
    )?;
    Ok(judge_ratio)
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Verdict {
    Valid,
    Invalid,
    NotRecognised,
}

/// What `answerback check` does with one document.
fn judge(bytes: &[u8]) -> anyhow::Result<Verdict> {
    let document = read(bytes, Limits::default())?;
    let Some(found) = recognise(&document.value) else { return Ok(Verdict::NotRecognised) };
    let findings = found.contract.check(&document.value, Profile::Strict);
    let is_invalid =
        document.findings.iter().chain(&findings).any(answerback::ValidationError::is_error);
    Ok(if is_invalid { Verdict::Invalid } else { Verdict::Valid })
}

/// The seconds of CPU time that some work takes.
fn cpu_time(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let before = now()?;
    work()?;
    Ok(now()?.saturating_sub(before).as_secs_f64())
}

fn now() -> anyhow::Result<Duration> {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).context("the clock runs backwards")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn megabytes(documents: &[&Document]) -> f64 {
    let kilobytes = documents.iter().map(|document| document.bytes.len()).sum::<usize>() / 1000;
    f64::from(u32::try_from(kilobytes).unwrap_or(u32::MAX)) / 1e3
}
