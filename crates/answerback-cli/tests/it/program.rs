//! Runs the program as a user does.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Returns the program in a folder of this crate, without environment variables about terminals.
pub(crate) fn program(folder: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_answerback"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder));
    for name in
        ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "RUST_BACKTRACE", "COLUMNS", "ANSWERBACK_CONFIG"]
    {
        command.env_remove(name);
    }
    // The person who runs the tests may have a configuration.
    command.env("XDG_CONFIG_HOME", "/nowhere").env("APPDATA", "/nowhere");
    command.env("XDG_STATE_HOME", "/nowhere").env("LOCALAPPDATA", "/nowhere");
    command.stdin(Stdio::null());
    command
}

/// Runs the program.
pub(crate) fn run(folder: &str, arguments: &[&str]) -> Output {
    program(folder).args(arguments).output().expect("the program starts")
}

/// Runs the program with standard input.
pub(crate) fn run_with(folder: &str, arguments: &[&str], input: impl Into<Vec<u8>>) -> Output {
    let mut child = program(folder)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut pipe = child.stdin.take().expect("its input is a pipe");
    let input = input.into();
    let writer = std::thread::spawn(move || {
        // The program may end before it has read everything.
        let _ = pipe.write_all(&input);
    });
    let output = child.wait_with_output().expect("its output is read");
    writer.join().expect("writing does not panic");
    output
}

/// Formats the exit code, standard output and standard error.
pub(crate) fn told(output: &Output) -> String {
    let mut text = format!("exit: {}\n", output.status.code().expect("it is not killed"));
    // Writing to a string cannot fail.
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let said = std::str::from_utf8(bytes).expect("it prints UTF-8");
        let _ = write!(text, "----- {name} -----\n{said}");
    }
    text
}
