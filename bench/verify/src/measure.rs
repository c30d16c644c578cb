//! CPU time of hashing, parsing, reading and verifying the same responses.

use std::hint::black_box;
use std::io::Write;
use std::time::Duration;

use answerback::Digest;
use answerback::governance::Authority;
use answerback::json::{Limits, read};
use anyhow::{Context, ensure};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

use crate::responses::{authority, response};

/// So many are held at a time.
const BATCH: usize = 5_000;
const STEPS: [&str; 5] = ["hash", "parse", "read", "verify", "read + verify"];

/// Measures this many responses and prints what each step costs.
pub(crate) fn run(count: usize, output: &mut impl Write) -> anyhow::Result<()> {
    let authority = authority()?;
    ensure!(authority.is_sound(), "the benchmark's own manifest and lock are sound");
    let mut sums = [0.0; STEPS.len()];
    let (mut bytes, mut refused, mut spoiled) = (0, 0, 0);
    for start in (0..count).step_by(BATCH) {
        let mut batch = Vec::with_capacity(BATCH);
        for number in start..count.min(start + BATCH) {
            let (response, is_spoiled) = response(&authority, number)?;
            bytes += response.len();
            spoiled += usize::from(is_spoiled);
            batch.push(response);
        }
        // The first batch once more before it counts: caches and the allocator are warm.
        if start == 0 {
            measure(&authority, &batch)?;
        }
        let (times, rejected) = measure(&authority, &batch)?;
        refused += rejected;
        for (sum, time) in sums.iter_mut().zip(times) {
            *sum += time;
        }
    }
    ensure!(refused == spoiled, "{refused} refused, but {spoiled} are spoiled");
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    writeln!(
        output,
        "{count} governed responses, {:.0} bytes each; {refused} of them refused for another hash",
        number(bytes) / number(count).max(1.0)
    )?;
    writeln!(output, "CPU time per response, and how many times hashing and parsing it is\n")?;
    writeln!(output, "{:<14} {:>9} {:>8} {:>8}", "", "µs", "/ hash", "/ parse")?;
    for (name, sum) in STEPS.iter().zip(sums) {
        let each = sum * 1e6 / number(count).max(1.0);
        writeln!(output, "{name:<14} {each:>9.2} {:>8.2} {:>8.2}", sum / sums[0], sum / sums[1])?;
    }
    writeln!(
        output,
        "\nhash: SHA-256 of the bytes; parse: serde_json::from_slice::<Value>; read: answerback::json::read;\n\
         verify: Authority::verify of the read document, against manifest and lock"
    )?;
    Ok(())
}

/// The seconds that each step takes over a batch, and how many responses were refused.
fn measure(
    authority: &Authority,
    batch: &[Vec<u8>],
) -> anyhow::Result<([f64; STEPS.len()], usize)> {
    let hash = cpu_time(|| {
        for bytes in batch {
            black_box(Digest::of_bytes(black_box(bytes)));
        }
        Ok(())
    })?;
    let parse = cpu_time(|| {
        for bytes in batch {
            black_box(serde_json::from_slice::<Value>(black_box(bytes))?);
        }
        Ok(())
    })?;
    let reading = cpu_time(|| {
        for bytes in batch {
            black_box(read(black_box(bytes), Limits::default())?);
        }
        Ok(())
    })?;
    let documents = batch
        .iter()
        .map(|bytes| Ok(read(bytes, Limits::default())?.value))
        .collect::<anyhow::Result<Vec<Value>>>()?;
    let mut refused = 0;
    let verify = cpu_time(|| {
        for document in &documents {
            let verification = authority.verify(black_box(document), None);
            refused += usize::from(!verification.is_accepted());
            black_box(&verification);
        }
        Ok(())
    })?;
    let both = cpu_time(|| {
        for bytes in batch {
            let document = read(black_box(bytes), Limits::default())?.value;
            black_box(&authority.verify(&document, None));
        }
        Ok(())
    })?;
    Ok(([hash, parse, reading, verify, both], refused))
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
