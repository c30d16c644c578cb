//! What ends our servers when we are killed, and cannot do it ourselves.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, BufRead, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::group::{EndSignal, ProcessGroup};

/// How long a server has to end after its input did.
pub(super) const GRACE: Duration = Duration::from_secs(3);
/// How long it has after it was asked to.
pub(super) const LAST_GRACE: Duration = Duration::from_secs(2);
/// How long after its end another one is started, unless a server is started first: one that ends at once does not keep us
/// busy.
const AGAIN: Duration = Duration::from_secs(1);
/// How often a warden looks whether servers are gone.
const LOOKING: Duration = Duration::from_millis(20);

/// A process beside us that ends the servers which we started, when we are killed and cannot.
///
/// On a pipe it is told of every server's process group, and when one is over. Where the pipe ends while there are any,
/// we ended without ending them: they have as long as we would have given them, and are made to go then, with all that
/// they started. The process is a program with arguments that the host names; all it has to do is [`attend`], and to
/// say nothing. It is started with the first server, and again when it is gone.
///
/// Where there are no process groups there is nothing for it to do.
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
    /// A warden that is this program with these arguments.
    pub fn new(path: impl Into<OsString>, arguments: impl IntoIterator<Item = OsString>) -> Self {
        let (path, arguments) = (path.into(), arguments.into_iter().collect());
        Self(Arc::new(WardenPipe { path, arguments, held: Mutex::default() }))
    }

    fn held(&self) -> MutexGuard<'_, WatchedGroup> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that there is one, so that a server is told of as soon as it is there.
    pub(super) fn stand_by(&self) {
        if cfg!(unix) {
            self.held().tell(&self.0, "");
        }
    }

    /// Takes a server on, until what this gives is dropped.
    pub(super) fn take_on(&self, group: ProcessGroup) -> Ward {
        let mut held = self.held();
        if held.groups.insert(group) && cfg!(unix) {
            held.tell(&self.0, &begun(group));
        }
        Ward { warden: self.clone(), group }
    }
}

/// A server that a warden has taken on.
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
    /// Tells the warden something; one that has to be started first is told of everything.
    fn tell(&mut self, post: &Arc<WardenPipe>, words: &str) {
        if let Some((process, told)) = &mut self.process {
            let is_there = !words.is_empty() || matches!(process.try_wait(), Ok(None));
            // It never waits: a warden that does not read is as good as none.
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
        // It outlives us by some seconds: it must not hold what others wait for the end of.
        command.args(&self.arguments).stdout(Stdio::piped()).stderr(Stdio::null());
        command.stdin(Stdio::piped()).env_clear().current_dir("/");
        // What ends us at once, as a terminal does, must not end it, too.
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

    /// Has another one started when this one ends, as long as there is anybody to end. It says nothing, so what is read of
    /// it is its end.
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

/// Does a warden's work: hears of servers for as long as somebody tells, and ends those that are left then.
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

/// The servers that nobody said to be over. A line without an end was not told to its end.
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

/// Waits until they are gone, but not longer than this. Who was gone once is not looked for again: its number may be
/// another's soon.
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
        // What was cut off, or is no group that anybody may end.
        assert_eq!(left("+20\n+300"), ["20"]);
        assert_eq!(left("+1\n+0\nx\n+-5\n+20\n"), ["20"]);
    }
}
