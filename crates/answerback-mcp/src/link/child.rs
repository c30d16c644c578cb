//! Runs a server as a child process.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::Command;

use super::executable_lookup;
use super::process_group::{EndSignal, ProcessGroup};
use super::reaper::{GRACE, LAST_GRACE, Reaper, ReaperRegistration};
use super::{Link, connect_streams};

/// The prefix of our own environment variables, which may hold secrets.
const OWN_PREFIX: &str = "ANSWERBACK_";
/// Standard variables that hold our credentials for a trace collector.
const COLLECTOR_VARIABLES: [&str; 2] =
    ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"];

/// The time that a server has to end after its input closed, if our own process is about to end.
const SHORT_GRACE: Duration = Duration::from_millis(50);

/// Describes a program that runs as a server.
#[derive(Clone)]
#[must_use]
pub struct Program {
    path: OsString,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    /// Our own environment variables that the program does not inherit.
    removed_variables: Vec<OsString>,
    folder: Option<PathBuf>,
    reaper: Option<Reaper>,
}

impl fmt::Debug for Program {
    /// Omits the values of variables, because they may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.variables.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("Program")
            .field("path", &self.path)
            .field("arguments", &self.arguments)
            .field("variables", &names)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Program {
    /// Creates a program with its arguments.
    pub fn new(path: impl Into<OsString>, arguments: impl IntoIterator<Item = OsString>) -> Self {
        let (path, arguments) = (path.into(), arguments.into_iter().collect());
        let (variables, removed_variables) = (Vec::new(), Vec::new());
        Self { path, arguments, variables, removed_variables, folder: None, reaper: None }
    }

    /// Removes these variables from the inherited environment. A variable that
    /// [`with_variables`](Self::with_variables) sets is passed on anyway.
    pub fn without_variables(mut self, names: impl IntoIterator<Item = OsString>) -> Self {
        self.removed_variables = names.into_iter().collect();
        self
    }

    /// Sets these variables in addition to the inherited ones.
    pub fn with_variables(
        mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        self.variables = variables.into_iter().collect();
        self
    }

    /// Sets the working folder.
    pub fn with_folder(mut self, folder: impl Into<Option<PathBuf>>) -> Self {
        self.folder = folder.into();
        self
    }

    /// Sets the reaper that ends the program if our process is killed.
    pub fn with_reaper(mut self, reaper: impl Into<Option<Reaper>>) -> Self {
        self.reaper = reaper.into();
        self
    }

    /// Returns true if another process ends the server when our process ends first.
    pub fn is_supervised(&self) -> bool {
        cfg!(unix) && self.reaper.is_some()
    }

    /// Returns the program's name or path.
    pub fn path(&self) -> &OsStr {
        &self.path
    }

    /// Returns true if the program exists, found as the operating system finds it at start.
    pub fn exists(&self) -> bool {
        let path = self.variables.iter().rev().find(|(name, _)| name == "PATH");
        let directories = path.map(|(_, path)| path.clone()).or_else(|| std::env::var_os("PATH"));
        let folder = self.folder.clone().unwrap_or_default();
        executable_lookup::can_find(&self.path, &directories.unwrap_or_default(), &folder)
    }

    /// Starts the program. It does not inherit our own environment variables, which may hold secrets. Lines that
    /// are not a message, or are longer than `max_bytes` bytes, are skipped and logged.
    ///
    /// # Errors
    ///
    /// Returns an error if the program cannot be started.
    pub fn start(&self, name: &str, max_bytes: usize) -> std::io::Result<(Child, Link)> {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.kill_on_drop(true);
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with(OWN_PREFIX) {
                command.env_remove(variable);
            }
        }
        for variable in COLLECTOR_VARIABLES
            .iter()
            .map(OsStr::new)
            .chain(self.removed_variables.iter().map(|it| &**it))
        {
            command.env_remove(variable);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        #[cfg(unix)]
        command.process_group(0);
        if let Some(reaper) = &self.reaper {
            reaper.ensure_running();
        }
        let mut process = command.spawn()?;
        let group = process.id().and_then(ProcessGroup::led_by);
        let registration =
            self.reaper.as_ref().zip(group).map(|(reaper, group)| reaper.register(group));
        let missing = || std::io::Error::other("the server has no pipe");
        let input = process.stdin.take().ok_or_else(missing)?;
        let output = process.stdout.take().ok_or_else(missing)?;
        let link = connect_streams(name, max_bytes, output, input);
        Ok((Child { process, group, registration }, link))
    }
}

/// Holds a running server. The server leads its own process group, so that the processes that it started end with
/// it.
#[derive(Debug)]
pub struct Child {
    process: tokio::process::Child,
    /// The process group, or `None` once every process in it was ended.
    group: Option<ProcessGroup>,
    /// The entry with the reaper. It is dropped only after the group was ended.
    registration: Option<ReaperRegistration>,
}

impl Child {
    /// Waits until the server ends by itself.
    ///
    /// # Errors
    ///
    /// Returns an error if the process cannot be waited for.
    pub async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.process.wait().await
    }

    /// Ends the server and the processes that it started, after its link was closed. The server first has time to
    /// exit by itself. Then it is sent SIGTERM, and finally SIGKILL. Once `quickly` completes, the first period is
    /// very short.
    ///
    /// # Errors
    ///
    /// Returns an error if the process cannot be waited for.
    pub async fn end(&mut self, quickly: impl Future<Output = ()>) -> std::io::Result<ExitStatus> {
        let own_exit = tokio::select! {
            status = self.process.wait() => Some(status),
            () = tokio::time::sleep(GRACE) => None,
            () = async {
                quickly.await;
                tokio::time::sleep(SHORT_GRACE).await;
            } => None,
        };
        let status = match own_exit {
            Some(status) => status,
            None => {
                self.signal(EndSignal::Terminate);
                match tokio::time::timeout(LAST_GRACE, self.process.wait()).await {
                    Ok(status) => status,
                    Err(_) => {
                        self.signal(EndSignal::Kill);
                        self.process.kill().await?;
                        self.process.wait().await
                    }
                }
            }
        };
        self.signal(EndSignal::Kill);
        (self.group, self.registration) = (None, None);
        status
    }

    fn signal(&self, end: EndSignal) {
        if let Some(group) = self.group {
            group.end(end);
        }
    }
}

impl Drop for Child {
    /// Kills the server and the processes that it started, if the owner did not wait for its end.
    fn drop(&mut self) {
        self.signal(EndSignal::Kill);
    }
}
