//! Exit codes. They are a promise: scripts read them.

use std::process::ExitCode;

use answerback_verify::Level;

/// What the program ends with.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Exit {
    /// 0: everything was judged and is good.
    Good,
    /// 1: the input was judged and is not good.
    NotGood,
    /// 2: we could not judge it: wrong usage, unreadable, not JSON, a needed input is missing, or nobody read the
    /// output any more before standard input had ended.
    /// clap ends with the same code.
    CouldNotJudge,
    /// 11 to 15: the lowest level at which a ledger does not hold.
    LevelFailed(Level),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Good => Self::SUCCESS,
            Exit::NotGood => Self::from(1),
            Exit::CouldNotJudge => Self::from(2),
            Exit::LevelFailed(level) => Self::from(level.exit_code()),
        }
    }
}
