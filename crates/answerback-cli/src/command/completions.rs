use std::io;

use clap::CommandFactory;
use clap_complete::Shell;

use super::ProgramArguments;
use crate::exit::Exit;
use crate::output::ClosableOutput;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback completions bash > ~/.local/share/bash-completion/completions/answerback
  answerback completions zsh > ~/.zfunc/_answerback
  answerback completions fish > ~/.config/fish/completions/answerback.fish")]
pub(crate) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut ProgramArguments::command(),
        "answerback",
        &mut text,
    );
    io::Write::write_all(&mut ClosableOutput::new(io::stdout()), &text)?;
    Ok(Exit::Good)
}
