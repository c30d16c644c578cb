use std::io::{self, IsTerminal, Read, Write};

use answerback::contract::Contract;
use answerback::contract::atdf::EnrichedResponse;
use answerback::contract::atdf::validators::{
    DateLimits, validate_date_range, validate_email, validate_password_strength,
};
use anyhow::{Context, bail};

use crate::exit::Exit;
use crate::options::OutputFormat;
use crate::output::{ClosableOutput, quiet_json};
use answerback_store::system::now;

/// Run one of the three ATDF validators
///
/// The result is an ATDF enriched response, drawn on a terminal and JSON elsewhere.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback validate date-range 2030-01-01T00:00:00Z 2030-01-15T00:00:00Z
  answerback validate email user@example.com
  answerback validate password < secret.txt")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: ValidateCommand,

    /// The output format [default: text on a terminal, json elsewhere]
    #[arg(long, value_enum, global = true)]
    format: Option<OutputFormat>,
}

#[derive(Debug, clap::Subcommand)]
enum ValidateCommand {
    /// A start and an end, both in the future, in this order
    DateRange {
        /// ISO 8601 with an offset, such as 2030-01-01T00:00:00Z
        start: String,
        /// ISO 8601 with an offset
        end: String,
        /// Also enforce the recommended bounds: at least a day ahead, at most a year, 1 to 30 days long
        #[arg(long)]
        enforce_limits: bool,
    },
    /// An e-mail address
    Email {
        /// The address
        address: String,
    },
    /// The strength of a password, which is read from standard input and never printed
    Password,
}

/// The longest password. Longer input is rejected.
const MAX_PASSWORD_BYTES: u64 = 64 << 10;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let now = now();
    let answer = match &arguments.command {
        ValidateCommand::DateRange { start, end, enforce_limits } => {
            let limits = if *enforce_limits { DateLimits::Enforced } else { DateLimits::Advised };
            validate_date_range(start, end, limits, now)
        }
        ValidateCommand::Email { address } => validate_email(address, now),
        ValidateCommand::Password => validate_password_strength(&password()?, now),
    };
    print(&answer, arguments.format)?;
    Ok(if answer.code().is_none() { Exit::Good } else { Exit::NotGood })
}

fn print(answer: &EnrichedResponse, format: Option<OutputFormat>) -> anyhow::Result<()> {
    let document = answer.to_document();
    let format = format.unwrap_or(if io::stdout().is_terminal() {
        OutputFormat::Text
    } else {
        OutputFormat::Json
    });
    match format {
        OutputFormat::Json => {
            let text = serde_json::to_string_pretty(&document)?;
            writeln!(ClosableOutput::new(io::stdout()), "{}", quiet_json(&text))?;
        }
        OutputFormat::Text => crate::command::show::draw(Contract::Atdf, &document)?,
    }
    Ok(())
}

/// Reads the password from standard input, without the line end that a shell adds.
fn password() -> anyhow::Result<String> {
    let mut input = io::stdin().lock();
    if io::stdin().is_terminal() {
        anstream::eprintln!("The password, then the end of input (it is shown while you type):");
    }
    let mut bytes = Vec::new();
    (&mut input)
        .take(MAX_PASSWORD_BYTES + 1)
        .read_to_end(&mut bytes)
        .context("cannot read the password")?;
    if bytes.len() as u64 > MAX_PASSWORD_BYTES {
        bail!("the password has more than {MAX_PASSWORD_BYTES} bytes");
    }
    let mut password = String::from_utf8(bytes).ok().context("the password is not UTF-8")?;
    if password.ends_with('\n') {
        password.pop();
        if password.ends_with('\r') {
            password.pop();
        }
    }
    Ok(password)
}
