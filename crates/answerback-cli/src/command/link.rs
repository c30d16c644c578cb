//! `answerback link`: prints a launch link for the console of a running server.

use std::fs;
use std::io::Write as _;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::address::Address;
use crate::command::ledger::location::Location;
use crate::exit::Exit;
use crate::output::Leavable;
use crate::tokens::LAUNCHER_FILE;

/// Print a link that opens the console of a running `answerback serve`, once
///
/// The link counts for five minutes and for one browser. It is made with the token in console.token beside the ledger,
/// which only you can read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback link
  answerback link --store .agent/ledger.db
  xdg-open \"$(answerback link)\"")]
pub(crate) struct Arguments {
    #[command(flatten)]
    location: Location,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let folder = arguments.location.folder()?;
    let address = Address::find(&folder)?;
    let token = folder.join(LAUNCHER_FILE);
    let token = fs::read_to_string(&token).with_context(|| token.display().to_string())?;
    let asked = ureq::post(format!("http://{address}/api/launch"))
        .header("Authorization", format!("Bearer {}", token.trim()))
        .send_empty();
    let mut answer = match asked {
        Ok(answer) => answer,
        Err(ureq::Error::StatusCode(code)) => {
            bail!(
                "the server at {address} answered {code}: it is another one than that of {}",
                folder.display()
            )
        }
        Err(error) => return Err(error).with_context(|| format!("no server answers at {address}")),
    };
    let text = answer.body_mut().read_to_string().context("the server's answer")?;
    let told: Value = serde_json::from_str(&text).context("the server's answer")?;
    let fragment = told["fragment"].as_str().context("the server gave no link")?;
    let mut output = Leavable::new(std::io::stdout());
    writeln!(output, "http://{address}/#{fragment}")?;
    Ok(Exit::Good)
}
