//! `docs/show.svg`: the picture in the README, drawn by the program itself.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::{Generated, picture};

const SHOWN: &str = "crates/answerback-cli/tests/fixtures/show/report.json";

pub(crate) fn file(root: &Path) -> anyhow::Result<Generated> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root)
        .args(["run", "--quiet", "--locked", "--package", "answerback-cli", "--"])
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
