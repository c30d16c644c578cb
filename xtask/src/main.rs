//! Writes the generated files of this repository, or checks that they are current.
//!
//! `scripts/generate` writes them, `scripts/generate --check` fails when one would change.
#![expect(clippy::print_stderr, reason = "this program prints to a terminal")]

mod codes;
mod mapping;
mod schemas;
mod show_picture;
mod terminal_svg;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use anyhow::{Context, bail};

/// Holds the path and the content of a generated file.
struct GeneratedFile {
    path: PathBuf,
    text: String,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["generate"] => generate(false),
        ["generate", "--check"] => generate(true),
        _ => {
            eprintln!("usage: scripts/generate [--check]");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn generate(check: bool) -> anyhow::Result<()> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask is not in the workspace")?;
    let mut files = schemas::files();
    files.push(codes::file());
    files.push(mapping::file());
    files.push(show_picture::file(root)?);
    files.push(GeneratedFile {
        path: "docs/openapi.json".into(),
        text: format!("{:#}\n", answerback_web::openapi_document()),
    });
    let mut stale = Vec::new();
    for GeneratedFile { path, text } in files {
        let whole = root.join(&path);
        if fs::read_to_string(&whole).is_ok_and(|present| present == text) {
            continue;
        }
        stale.push(path.display().to_string());
        if !check {
            fs::create_dir_all(whole.parent().context("the path has no folder")?)?;
            fs::write(&whole, text).with_context(|| whole.display().to_string())?;
        }
    }
    match (stale.is_empty(), check) {
        (true, _) => eprintln!("generated files are current"),
        (false, false) => eprintln!("wrote {}", stale.join(", ")),
        (false, true) => bail!("not current: {}; run 'scripts/generate'", stale.join(", ")),
    }
    Ok(())
}
