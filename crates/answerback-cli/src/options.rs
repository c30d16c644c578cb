//! Options that several commands share.

use answerback::contract::{Contract, Profile};
use answerback::json::Limits;
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// The strictness of a check, as a command-line value.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum ProfileName {
    /// Apply the contract to the letter
    Strict,
    /// Report tolerable deviations as warnings
    Lenient,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Strict => Self::Strict,
            ProfileName::Lenient => Self::Lenient,
        }
    }
}

/// The output format.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Returns the message about a document of no known contract.
pub(crate) fn unrecognised() -> String {
    let names = Contract::ALL.map(Contract::as_str).join(", ");
    format!("not recognized as one of the contracts; name its contract with --as {names}")
}

/// Parses a number that starts at 0.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "expected a whole number, such as 12".to_owned())
}

/// Parses a contract's name.
pub(crate) fn contract() -> impl TypedValueParser<Value = Contract> {
    let names = Contract::ALL.map(Contract::as_str);
    PossibleValuesParser::new(names).try_map(|word| word.parse::<Contract>())
}

/// The bounds within which input is read.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_field_names, reason = "the fields have the names of the options")]
pub(crate) struct LimitOptions {
    /// The largest document, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().max_bytes, hide_short_help = true)]
    max_bytes: usize,

    /// The deepest nesting, at most 512
    #[arg(long, value_name = "LEVELS", default_value_t = Limits::default().max_depth, hide_short_help = true,
          value_parser = clap::value_parser!(u16).range(1..=512).map(usize::from))]
    max_depth: usize,

    /// The longest member name, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().max_key_bytes, hide_short_help = true)]
    max_key_bytes: usize,
}

impl LimitOptions {
    pub(crate) fn limits(&self) -> Limits {
        Limits::default()
            .with_max_bytes(self.max_bytes)
            .with_max_depth(self.max_depth)
            .with_max_key_bytes(self.max_key_bytes)
    }
}
