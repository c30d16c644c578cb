//! Measures the cost of a call through a gateway: Answerback, a bare relay and other gateways, all in one run.
//! `scripts/bench-gateway` installs the other gateways and runs it. The README in this folder explains the table.
//!
//! - `bench-gateway measure PEERS ANSWERBACK [REQUESTS [SECONDS [NAME]]]` measures each cell with at most that many
//!   calls and seconds. NAME selects the programs whose names contain it;
//! - `bench-gateway turns PEERS ANSWERBACK [ROUNDS]` measures the bare relay and Answerback in turns with
//!   results of 1 KB, and prints medians;
//! - `bench-gateway stub-stdio`, `stub-http PORT` and `relay PORT URL` are the programs that it starts itself.
#![expect(clippy::print_stdout, reason = "this program prints figures")]

mod commits;
mod link;
mod load;
mod process;
mod relay;
mod session;
mod stub;
mod table;
mod target;
mod turns;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::signal::unix::{SignalKind, signal};

use link::Endpoint;
use load::Load;
use session::Session;
use table::Row;
use target::{BenchSetup, RunningTarget, Target};

const CONCURRENCIES: [usize; 3] = [1, 8, 32];
/// The sizes of results in bytes, each with the factor by which the number of calls is reduced.
const SIZES: [(usize, usize); 3] = [(1000, 1), (100_000, 4), (1_000_000, 20)];

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["stub-stdio"] => stub::stdio().await,
        ["stub-http", port] => stub::http(port.parse()?).await,
        ["relay", port, uri] => relay::serve(port.parse()?, uri.parse()?).await,
        ["turns", peers, answerback, ref rest @ ..] if rest.len() <= 1 => {
            let rounds = rest.first().map_or(Ok(11), |it| it.parse()).context("not a number")?;
            let setup = setup(peers, answerback)?;
            until_stopped(turns::measure(&setup, rounds)).await?;
            Ok(std::fs::remove_dir_all(&setup.scratch)?)
        }
        ["measure", peers, answerback, ref rest @ ..] if rest.len() <= 3 => {
            let number = |at: usize, default: usize| {
                rest.get(at).map_or(Ok(default), |it| it.parse()).context("not a whole number")
            };
            let name = rest.get(2).copied().unwrap_or_default();
            let (requests, seconds) = (number(0, 2000)?, number(1, 20)?);
            let setup = setup(peers, answerback)?;
            until_stopped(measure(&setup, requests, seconds, name)).await?;
            Ok(std::fs::remove_dir_all(&setup.scratch)?)
        }
        _ => bail!(
            "usage: bench-gateway measure PEERS ANSWERBACK [REQUESTS [SECONDS [NAME]]]\n       \
             bench-gateway turns PEERS ANSWERBACK [ROUNDS]"
        ),
    }
}

/// Runs the measurement until it ends or a signal arrives. Dropping it ends the programs that it started.
async fn until_stopped(measuring: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        measured = measuring => measured,
        _ = terminate.recv() => bail!("stopped"),
        _ = tokio::signal::ctrl_c() => bail!("stopped"),
    }
}

fn setup(peers: &str, answerback: &str) -> anyhow::Result<BenchSetup> {
    let scratch = std::path::absolute(peers)?.join(format!("run-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let answerback = std::path::absolute(Path::new(answerback))?;
    Ok(BenchSetup { peers: peers.into(), answerback, scratch })
}

async fn measure(
    setup: &BenchSetup,
    requests: usize,
    seconds: usize,
    name: &str,
) -> anyhow::Result<()> {
    let longest = Duration::from_secs(u64::try_from(seconds)?);
    println!("{}", table::head(&CONCURRENCIES));
    for target in Target::ALL.into_iter().filter(|it| it.name().contains(name)) {
        match setup.start(target).await {
            Ok(running) => rows(target, running, requests, longest).await?,
            Err(error) => println!("{}", table::missing(target, &format!("{error:#}"))),
        }
    }
    Ok(())
}

/// Measures one program, and prints each row as soon as it is complete.
async fn rows(
    target: Target,
    running: RunningTarget,
    requests: usize,
    longest: Duration,
) -> anyhow::Result<()> {
    let RunningTarget { endpoint, first, tree, ready, .. } = &running;
    // The idle memory is read after the first client connected and before any call.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let idle = tree.memory();
    let mut sessions = vec![Arc::clone(first)];
    for (size, fewer) in SIZES {
        let mut cells = Vec::new();
        for workers in CONCURRENCIES {
            let load = Load { workers, size, requests: (requests / fewer).max(workers), longest };
            let cell = async {
                // On pipes, all workers share one session.
                let wanted = if matches!(endpoint, Endpoint::Stdio(_)) { 1 } else { workers };
                while sessions.len() < wanted {
                    sessions.push(Arc::new(Session::open(endpoint).await?));
                }
                load.measure(&sessions[..wanted], tree).await
            };
            cells.push(cell.await.map_err(|error: anyhow::Error| format!("{error:#}")));
        }
        println!("{}", Row { target, size, cells, ready: *ready, idle }.line());
    }
    Ok(())
}
