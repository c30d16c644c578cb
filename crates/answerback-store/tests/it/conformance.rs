use answerback_store::conformance::PROMISES;
use answerback_store::{Settings, Store, StoreError};

/// Each promise is a test run of its own in the output, and all are run even when one breaks.
#[test]
fn sqlite_keeps_every_promise() {
    let mut broken: Vec<&str> = Vec::new();
    for (name, promise) in PROMISES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let open = move |store: &str,
                         change: &dyn Fn(Settings) -> Settings|
              -> Result<Store, StoreError> {
            let settings = change(Settings::new(path.join(format!("{store}.key"))));
            Store::open_sqlite(path.join(format!("{store}.db")), settings)
        };
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| promise(&open)));
        println!("{}: {name}", if run.is_ok() { "kept" } else { "broken" });
        broken.extend(run.is_err().then_some(name));
    }
    assert!(broken.is_empty(), "{broken:?}");
}
