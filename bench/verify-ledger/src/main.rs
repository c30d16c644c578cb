//! How fast a ledger is verified.
//!
//! `cargo run --profile dist -p bench-verify-ledger -- [ENTRIES] [PART_BYTES] [BATCH]`: writes synthetic logs with and
//! without content, one checkpoint for every BATCH entries, and one with a checkpoint for every second entry, which is
//! what a writer leaves that keeps all of them. Ours keeps one for 256. It verifies them from the store's file on one thread and on
//! all. Nothing is asserted; the figures are printed: by the clock, and by the processor time that was used, which says
//! the same on a machine that has other work.
#![expect(clippy::unwrap_used, reason = "the writer of the tests, which is shared, may panic")]
#![expect(clippy::print_stdout, reason = "the figures are the output")]

#[path = "../../../crates/answerback-verify/tests/support/mod.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod support;

use std::{
    fs,
    num::NonZeroUsize,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use answerback_verify::{VerifyOptions, open, verify};
use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};
use support::{Writer, sample, text, written::SqliteWriter};

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut next =
        |default: u64| arguments.next().unwrap_or(Ok(default)).context("arguments are numbers");
    let (entries, part_bytes, batch) = (next(200_000)?, next(2_048)?, next(256)?);
    println!("{entries} entries");
    println!("SHA-256 of 1 MiB: {:.0} MB/s (about 300 without instructions for it)", hash_speed());
    let directory =
        std::env::temp_dir().join(format!("bench-verify-ledger-{}", std::process::id()));
    fs::create_dir(&directory)?;
    let measured = measure_all(&directory, entries, part_bytes, batch);
    fs::remove_dir_all(&directory)?;
    measured
}

fn measure_all(directory: &Path, entries: u64, part_bytes: u64, batch: u64) -> Result<()> {
    for (bytes, batch) in [(0, batch), (part_bytes, batch), (part_bytes, 2)] {
        let path = directory.join(format!("{bytes}-{batch}.db"));
        let leaf_bytes = write(&path, entries, bytes, batch);
        let size = fs::metadata(&path)?.len() / 1_000_000;
        println!(
            "\n{bytes} bytes of content an entry, leaves of {} bytes, a checkpoint for every {batch} entries, {size} MB",
            leaf_bytes / entries
        );
        let all = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        for threads in [NonZeroUsize::MIN, all] {
            measure(&path, threads, entries)?;
        }
    }
    Ok(())
}

/// Writes a log of governed requests and responses, and gives the bytes of all leaves.
fn write(path: &Path, entries: u64, bytes: u64, batch: u64) -> u64 {
    let mut writer = Writer::new(7);
    let file = SqliteWriter::create(path);
    let content = vec![b'x'; usize::try_from(bytes).unwrap()];
    let parts: &[(&str, &[u8])] = if content.is_empty() { &[] } else { &[("content", &content)] };
    sample::config(&mut writer, "manifest", sample::MANIFEST);
    sample::config(&mut writer, "lock", &sample::lock());
    let mut leaf_bytes = 0;
    while writer.ledger.size < entries {
        let number = writer.ledger.size;
        let members = [
            ("request_id", text(sample::uuid(number))),
            ("agent_id", text("domain-02-analysis")),
            ("tool", text("weather.now")),
        ];
        let request = writer.append("request", &members, parts);
        writer.append("response", &sample::response_members(number, request), parts);
        if writer.ledger.rows.len() as u64 >= batch {
            writer.checkpoint();
            leaf_bytes += writer.ledger.rows.iter().map(|row| row.leaf.len() as u64).sum::<u64>();
            file.append(&mut writer.ledger);
        }
    }
    if !writer.ledger.rows.is_empty() {
        writer.checkpoint();
        leaf_bytes += writer.ledger.rows.iter().map(|row| row.leaf.len() as u64).sum::<u64>();
        file.append(&mut writer.ledger);
    }
    leaf_bytes
}

/// Verifies three times; the best is the machine's, the others are its neighbours'.
fn measure(path: &Path, threads: NonZeroUsize, entries: u64) -> Result<()> {
    let options = VerifyOptions::new().with_threads(threads);
    let (mut best, mut best_used) = (Duration::MAX, Duration::MAX);
    for _ in 0..3 {
        let (start, used) = (Instant::now(), processor_time());
        let report = verify(open(path)?.as_mut(), &options)?;
        best = best.min(start.elapsed());
        best_used = best_used.min(processor_time().saturating_sub(used));
        ensure!(report.valid, "{report}");
    }
    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    let rate = |time: Duration| entries as f64 / time.as_secs_f64();
    println!(
        "{threads} thread(s): {:.0} entries/s, {:.0} entries a second of processor time, peak memory so far {}",
        rate(best),
        rate(best_used),
        peak_memory()
    );
    Ok(())
}

fn hash_speed() -> f64 {
    let bytes = vec![7; 1 << 20];
    let start = processor_time();
    for _ in 0..64 {
        std::hint::black_box(Sha256::digest(std::hint::black_box(&bytes)));
    }
    67.108_864 / processor_time().saturating_sub(start).as_secs_f64()
}

/// The processor time of this process, over all threads.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |line| line.trim().to_owned())
}
