//! Checks that a store contains every entry that `appender` printed. The verifier checks the store
//! first.
//!
//! The part of an erased entry must be gone, and after a writer has run, its text must be in no
//! file of the store. Usage: `acknowledged STORE KEY [ANCHOR] < LINES`
#![expect(clippy::print_stdout, reason = "scripts read the output")]

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::Path;

use answerback_store::{Export, Settings, Store};
use answerback_verify::{VerifyOptions, open as read, verify};

/// Opens a store file or the URL of a PostgreSQL database.
fn open(store: &str, settings: Settings) -> Result<Store, Box<dyn Error>> {
    #[cfg(feature = "postgres")]
    if store.starts_with("postgres") {
        return Ok(Store::open_postgres(store, settings)?);
    }
    Ok(Store::open_sqlite(store, settings)?)
}

/// Exports the log and checks it with the verifier, which shares no code with the store.
fn judge(store: &Store) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let export = folder.path().join("export.jsonl");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&export)?);
    store.export_jsonl(Export::new(), &mut file, &mut |_| ())?;
    file.flush()?;
    let report = verify(read(&export)?.as_mut(), &VerifyOptions::new())?;
    if report.exit_code() == 0 { Ok(()) } else { Err(report.to_string().into()) }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, key, anchor @ ..] = arguments.as_slice() else {
        return Err("usage: acknowledged STORE KEY [ANCHOR] < LINES".into());
    };
    let mut settings = Settings::new(key);
    if let [anchor] = anchor {
        settings = settings.with_anchor_file(anchor);
    }
    let folder = Path::new(store).parent().map(Path::to_owned);
    let store = open(store, settings)?;
    judge(&store)?;
    let head = store.head()?;
    let (mut count, mut erased) = (0, Vec::new());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let said = line.strip_prefix("erased ").and_then(|said| said.split_once(' '));
        if let Some((index, text)) = said {
            erased.push((index.parse::<u64>()?, text.to_owned()));
            continue;
        }
        // A truncated line is not an acknowledgment.
        let Some((index, hash)) = line.split_once(' ').filter(|(_, hash)| hash.len() == 64) else {
            continue;
        };
        let kept = store.entry(index.parse()?)?.map(|entry| entry.hash.to_string());
        if kept.as_deref() != Some(hash) {
            return Err(format!("the acknowledged entry at {index} is missing").into());
        }
        count += 1;
    }
    for (index, _) in &erased {
        if store.entry(*index)?.is_some_and(|entry| !entry.parts.is_empty()) {
            return Err(
                format!("the part of {index} whose erasure was acknowledged is there").into()
            );
        }
    }
    // Dropping the last handle finishes a scrub that an interrupted process left.
    drop(store);
    if let Some(folder) = folder.filter(|_| !erased.is_empty()) {
        for file in std::fs::read_dir(folder)?.filter_map(Result::ok) {
            // The folder also contains the printed lines, which are not a file of the store.
            let name = file.file_name().to_string_lossy().into_owned();
            let bytes = std::fs::read(file.path())?;
            let holds = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
            if name.starts_with("store.db") && erased.iter().any(|(_, text)| holds(text.as_bytes()))
            {
                return Err(format!("{name} holds what was erased").into());
            }
        }
    }
    println!("{count} acknowledged entries are there, of {}; {} erased", head.size, erased.len());
    Ok(())
}
