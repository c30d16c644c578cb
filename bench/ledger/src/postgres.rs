//! Replicas on one chain in `PostgreSQL`: each has its own writer and connection, as processes on machines would.

use std::path::Path;
use std::thread;

use answerback_store::{Settings, Store};
use postgres::{Client, NoTls};

use crate::CONTENT;
use crate::figures::Stretch;
use crate::load::append;

/// How many entries wait in all.
const IN_FLIGHT: usize = 256;

pub(crate) fn run(folder: &Path, url: &str, entries: u64) -> anyhow::Result<()> {
    let mut server = Client::connect(url, NoTls)?;
    // What the server logs ahead. It writes the tables later, and of other clients too; this is what a commit waits for.
    let mut logged = move || {
        let sql = "SELECT (pg_current_wal_lsn() - '0/0')::bigint";
        anyhow::Ok(server.query_one(sql, &[])?.try_get::<_, i64>(0)?)
    };
    for (replicas, in_flight) in [(1, 1), (1, IN_FLIGHT), (4, IN_FLIGHT)] {
        let count = if in_flight == 1 { entries / 10 } else { entries };
        let name = format!("bench_{}_{replicas}_{in_flight}", std::process::id());
        let url = format!("{url}?schema={name}");
        let open =
            |_| Store::open_postgres(&url, Settings::new(folder.join(format!("{name}.key"))));
        let stores: Vec<Store> = (0..replicas).map(open).collect::<Result<_, _>>()?;
        let each = count / replicas;
        let (stretch, mut times, before) = (Stretch::begin(), Vec::new(), logged()?);
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
        let bytes = u64::try_from(logged()? - before)?;
        stretch.end_writing(&name, each * replicas, &mut times, bytes, "B of the server's log");
        let size = stores.first().map(Store::head).transpose()?.map(|head| head.size);
        anyhow::ensure!(size == Some(each * replicas + 1), "the chain has a gap: {size:?}");
    }
    Ok(())
}
