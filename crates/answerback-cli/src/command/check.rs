use std::path::PathBuf;

use answerback::contract::{Contract, Profile, recognise};
use answerback::json::Limits;
use anyhow::bail;

use crate::exit::Exit;
use crate::input::Input;

/// Judge documents against their contract
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The documents; '-' is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let mut exit = Exit::Good;
    for file in &arguments.files {
        let document = Input::new(file).document(Limits::default())?;
        let Some(found) = recognise(&document.value) else { bail!("not recognised") };
        let contract: Contract = found.contract;
        if contract.check(&document.value, Profile::Strict).iter().any(|finding| finding.is_error())
        {
            exit = exit.max(Exit::NotGood);
        }
    }
    Ok(exit)
}
