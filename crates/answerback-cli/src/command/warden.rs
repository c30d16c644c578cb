//! `answerback warden`: a process that `wrap` and `serve` start to end their servers if the gateway is killed.

use std::sync::OnceLock;

use answerback_mcp::link::{Reaper, run_reaper};

use crate::exit::Exit;
use crate::output::say;

/// The name of the command.
const NAME: &str = "warden";

/// True if this process was started as the warden.
pub(crate) fn is_asked_for() -> bool {
    let mut arguments = std::env::args_os().skip(1);
    arguments.next().is_some_and(|word| word == NAME) && arguments.next().is_none()
}

pub(crate) fn run() -> Exit {
    be_named();
    run_reaper(std::io::stdin().lock());
    Exit::Good
}

/// Sets the process name, so that killing all processes named `answerback` does not kill the warden.
#[cfg(target_os = "linux")]
fn be_named() {
    let gateway = rustix::process::getppid().map_or(0, |id| id.as_raw_nonzero().get());
    if let Ok(name) = std::ffi::CString::new(format!("{NAME}/{gateway}")) {
        let _ = rustix::thread::set_name(&name);
    }
}

#[cfg(not(target_os = "linux"))]
fn be_named() {}

/// Returns the only warden of this process, which is kept when the configuration is reloaded.
pub(super) fn warden() -> Option<Reaper> {
    static WARDEN: OnceLock<Option<Reaper>> = OnceLock::new();
    let of_ourselves = || match std::env::current_exe() {
        Ok(program) => Some(Reaper::new(program, [NAME.into()])),
        Err(error) => {
            say(&format!(
                "warning: nobody ends the servers if this program is killed: it cannot be found: {error}"
            ));
            None
        }
    };
    WARDEN.get_or_init(of_ourselves).clone()
}
