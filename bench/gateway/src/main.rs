//! Measures what a gateway costs a call: ours beside a bare relay and the peers, all in one run. `scripts/bench-gateway`
//! installs the peers and runs it; the README beside says how to read the table.
//!
//! - `bench-gateway measure PEERS ANSWERBACK [REQUESTS [SECONDS [NAME]]]` measures at most so many calls and seconds a
//!   cell, of the programs with NAME in their name;
//! - `bench-gateway turns PEERS ANSWERBACK [ROUNDS]` measures the bare relay and ours by turns, 1 KB, and prints medians;
//! - `bench-gateway stub-stdio`, `stub-http PORT` and `relay PORT URL` are what it starts itself.
#![expect(clippy::print_stdout, reason = "it is a program that prints figures")]

mod column;
mod commits;
mod link;
mod load;
mod process;
mod relay;
mod session;
mod stub;
mod table;
mod turns;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::signal::unix::{SignalKind, signal};

use column::{Column, Ground, Standing};
use link::Door;
use load::Load;
use session::Session;
use table::Row;

const CONCURRENCIES: [usize; 3] = [1, 8, 32];
/// Bytes of a result, and by how much fewer calls it is measured.
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
            let ground = ground(peers, answerback)?;
            until_stopped(turns::measure(&ground, rounds)).await?;
            Ok(std::fs::remove_dir_all(&ground.scratch)?)
        }
        ["measure", peers, answerback, ref rest @ ..] if rest.len() <= 3 => {
            let number = |at: usize, default: usize| {
                rest.get(at).map_or(Ok(default), |it| it.parse()).context("not a whole number")
            };
            let name = rest.get(2).copied().unwrap_or_default();
            let (requests, seconds) = (number(0, 2000)?, number(1, 20)?);
            let ground = ground(peers, answerback)?;
            until_stopped(measure(&ground, requests, seconds, name)).await?;
            Ok(std::fs::remove_dir_all(&ground.scratch)?)
        }
        _ => bail!(
            "usage: bench-gateway measure PEERS ANSWERBACK [REQUESTS [SECONDS [NAME]]]\n       \
             bench-gateway turns PEERS ANSWERBACK [ROUNDS]"
        ),
    }
}

/// Whoever stops us stops what we started: it is ended when the measurement is dropped.
async fn until_stopped(measuring: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        measured = measuring => measured,
        _ = terminate.recv() => bail!("stopped"),
        _ = tokio::signal::ctrl_c() => bail!("stopped"),
    }
}

fn ground(peers: &str, answerback: &str) -> anyhow::Result<Ground> {
    let scratch = std::path::absolute(peers)?.join(format!("run-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let answerback = std::path::absolute(Path::new(answerback))?;
    Ok(Ground { peers: peers.into(), answerback, scratch })
}

async fn measure(
    ground: &Ground,
    requests: usize,
    seconds: usize,
    name: &str,
) -> anyhow::Result<()> {
    let longest = Duration::from_secs(u64::try_from(seconds)?);
    println!("{}", table::head(&CONCURRENCIES));
    for column in Column::ALL.into_iter().filter(|it| it.name().contains(name)) {
        match ground.start(column).await {
            Ok(standing) => rows(column, standing, requests, longest).await?,
            Err(error) => println!("{}", table::missing(column, &format!("{error:#}"))),
        }
    }
    Ok(())
}

/// All of one program, a row as soon as it is measured.
async fn rows(
    column: Column,
    standing: Standing,
    requests: usize,
    longest: Duration,
) -> anyhow::Result<()> {
    let Standing { door, first, tree, ready, .. } = &standing;
    // Idle is after the first client came, and before anything was asked.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let idle = tree.memory();
    let mut sessions = vec![Arc::clone(first)];
    for (size, fewer) in SIZES {
        let mut cells = Vec::new();
        for workers in CONCURRENCIES {
            let load = Load { workers, size, requests: (requests / fewer).max(workers), longest };
            let cell = async {
                // On pipes there is one session, and as many calls under way as there are workers.
                let wanted = if matches!(door, Door::Stdio(_)) { 1 } else { workers };
                while sessions.len() < wanted {
                    sessions.push(Arc::new(Session::open(door).await?));
                }
                load.measure(&sessions[..wanted], tree).await
            };
            cells.push(cell.await.map_err(|error: anyhow::Error| format!("{error:#}")));
        }
        println!("{}", Row { column, size, cells, ready: *ready, idle }.line());
    }
    Ok(())
}
