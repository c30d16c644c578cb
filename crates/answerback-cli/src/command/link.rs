//! `answerback link`: prints a launch link for the console of a running server.

use std::fs;
use std::io::Write as _;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;
use crate::output::ClosableOutput;
use crate::server_address::ServerAddress;
use crate::tokens::LAUNCHER_FILE;

/// Print a link that opens the console of a running `answerback serve`, once
///
/// The link is valid for five minutes and for one browser. It is created with the token in console.token next to the
/// ledger, which only you can read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback link
  answerback link --store .agent/ledger.db
  xdg-open \"$(answerback link)\"")]
pub(crate) struct Arguments {
    #[command(flatten)]
    location: LedgerLocation,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let folder = arguments.location.folder()?;
    let address = ServerAddress::find(&folder)?;
    let token = folder.join(LAUNCHER_FILE);
    let token = fs::read_to_string(&token).with_context(|| token.display().to_string())?;
    let response = ureq::post(format!("http://{address}/api/launch"))
        .header("Authorization", format!("Bearer {}", token.trim()))
        .send_empty();
    let mut answer = match response {
        Ok(answer) => answer,
        Err(ureq::Error::StatusCode(code)) => {
            bail!(
                "the server at {address} answered {code}, so it does not belong to {}; name its ledger with --store",
                folder.display()
            )
        }
        Err(error) => {
            return Err(error).with_context(|| {
                format!("no server answers at {address}; start one with `answerback serve`")
            });
        }
    };
    let text = answer.body_mut().read_to_string().context("the server's answer")?;
    let launch: Value = serde_json::from_str(&text).context("the server's answer")?;
    let fragment = launch["fragment"].as_str().context("the server returned no link")?;
    let mut output = ClosableOutput::new(std::io::stdout());
    writeln!(output, "http://{address}/#{fragment}")?;
    Ok(Exit::Good)
}
