//! Measures the bare relay and Answerback in turns, in many short rounds. On a machine whose speed varies, only figures
//! from the same minutes can be compared.

use std::sync::Arc;
use std::time::Duration;

use crate::CONCURRENCIES;
use crate::commits::BareCommits;
use crate::load::Load;
use crate::session::Session;
use crate::target::{BenchSetup, GatewayMode, RunningTarget, Target};

const TARGETS: [Target; 4] = [
    Target::Relay,
    Target::Serve(GatewayMode::Transparent),
    Target::Serve(GatewayMode::Checking),
    Target::Serve(GatewayMode::Recording),
];
/// The number of calls of one turn. The cheapest program needs about fifty clock ticks of 10 ms for them.
const CALLS: usize = 15_000;
/// The number of calls whose commits are measured as the lower bound for recording. Their clock has no ticks.
const COMMITTED: u32 = 300;
const SIZE: usize = 1000;
const LONGEST: Duration = Duration::from_secs(20);

/// Measures, and prints the medians and the differences between the programs.
pub(crate) async fn measure(setup: &BenchSetup, rounds: usize) -> anyhow::Result<()> {
    let mut programs = Vec::new();
    for target in TARGETS {
        programs.push(TurnProgram::start(setup, target).await?);
    }
    let commits = BareCommits::open(&setup.scratch)?;
    println!(
        "| in flight | bare relay | transparent | checking | checking + ledger | transparent to bare | checking adds | the ledger adds | two bare commits |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for workers in CONCURRENCIES {
        let mut turns = Vec::new();
        for _ in 0..rounds {
            let mut turn = [0.0; TARGETS.len() + 1];
            for (program, cpu) in programs.iter_mut().zip(&mut turn) {
                *cpu = program.milliseconds(workers).await?;
            }
            turn[TARGETS.len()] = commits.milliseconds(COMMITTED)?;
            turns.push(turn);
        }
        let of = |figure: fn(&[f64; TARGETS.len() + 1]) -> f64| {
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

/// Holds a program that is measured in turns.
struct TurnProgram {
    running: RunningTarget,
    sessions: Vec<Arc<Session>>,
}

impl TurnProgram {
    async fn start(setup: &BenchSetup, target: Target) -> anyhow::Result<Self> {
        let running = setup.start(target).await?;
        let sessions = vec![Arc::clone(&running.first)];
        Ok(Self { running, sessions })
    }

    /// Returns the CPU time of a call in milliseconds.
    async fn milliseconds(&mut self, workers: usize) -> anyhow::Result<f64> {
        while self.sessions.len() < workers {
            self.sessions.push(Arc::new(Session::open(&self.running.endpoint).await?));
        }
        let load = Load { workers, size: SIZE, requests: CALLS, longest: LONGEST };
        let measured = load.measure(&self.sessions[..workers], &self.running.tree).await?;
        Ok(measured.cpu_per_call.as_secs_f64() * 1000.0)
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
