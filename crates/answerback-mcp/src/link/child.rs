//! A server that is a child process.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::Command;

use super::executable_lookup;
use super::group::{EndSignal, ProcessGroup};
use super::reaper::{GRACE, LAST_GRACE, Ward, Warden};
use super::{Link, over};

/// Variables of ours, which may hold secrets of ours.
const OURS: &str = "ANSWERBACK_";
/// Variables that others gave their names, and that hold what we show a collector of traces.
const COLLECTORS: [&str; 2] = ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"];

/// How long a server has to end after its input did when nobody can wait for it.
const SHORT_GRACE: Duration = Duration::from_millis(50);

/// A program that is a server.
#[derive(Clone)]
#[must_use]
pub struct Program {
    path: OsString,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    /// Variables of ours that are not for it.
    kept_back: Vec<OsString>,
    folder: Option<PathBuf>,
    warden: Option<Warden>,
}

impl fmt::Debug for Program {
    /// The values of variables may be secrets.
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
    /// A program with its arguments.
    pub fn new(path: impl Into<OsString>, arguments: impl IntoIterator<Item = OsString>) -> Self {
        let (path, arguments) = (path.into(), arguments.into_iter().collect());
        let (variables, kept_back) = (Vec::new(), Vec::new());
        Self { path, arguments, variables, kept_back, folder: None, warden: None }
    }

    /// Without these variables of ours, unless it is given one of them by name.
    pub fn without_variables(mut self, names: impl IntoIterator<Item = OsString>) -> Self {
        self.kept_back = names.into_iter().collect();
        self
    }

    /// With these variables beside the ones that we have.
    pub fn with_variables(
        mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        self.variables = variables.into_iter().collect();
        self
    }

    /// In this folder.
    pub fn with_folder(mut self, folder: impl Into<Option<PathBuf>>) -> Self {
        self.folder = folder.into();
        self
    }

    /// With somebody who ends it when we are killed.
    pub fn with_warden(mut self, warden: impl Into<Option<Warden>>) -> Self {
        self.warden = warden.into();
        self
    }

    /// True if another process ends the server when we end first.
    pub fn is_supervised(&self) -> bool {
        cfg!(unix) && self.warden.is_some()
    }

    /// The program's name or path.
    pub fn path(&self) -> &OsStr {
        &self.path
    }

    /// Whether there is such a program, as the system looks for it when it is started.
    pub fn is_there(&self) -> bool {
        let given = self.variables.iter().rev().find(|(name, _)| name == "PATH");
        let places = given.map(|(_, places)| places.clone()).or_else(|| std::env::var_os("PATH"));
        let folder = self.folder.clone().unwrap_or_default();
        executable_lookup::is_there(&self.path, &places.unwrap_or_default(), &folder)
    }

    /// Starts the program. It does not inherit variables of ours, which may hold secrets of ours. A line that is no
    /// message, or has more than so many bytes, is passed over and told to whoever operates us.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start(&self, name: &str, most: usize) -> std::io::Result<(Child, Link)> {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.kill_on_drop(true);
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with(OURS) {
                command.env_remove(variable);
            }
        }
        for variable in
            COLLECTORS.iter().map(OsStr::new).chain(self.kept_back.iter().map(|it| &**it))
        {
            command.env_remove(variable);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        #[cfg(unix)]
        command.process_group(0);
        if let Some(warden) = &self.warden {
            warden.stand_by();
        }
        let mut process = command.spawn()?;
        let group = process.id().and_then(ProcessGroup::led_by);
        let ward = self.warden.as_ref().zip(group).map(|(warden, group)| warden.take_on(group));
        let missing = || std::io::Error::other("the server has no pipe");
        let input = process.stdin.take().ok_or_else(missing)?;
        let output = process.stdout.take().ok_or_else(missing)?;
        let link = over(name, most, output, input);
        Ok((Child { process, group, ward }, link))
    }
}

/// A running server. It leads a process group of its own, so that what it started ends with it.
#[derive(Debug)]
pub struct Child {
    process: tokio::process::Child,
    /// Nothing, once everybody in it was ended.
    group: Option<ProcessGroup>,
    /// Let go after the group was ended, by whoever does it.
    ward: Option<Ward>,
}

impl Child {
    /// Waits until the server ended by itself.
    ///
    /// # Errors
    ///
    /// When it cannot be waited for.
    pub async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.process.wait().await
    }

    /// Ends the server, whose link has been closed: it may go by itself, is asked to, and is made to. What it
    /// started goes along. Once `hurried` is ready, it has next to no time to go by itself.
    ///
    /// # Errors
    ///
    /// When it cannot be waited for.
    pub async fn end(&mut self, hurried: impl Future<Output = ()>) -> std::io::Result<ExitStatus> {
        let by_itself = tokio::select! {
            status = self.process.wait() => Some(status),
            () = tokio::time::sleep(GRACE) => None,
            () = async {
                hurried.await;
                tokio::time::sleep(SHORT_GRACE).await;
            } => None,
        };
        let status = match by_itself {
            Some(status) => status,
            None => {
                self.signal(EndSignal::Ask);
                match tokio::time::timeout(LAST_GRACE, self.process.wait()).await {
                    Ok(status) => status,
                    Err(_) => {
                        self.signal(EndSignal::Force);
                        self.process.kill().await?;
                        self.process.wait().await
                    }
                }
            }
        };
        self.signal(EndSignal::Force);
        (self.group, self.ward) = (None, None);
        status
    }

    fn signal(&self, end: EndSignal) {
        if let Some(group) = self.group {
            group.end(end);
        }
    }
}

impl Drop for Child {
    /// Whoever does not wait for its end ends it, with what it started.
    fn drop(&mut self) {
        self.signal(EndSignal::Force);
    }
}
