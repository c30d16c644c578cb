//! Ends our servers from a second process if our own process is killed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, BufRead, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::process_group::{EndSignal, ProcessGroup};

/// The time that a server has to end after its input closed.
pub(super) const GRACE: Duration = Duration::from_secs(3);
/// The time that a server has to end after SIGTERM.
pub(super) const LAST_GRACE: Duration = Duration::from_secs(2);
/// The delay before a reaper that ended is started again. It limits the restarts of a reaper that ends at once. A
/// new server starts one earlier.
const RESTART_DELAY: Duration = Duration::from_secs(1);
/// The interval at which the reaper checks if servers are gone.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Runs a reaper: a second process that ends our servers if our own process is killed.
///
/// The reaper reads from a pipe the process group of every server that starts or ends. If the pipe closes while
/// servers are left, our process ended without ending them. They get the same time to exit as usual, and are then
/// ended with all processes that they started. The host chooses the program and its arguments. The program must
/// only call [`run_reaper`] and write nothing. It is started with the first server, and again whenever it ends.
///
/// Systems without process groups run no reaper.
#[derive(Clone, Debug)]
#[must_use]
pub struct Reaper(Arc<ReaperProgram>);

/// Holds the program of the reaper and its running process.
#[derive(Debug)]
struct ReaperProgram {
    path: OsString,
    arguments: Vec<OsString>,
    state: Mutex<ReaperState>,
}

/// Holds the process of the reaper and the process groups that it must know.
#[derive(Debug, Default)]
struct ReaperState {
    process: Option<(Child, ChildStdin)>,
    groups: BTreeSet<ProcessGroup>,
}

impl Reaper {
    /// Configures a reaper that runs this program with these arguments.
    pub fn new(path: impl Into<OsString>, arguments: impl IntoIterator<Item = OsString>) -> Self {
        let (path, arguments) = (path.into(), arguments.into_iter().collect());
        Self(Arc::new(ReaperProgram { path, arguments, state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, ReaperState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the reaper if it is not running, so that a new server can be reported at once.
    pub(super) fn ensure_running(&self) {
        if cfg!(unix) {
            self.state().write(&self.0, "");
        }
    }

    /// Registers a server until the returned value is dropped.
    pub(super) fn register(&self, group: ProcessGroup) -> ReaperRegistration {
        let mut state = self.state();
        if state.groups.insert(group) && cfg!(unix) {
            state.write(&self.0, &addition_line(group));
        }
        ReaperRegistration { reaper: self.clone(), group }
    }
}

/// Registers a server with the reaper while it exists.
#[derive(Debug)]
pub(super) struct ReaperRegistration {
    reaper: Reaper,
    group: ProcessGroup,
}

impl Drop for ReaperRegistration {
    fn drop(&mut self) {
        let mut state = self.reaper.state();
        if state.groups.remove(&self.group) && cfg!(unix) {
            state.write(&self.reaper.0, &removal_line(self.group));
        }
    }
}

impl ReaperState {
    /// Writes a line to the reaper. A reaper that must be started first receives the whole list of servers.
    fn write(&mut self, program: &Arc<ReaperProgram>, line: &str) {
        if let Some((process, input)) = &mut self.process {
            let is_running = !line.is_empty() || matches!(process.try_wait(), Ok(None));
            // The pipe does not block. A reaper that stopped reading is replaced.
            if is_running && input.write_all(line.as_bytes()).is_ok() {
                return;
            }
            let _ = process.kill();
            let _ = process.wait();
            self.process = None;
            if self.groups.is_empty() && !line.is_empty() {
                return;
            }
        }
        let started = program.start().and_then(|(process, mut input, output)| {
            let mut all = String::new();
            for group in &self.groups {
                all.push_str(&addition_line(*group));
            }
            input.write_all(all.as_bytes())?;
            program.watch(process.id(), output)?;
            Ok((process, input))
        });
        match started {
            Ok(started) => self.process = Some(started),
            Err(error) => {
                tracing::warn!(%error, "the servers will keep running if this process is killed");
            }
        }
    }
}

impl ReaperProgram {
    fn start(&self) -> io::Result<(Child, ChildStdin, ChildStdout)> {
        let mut command = Command::new(&self.path);
        // The reaper outlives us by some seconds. It must not hold open an error output whose end another program
        // waits for.
        command.args(&self.arguments).stdout(Stdio::piped()).stderr(Stdio::null());
        command.stdin(Stdio::piped()).env_clear().current_dir("/");
        // A signal to our process group, such as Ctrl-C in a terminal, must not end the reaper as well.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut process = command.spawn()?;
        let missing = || io::Error::other("it has no pipe");
        let input = process.stdin.take().ok_or_else(missing)?;
        let output = process.stdout.take().ok_or_else(missing)?;
        #[cfg(unix)]
        rustix::io::ioctl_fionbio(&input, true)?;
        Ok((process, input, output))
    }

    /// Restarts the reaper when it ends, as long as servers are running. The reaper writes nothing, so its output
    /// only ends when it does.
    fn watch(self: &Arc<Self>, id: u32, mut output: ChildStdout) -> io::Result<()> {
        let program = Arc::downgrade(self);
        let watching = move || {
            let _ = io::copy(&mut output, &mut io::sink());
            thread::sleep(RESTART_DELAY);
            let Some(program) = program.upgrade() else { return };
            let mut state = program.state.lock().unwrap_or_else(PoisonError::into_inner);
            let Some((mut process, _)) = state.process.take_if(|(process, _)| process.id() == id)
            else {
                return;
            };
            let _ = process.kill();
            let _ = process.wait();
            if !state.groups.is_empty() {
                state.write(&program, "");
            }
        };
        thread::Builder::new().name("answerback-reaper".to_owned()).spawn(watching).map(drop)
    }
}

fn addition_line(group: ProcessGroup) -> String {
    line('+', group)
}

fn removal_line(group: ProcessGroup) -> String {
    line('-', group)
}

fn line(sign: char, group: ProcessGroup) -> String {
    let mut line = String::new();
    let _ = writeln!(line, "{sign}{group}");
    line
}

/// Does the work of the reaper process. It reads which servers run until the pipe closes, and then ends those
/// that are left.
pub fn run_reaper(input: impl BufRead) {
    let mut left = running_groups(input);
    wait_for(&mut left, GRACE);
    for (end, grace) in [(EndSignal::Terminate, LAST_GRACE), (EndSignal::Kill, CHECK_INTERVAL)] {
        for group in &left {
            group.end(end);
        }
        wait_for(&mut left, grace);
    }
}

/// Returns the servers that were started and not reported as ended. An incomplete last line is ignored.
fn running_groups(mut input: impl BufRead) -> BTreeSet<ProcessGroup> {
    let mut groups = BTreeSet::new();
    let mut line = String::new();
    while input.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        let Some(entry) = line.strip_suffix('\n') else { break };
        if let Some(group) = entry.strip_prefix('+').and_then(ProcessGroup::read) {
            groups.insert(group);
        } else if let Some(group) = entry.strip_prefix('-').and_then(ProcessGroup::read) {
            groups.remove(&group);
        }
        line.clear();
    }
    groups
}

/// Waits until the groups are gone, but not longer than `limit`. A group that is gone is not checked again,
/// because its id may be reused.
fn wait_for(left: &mut BTreeSet<ProcessGroup>, limit: Duration) {
    let end = Instant::now() + limit;
    loop {
        left.retain(|group| group.is_running());
        if left.is_empty() || Instant::now() >= end {
            return;
        }
        thread::sleep(CHECK_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_without_a_removal_line_are_running() {
        let left = |input: &str| -> Vec<String> {
            running_groups(input.as_bytes()).iter().map(ToString::to_string).collect()
        };
        assert_eq!(left(""), Vec::<String>::new());
        assert_eq!(left("+20\n+30\n-20\n+40\n"), ["30", "40"]);
        // Incomplete lines and ids that must not be signaled are ignored.
        assert_eq!(left("+20\n+300"), ["20"]);
        assert_eq!(left("+1\n+0\nx\n+-5\n+20\n"), ["20"]);
    }
}
