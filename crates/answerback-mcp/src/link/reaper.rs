//! Ends our servers from a second process if our own process is killed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, BufRead, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::group::{EndSignal, ProcessGroup};

/// The time that a server has to end after its input closed.
pub(super) const GRACE: Duration = Duration::from_secs(3);
/// The time that a server has to end after SIGTERM.
pub(super) const LAST_GRACE: Duration = Duration::from_secs(2);
/// The delay before a reaper that ended is started again. It limits the restarts of a reaper that ends at once. A
/// new server starts one earlier.
const AGAIN: Duration = Duration::from_secs(1);
/// The interval at which the reaper checks if servers are gone.
const LOOKING: Duration = Duration::from_millis(20);

/// Runs a reaper: a second process that ends our servers if our own process is killed.
///
/// The reaper reads from a pipe the process group of every server that starts or ends. If the pipe closes while
/// servers are left, our process ended without ending them. They get the same time to exit as usual, and are then
/// ended with all processes that they started. The host chooses the program and its arguments. The program must
/// only call [`attend`] and write nothing. It is started with the first server, and again whenever it ends.
///
/// Systems without process groups run no reaper.
#[derive(Clone, Debug)]
#[must_use]
pub struct Warden(Arc<WardenPipe>);

#[derive(Debug)]
struct WardenPipe {
    path: OsString,
    arguments: Vec<OsString>,
    held: Mutex<WatchedGroup>,
}

#[derive(Debug, Default)]
struct WatchedGroup {
    process: Option<(Child, ChildStdin)>,
    groups: BTreeSet<ProcessGroup>,
}

impl Warden {
    /// Configures a reaper that runs this program with these arguments.
    pub fn new(path: impl Into<OsString>, arguments: impl IntoIterator<Item = OsString>) -> Self {
        let (path, arguments) = (path.into(), arguments.into_iter().collect());
        Self(Arc::new(WardenPipe { path, arguments, held: Mutex::default() }))
    }

    fn held(&self) -> MutexGuard<'_, WatchedGroup> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the reaper if it is not running, so that a new server can be reported at once.
    pub(super) fn stand_by(&self) {
        if cfg!(unix) {
            self.held().tell(&self.0, "");
        }
    }

    /// Registers a server until the returned value is dropped.
    pub(super) fn take_on(&self, group: ProcessGroup) -> Ward {
        let mut held = self.held();
        if held.groups.insert(group) && cfg!(unix) {
            held.tell(&self.0, &begun(group));
        }
        Ward { warden: self.clone(), group }
    }
}

/// Registers a server with the reaper while it exists.
#[derive(Debug)]
pub(super) struct Ward {
    warden: Warden,
    group: ProcessGroup,
}

impl Drop for Ward {
    fn drop(&mut self) {
        let mut held = self.warden.held();
        if held.groups.remove(&self.group) && cfg!(unix) {
            held.tell(&self.warden.0, &over(self.group));
        }
    }
}

impl WatchedGroup {
    /// Writes a line to the reaper. A reaper that must be started first receives the whole list of servers.
    fn tell(&mut self, post: &Arc<WardenPipe>, words: &str) {
        if let Some((process, told)) = &mut self.process {
            let is_there = !words.is_empty() || matches!(process.try_wait(), Ok(None));
            // The pipe does not block. A reaper that stopped reading is replaced.
            if is_there && told.write_all(words.as_bytes()).is_ok() {
                return;
            }
            let _ = process.kill();
            let _ = process.wait();
            self.process = None;
            if self.groups.is_empty() && !words.is_empty() {
                return;
            }
        }
        let started = post.start().and_then(|(process, mut told, said)| {
            let mut all = String::new();
            for group in &self.groups {
                all.push_str(&begun(*group));
            }
            told.write_all(all.as_bytes())?;
            post.watch(process.id(), said)?;
            Ok((process, told))
        });
        match started {
            Ok(started) => self.process = Some(started),
            Err(error) => {
                tracing::warn!(%error, "nobody will end the servers if this process is killed");
            }
        }
    }
}

impl WardenPipe {
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
        let told = process.stdin.take().ok_or_else(missing)?;
        let said = process.stdout.take().ok_or_else(missing)?;
        #[cfg(unix)]
        rustix::io::ioctl_fionbio(&told, true)?;
        Ok((process, told, said))
    }

    /// Restarts the reaper when it ends, as long as servers are running. The reaper writes nothing, so its output
    /// only ends when it does.
    fn watch(self: &Arc<Self>, id: u32, mut said: ChildStdout) -> io::Result<()> {
        let post = Arc::downgrade(self);
        let watching = move || {
            let _ = io::copy(&mut said, &mut io::sink());
            thread::sleep(AGAIN);
            let Some(post) = post.upgrade() else { return };
            let mut held = post.held.lock().unwrap_or_else(PoisonError::into_inner);
            let Some((mut process, _)) = held.process.take_if(|(process, _)| process.id() == id)
            else {
                return;
            };
            let _ = process.kill();
            let _ = process.wait();
            if !held.groups.is_empty() {
                held.tell(&post, "");
            }
        };
        thread::Builder::new().name("answerback-warden".to_owned()).spawn(watching).map(drop)
    }
}

fn begun(group: ProcessGroup) -> String {
    line('+', group)
}

fn over(group: ProcessGroup) -> String {
    line('-', group)
}

fn line(sign: char, group: ProcessGroup) -> String {
    let mut line = String::new();
    let _ = writeln!(line, "{sign}{group}");
    line
}

/// Does the work of the reaper process. It reads which servers run until the pipe closes, and then ends those
/// that are left.
pub fn attend(told: impl BufRead) {
    let mut left = wards(told);
    wait_for(&mut left, GRACE);
    for (end, grace) in [(EndSignal::Ask, LAST_GRACE), (EndSignal::Force, LOOKING)] {
        for group in &left {
            group.end(end);
        }
        wait_for(&mut left, grace);
    }
}

/// Returns the servers that were started and not reported as ended. An incomplete last line is ignored.
fn wards(mut told: impl BufRead) -> BTreeSet<ProcessGroup> {
    let mut wards = BTreeSet::new();
    let mut line = String::new();
    while told.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        let Some(said) = line.strip_suffix('\n') else { break };
        if let Some(group) = said.strip_prefix('+').and_then(ProcessGroup::read) {
            wards.insert(group);
        } else if let Some(group) = said.strip_prefix('-').and_then(ProcessGroup::read) {
            wards.remove(&group);
        }
        line.clear();
    }
    wards
}

/// Waits until the groups are gone, but not longer than `most`. A group that is gone is not checked again,
/// because its id may be reused.
fn wait_for(left: &mut BTreeSet<ProcessGroup>, most: Duration) {
    let end = Instant::now() + most;
    loop {
        left.retain(|group| group.is_there());
        if left.is_empty() || Instant::now() >= end {
            return;
        }
        thread::sleep(LOOKING);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_over_is_left() {
        let left = |told: &str| -> Vec<String> {
            wards(told.as_bytes()).iter().map(ToString::to_string).collect()
        };
        assert_eq!(left(""), Vec::<String>::new());
        assert_eq!(left("+20\n+30\n-20\n+40\n"), ["30", "40"]);
        // Incomplete lines and ids that must not be signaled are ignored.
        assert_eq!(left("+20\n+300"), ["20"]);
        assert_eq!(left("+1\n+0\nx\n+-5\n+20\n"), ["20"]);
    }
}
