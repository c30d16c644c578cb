//! Generates `docs/show.svg`, the picture in the README, from the output of the program.

use std::env::{consts, current_exe};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::{GeneratedFile, terminal_svg};

const DOCUMENT: &str = "crates/answerback-cli/tests/fixtures/show/report.json";

/// Runs the program in the same build folder and draws its output.
pub(crate) fn file(root: &Path) -> anyhow::Result<GeneratedFile> {
    let program = current_exe()?.with_file_name(format!("answerback{}", consts::EXE_SUFFIX));
    if !program.is_file() {
        bail!("the program is not built; run 'scripts/generate'");
    }
    let output = Command::new(program)
        .current_dir(root)
        .args(["show", "--color", "always", "--width", "100", DOCUMENT])
        .output()
        .context("cannot run the program")?;
    if !output.status.success() {
        bail!("the program could not show {DOCUMENT}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let output_text = String::from_utf8(output.stdout).context("the output is not UTF-8")?;
    let text = terminal_svg::svg(&output_text, "answerback show report.json");
    Ok(GeneratedFile { path: "docs/show.svg".into(), text })
}
