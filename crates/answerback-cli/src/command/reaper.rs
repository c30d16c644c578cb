//! The internal command `warden`: a process that `wrap` and `serve` start to end their servers if the gateway is killed.

use std::sync::OnceLock;

use answerback_mcp::link::{Reaper, run_reaper};

use crate::exit::Exit;
use crate::output::say;

/// The name of the command.
const NAME: &str = "warden";

/// True if this process was started as the reaper.
pub(crate) fn is_requested() -> bool {
    let mut arguments = std::env::args_os().skip(1);
    arguments.next().is_some_and(|word| word == NAME) && arguments.next().is_none()
}

pub(crate) fn run() -> Exit {
    set_process_name();
    run_reaper(std::io::stdin().lock());
    Exit::Good
}

/// Sets the process name, so that killing all processes named `answerback` does not kill the reaper.
#[cfg(target_os = "linux")]
fn set_process_name() {
    let gateway = rustix::process::getppid().map_or(0, |id| id.as_raw_nonzero().get());
    if let Ok(name) = std::ffi::CString::new(format!("{NAME}/{gateway}")) {
        let _ = rustix::thread::set_name(&name);
    }
}

#[cfg(not(target_os = "linux"))]
fn set_process_name() {}

/// Returns the only reaper of this process, which stays the same when the configuration is reloaded.
pub(super) fn shared_reaper() -> Option<Reaper> {
    static REAPER: OnceLock<Option<Reaper>> = OnceLock::new();
    let start_self = || match std::env::current_exe() {
        Ok(program) => Some(Reaper::new(program, [NAME.into()])),
        Err(error) => {
            say(&format!(
                "warning: if this program is killed, its servers keep running, because its own executable cannot be found: {error}"
            ));
            None
        }
    };
    REAPER.get_or_init(start_self).clone()
}
