//! Exit codes. They are stable, because scripts depend on them.

use std::process::ExitCode;

use answerback_verify::Level;

/// The exit code of the program.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Exit {
    /// 0: everything was checked and is valid.
    Good,
    /// 1: the input was checked and is not valid.
    NotGood,
    /// 2: the input could not be checked. The usage is wrong, the input is unreadable or not JSON, a required input is
    /// missing, or the output was closed before standard input ended. clap uses the same code.
    CouldNotCheck,
    /// 11 to 15: the lowest level at which verifying a ledger fails.
    LevelFailed(Level),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Good => Self::SUCCESS,
            Exit::NotGood => Self::from(1),
            Exit::CouldNotCheck => Self::from(2),
            Exit::LevelFailed(level) => Self::from(level.exit_code()),
        }
    }
}
