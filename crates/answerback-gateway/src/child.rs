//! A server that is a child process.

use std::ffi::{OsStr, OsString};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Variables of ours, which may hold secrets of ours.
const OURS: &str = "ANSWERBACK_";
/// How long a server has to end after its input did.
const GRACE: Duration = Duration::from_secs(3);
/// How long it has after it was asked to.
const LAST_GRACE: Duration = Duration::from_secs(2);

/// A running server. It leads a process group of its own, so that what it started ends with it.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    group: Option<u32>,
}

impl Server {
    /// Starts a program.
    pub(crate) fn start(
        program: &OsStr,
        arguments: &[OsString],
    ) -> std::io::Result<(Self, ChildStdin, ChildStdout)> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with(OURS) {
                command.env_remove(name);
            }
        }
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let missing = || std::io::Error::other("the server has no pipe");
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let group = child.id();
        Ok((Self { child, group }, input, output))
    }

    /// Waits until the server ended by itself.
    pub(crate) async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends the server, whose input has been closed: it may go by itself, is asked to, and is made to. What it
    /// started goes along.
    pub(crate) async fn end(&mut self) -> std::io::Result<ExitStatus> {
        let status = match tokio::time::timeout(GRACE, self.child.wait()).await {
            Ok(status) => status,
            Err(_) => {
                self.signal(End::Ask);
                match tokio::time::timeout(LAST_GRACE, self.child.wait()).await {
                    Ok(status) => status,
                    Err(_) => {
                        self.signal(End::Force);
                        self.child.kill().await?;
                        self.child.wait().await
                    }
                }
            }
        };
        self.signal(End::Force);
        status
    }

    #[cfg(unix)]
    fn signal(&self, end: End) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let group = self.group.and_then(|group| i32::try_from(group).ok()).and_then(Pid::from_raw);
        let signal = match end {
            End::Ask => Signal::TERM,
            End::Force => Signal::KILL,
        };
        if let Some(group) = group {
            // The group may be gone already.
            let _ = kill_process_group(group, signal);
        }
    }

    #[cfg(not(unix))]
    fn signal(&self, _: End) {}
}

#[derive(Clone, Copy)]
enum End {
    Ask,
    Force,
}
