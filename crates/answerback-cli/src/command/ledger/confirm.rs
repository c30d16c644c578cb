//! Asks for confirmation before something that cannot be undone.

use std::io::{IsTerminal, Write};

use anyhow::bail;

use crate::output::sanitise;

/// Returns true if `yes` is set or if the person at the terminal agrees.
pub(super) fn confirm(what: &str, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        bail!("{what}; this cannot be undone; confirm with --yes");
    }
    let mut errors = std::io::stderr();
    write!(errors, "{}; this cannot be undone. Continue? [y/N] ", sanitise(what))?;
    errors.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
