use std::path::Path;

use answerback::config::StoreConfig;
use answerback_store::postgres_place;
use answerback_verify::{LogSource, Postgres};

/// Opens a ledger for the verifier, which reads files, folders and databases without the store's code.
pub(crate) fn open(place: &Path) -> anyhow::Result<Box<dyn LogSource>> {
    match place.to_str().filter(|text| StoreConfig::is_url(text)) {
        Some(url) => {
            let (url, schema) = postgres_place(url)?;
            Ok(Box::new(Postgres::open(&url, &schema)?))
        }
        None => Ok(answerback_verify::open(place)?),
    }
}
