//! Replicas on one chain in a server: each has its own writer and connection, as processes on machines would.

use std::path::Path;
use std::thread;

use answerback_store::{Settings, Store};

use crate::CONTENT;
use crate::figures::Stretch;
use crate::load::append;

/// How many entries wait in all.
const IN_FLIGHT: usize = 256;

pub(crate) fn run(folder: &Path, url: &str, entries: u64) -> anyhow::Result<()> {
    for (replicas, in_flight) in [(1, 1), (1, IN_FLIGHT), (4, IN_FLIGHT)] {
        let count = if in_flight == 1 { entries / 10 } else { entries };
        let name = format!("bench_{}_{replicas}_{in_flight}", std::process::id());
        let url = format!("{url}?schema={name}");
        let open =
            |_| Store::open_postgres(&url, Settings::new(folder.join(format!("{name}.key"))));
        let stores: Vec<Store> = (0..replicas).map(open).collect::<Result<_, _>>()?;
        let each = count / replicas;
        let (stretch, mut times) = (Stretch::begin(), Vec::new());
        thread::scope(|scope| {
            let share = in_flight / usize::try_from(replicas)?;
            let running: Vec<_> = (0..replicas)
                .zip(&stores)
                .map(|(number, store)| {
                    scope.spawn(move || {
                        let mut times = Vec::new();
                        let numbers = number * each..(number + 1) * each;
                        append(store, numbers, share, CONTENT, &mut times).map(|()| times)
                    })
                })
                .collect();
            for replica in running {
                match replica.join() {
                    Ok(measured) => times.extend(measured?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            anyhow::Ok(())
        })?;
        let name = format!("PostgreSQL, {replicas} on one chain, {in_flight} in flight");
        stretch.end(&name, each * replicas, &mut times);
        let size = stores.first().map(Store::head).transpose()?.map(|head| head.size);
        anyhow::ensure!(size == Some(each * replicas + 1), "the chain has a gap: {size:?}");
    }
    Ok(())
}
