//! Measures the processes of a program and their children, without the server behind it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// Holds a process in its own process group. Dropping it ends the process and its children.
pub(crate) struct ProcessGroup {
    child: Child,
    pid: Pid,
}

impl ProcessGroup {
    pub(crate) fn spawn(command: &mut Command) -> anyhow::Result<Self> {
        let child = command.process_group(0).kill_on_drop(true).spawn().with_context(|| {
            format!("cannot start {}", command.as_std().get_program().display())
        })?;
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Self { child, pid: pid.context("the process ended at once")? })
    }

    pub(crate) fn input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    pub(crate) fn output(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    pub(crate) fn errors(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub(crate) fn tree(&self) -> anyhow::Result<ProcessTree> {
        let upstream = std::env::current_exe()?;
        Ok(ProcessTree { root: self.pid.as_raw_nonzero().get().unsigned_abs(), upstream })
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // The group may have ended already.
        let _ = kill_process_group(self.pid, Signal::KILL);
    }
}

/// Identifies a process and its descendants, except those that run this program: they are the server.
pub(crate) struct ProcessTree {
    root: u32,
    upstream: PathBuf,
}

impl ProcessTree {
    /// Returns the user and system CPU time of the living processes.
    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        let ticks: u64 =
            self.members().iter().filter_map(|pid| Stat::read(*pid)).map(|it| it.ticks).sum();
        let each = rustix::param::clock_ticks_per_second();
        let micros = ticks.checked_mul(1_000_000).and_then(|it| it.checked_div(each));
        micros.map(Duration::from_micros).context("the system reports no clock ticks")
    }

    /// Returns the current memory in bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.members().iter().map(|pid| status(*pid, "VmRSS:")).sum()
    }

    /// Returns the peak memory in bytes since [`Self::reset_peak`], summed over the processes.
    pub(crate) fn peak(&self) -> u64 {
        self.members().iter().map(|pid| status(*pid, "VmHWM:")).sum()
    }

    pub(crate) fn reset_peak(&self) {
        for pid in self.members() {
            // Writing 5 resets the peak. If that fails, the peak covers the whole life of the process.
            let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
        }
    }

    fn members(&self) -> Vec<u32> {
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        for pid in processes() {
            if let Some(stat) = Stat::read(pid) {
                children.entry(stat.parent).or_default().push(pid);
            }
        }
        let mut members = vec![self.root];
        let mut visited = 0;
        while let Some(pid) = members.get(visited).copied() {
            visited += 1;
            let descendants = children.get(&pid).into_iter().flatten().copied();
            members.extend(descendants.filter(|pid| !self.is_upstream(*pid)));
        }
        members
    }

    fn is_upstream(&self, pid: u32) -> bool {
        fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == self.upstream)
    }
}

fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir(Path::new("/proc"))
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

struct Stat {
    parent: u32,
    ticks: u64,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        // The name is in parentheses and may contain parentheses itself.
        let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace().skip(1);
        let parent = fields.next()?.parse().ok()?;
        // The parent is field 4; utime and stime are fields 14 and 15.
        let mut times = fields.skip(9).map(str::parse::<u64>);
        Some(Self { parent, ticks: times.next()?.ok()? + times.next()?.ok()? })
    }
}

/// Returns the value in bytes of a line of the process status that is given in kB.
fn status(pid: u32, line: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let value = text.lines().find_map(|it| it.strip_prefix(line)).unwrap_or_default();
    let kilobytes = value.trim().strip_suffix(" kB").and_then(|it| it.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::Stat;

    #[test]
    fn a_name_with_parentheses_and_spaces() {
        let text = "42 (a ) b (c) S 7 42 42 0 -1 4194560 100 0 0 0 250 50 3 4 20 0 9 0 1 2 3";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.parent, stat.ticks), (7, 300));
        assert!(Stat::parse("42 (short) S 1").is_none());
    }
}
