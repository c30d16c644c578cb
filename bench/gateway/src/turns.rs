//! The bare relay and ours by turns, many short rounds of each: on a machine whose speed changes by the minute only what was
//! measured side by side can be compared.

use std::sync::Arc;
use std::time::Duration;

use crate::CONCURRENCIES;
use crate::column::{Column, Ground, Ours, Standing};
use crate::commits::Commits;
use crate::load::Load;
use crate::session::Session;

const COLUMNS: [Column; 4] = [
    Column::Relay,
    Column::Serve(Ours::Transparent),
    Column::Serve(Ours::Checking),
    Column::Serve(Ours::Recording),
];
/// Calls of one turn. The system counts in steps of 10 ms, which are a fiftieth of what the cheapest program needs for these.
const CALLS: usize = 15_000;
/// Calls whose commits are made for the floor below the record: they are counted by a clock that has no ticks.
const COMMITTED: u32 = 300;
const SIZE: usize = 1000;
const LONGEST: Duration = Duration::from_secs(20);

/// Measures, and prints the medians and what the targets are about.
pub(crate) async fn measure(ground: &Ground, rounds: usize) -> anyhow::Result<()> {
    let mut programs = Vec::new();
    for column in COLUMNS {
        programs.push(Program::start(ground, column).await?);
    }
    let commits = Commits::open(&ground.scratch)?;
    println!(
        "| in flight | bare relay | transparent | checking | checking + ledger | transparent to bare | checking adds | the ledger adds | two bare commits |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for workers in CONCURRENCIES {
        let mut turns = Vec::new();
        for _ in 0..rounds {
            let mut turn = [0.0; COLUMNS.len() + 1];
            for (program, cpu) in programs.iter_mut().zip(&mut turn) {
                *cpu = program.milliseconds(workers).await?;
            }
            turn[COLUMNS.len()] = commits.milliseconds(COMMITTED)?;
            turns.push(turn);
        }
        let of = |figure: fn(&[f64; COLUMNS.len() + 1]) -> f64| {
            median(turns.iter().map(figure).collect())
        };
        println!(
            "| {workers} | {:.3} | {:.3} | {:.3} | {:.3} | {:.2} | {:.3} | {:.3} | {:.3} |",
            of(|turn| turn[0]),
            of(|turn| turn[1]),
            of(|turn| turn[2]),
            of(|turn| turn[3]),
            of(|turn| turn[1] / turn[0]),
            of(|turn| turn[2] - turn[1]),
            of(|turn| turn[3] - turn[2]),
            of(|turn| turn[4]),
        );
    }
    Ok(())
}

struct Program {
    standing: Standing,
    sessions: Vec<Arc<Session>>,
}

impl Program {
    async fn start(ground: &Ground, column: Column) -> anyhow::Result<Self> {
        let standing = ground.start(column).await?;
        let sessions = vec![Arc::clone(&standing.first)];
        Ok(Self { standing, sessions })
    }

    /// Processor time of a call.
    async fn milliseconds(&mut self, workers: usize) -> anyhow::Result<f64> {
        while self.sessions.len() < workers {
            self.sessions.push(Arc::new(Session::open(&self.standing.door).await?));
        }
        let load = Load { workers, size: SIZE, requests: CALLS, longest: LONGEST };
        let measured = load.measure(&self.sessions[..workers], &self.standing.tree).await?;
        Ok(measured.cpu_per_call.as_secs_f64() * 1000.0)
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
