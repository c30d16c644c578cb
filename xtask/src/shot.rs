//! `docs/show.svg`: the picture in the README, drawn by the program itself.

use std::env::{consts, current_exe};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::{Generated, picture};

const SHOWN: &str = "crates/answerback-cli/tests/fixtures/show/report.json";

/// Draws with the program that was built beside this one.
pub(crate) fn file(root: &Path) -> anyhow::Result<Generated> {
    let program = current_exe()?.with_file_name(format!("answerback{}", consts::EXE_SUFFIX));
    if !program.is_file() {
        bail!("the program is not built; run 'scripts/generate'");
    }
    let output = Command::new(program)
        .current_dir(root)
        .args(["show", "--color", "always", "--width", "100", SHOWN])
        .output()
        .context("cannot run the program")?;
    if !output.status.success() {
        bail!("the program could not show {SHOWN}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let drawn = String::from_utf8(output.stdout).context("the program printed no UTF-8")?;
    let text = picture::svg(&drawn, "answerback show report.json");
    Ok(Generated { path: "docs/show.svg".into(), text })
}
