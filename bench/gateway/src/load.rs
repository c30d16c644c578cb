//! Generates the load: a number of workers that call at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::process::ProcessTree;
use crate::session::Session;

/// Describes the load for one cell of the table.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) workers: usize,
    /// The size of a result in bytes.
    pub(crate) size: usize,
    pub(crate) requests: usize,
    /// The time after which no further call begins.
    pub(crate) longest: Duration,
}

/// Holds the figures of one cell.
pub(crate) struct Measurement {
    pub(crate) cpu_per_call: Duration,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    /// The peak memory in bytes.
    pub(crate) peak: u64,
}

impl Load {
    /// The number of calls of all workers together before the measurement starts.
    const WARM_UP_CALLS: usize = 64;

    /// Measures the processes while each worker calls through a session. If there are fewer sessions than workers, the
    /// workers share them.
    pub(crate) async fn measure(
        self,
        sessions: &[Arc<Session>],
        tree: &ProcessTree,
    ) -> anyhow::Result<Measurement> {
        let barrier = Arc::new(Barrier::new(self.workers + 1));
        let left = Arc::new(AtomicUsize::new(self.requests));
        let mut workers = JoinSet::new();
        for session in sessions.iter().cycle().take(self.workers) {
            let worker = self.work(Arc::clone(session), Arc::clone(&barrier), Arc::clone(&left));
            workers.spawn(worker);
        }
        // If a worker fails before the barrier, the others would wait there forever.
        let waited = tokio::time::timeout(self.longest * 3, barrier.wait());
        tokio::select! {
            biased;
            Some(Ok(Err(error))) = workers.join_next() => return Err(error),
            arrived = waited => { arrived.context("the first calls took too long")?; }
        }
        tree.reset_peak();
        let before = tree.cpu()?;
        let mut times = Vec::with_capacity(self.requests);
        while let Some(worker) = workers.join_next().await {
            times.extend(worker??);
        }
        let cpu = tree.cpu()?.saturating_sub(before);
        let peak = tree.peak();
        times.sort_unstable();
        let quantile = |percent: usize| {
            let at = (times.len() * percent).div_ceil(100).max(1) - 1;
            times.get(at).copied().context("no call was made")
        };
        let calls = u32::try_from(times.len()).context("too many calls")?;
        Ok(Measurement {
            p50: quantile(50)?,
            p99: quantile(99)?,
            cpu_per_call: cpu.checked_div(calls).unwrap_or_default(),
            peak,
        })
    }

    async fn work(
        self,
        session: Arc<Session>,
        barrier: Arc<Barrier>,
        left: Arc<AtomicUsize>,
    ) -> anyhow::Result<Vec<Duration>> {
        for _ in 0..Self::WARM_UP_CALLS.div_ceil(self.workers) {
            session.call(self.size).await?;
        }
        barrier.wait().await;
        let began = Instant::now();
        let mut times = Vec::new();
        let take = |left: usize| left.checked_sub(1);
        while began.elapsed() < self.longest
            && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
        {
            let asked = Instant::now();
            tokio::time::timeout(self.longest, session.call(self.size))
                .await
                .context("a call took too long")??;
            times.push(asked.elapsed());
        }
        Ok(times)
    }
}
