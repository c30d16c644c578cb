use std::path::Path;

use answerback_store::conformance::GUARANTEES;
use answerback_store::{Settings, Store, StoreError};

/// Runs each guarantee as a separate test with its own output, even if an earlier one fails.
#[expect(clippy::print_stdout, reason = "people read the results")]
fn holds_every_guarantee(
    open: impl Fn(&Path, &str, Settings) -> Result<Store, StoreError> + std::panic::RefUnwindSafe,
) {
    let mut broken: Vec<&str> = Vec::new();
    for (name, promise) in GUARANTEES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let open = |store: &str, change: &dyn Fn(Settings) -> Settings| {
            open(&path, store, change(Settings::new(path.join(format!("{store}.key")))))
        };
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| promise(&open)));
        println!("{}: {name}", if run.is_ok() { "kept" } else { "broken" });
        broken.extend(run.is_err().then_some(name));
    }
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn sqlite_holds_every_guarantee() {
    holds_every_guarantee(|folder, store, settings| {
        Store::open_sqlite(folder.join(format!("{store}.db")), settings)
    });
}

#[cfg(feature = "postgres")]
#[test]
fn postgres_holds_every_guarantee() {
    let Some(server) = crate::server::Server::new() else { return };
    holds_every_guarantee(|_, store, settings| Store::open_postgres(&server.url(store), settings));
}
