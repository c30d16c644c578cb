use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::CommandFactory;

use super::ProgramArguments;
use crate::exit::Exit;
use crate::output::ClosableOutput;

/// Print the manual page, or write one page a command into a folder
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback man | man -l -
  answerback man --dir ~/.local/share/man/man1")]
pub(crate) struct Arguments {
    /// The folder to write into; it is created if need be
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let program = ProgramArguments::command();
    match &arguments.dir {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(program).render(&mut page)?;
            ClosableOutput::new(io::stdout()).write_all(&page)?;
        }
        Some(dir) => {
            fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
            clap_mangen::generate_to(program, dir)
                .with_context(|| format!("cannot write into {}", dir.display()))?;
        }
    }
    Ok(Exit::Good)
}
