//! Tests the confirmation at a terminal before something that cannot be undone.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::ledger::Ledger;

/// Opens a pseudoterminal and returns its name.
fn open() -> (OwnedFd, String) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap();
    (controller, name.into_string().unwrap())
}

/// Starts a command at its own terminal. Returns the command and the terminal's screen.
fn start(mut command: Command) -> (Child, File) {
    let (controller, name) = open();
    let terminal = || OpenOptions::new().read(true).write(true).open(&name).unwrap();
    command.stdin(terminal()).stderr(terminal()).stdout(Stdio::piped());
    // After `command` is dropped, only the child has the terminal open, so reading ends with the child.
    (command.spawn().unwrap(), File::from(controller))
}

/// Runs a command that does not end by itself at its own terminal, until the screen shows `words`. Then passes the
/// screen to `act` and stops the command.
pub(crate) fn once_shown(command: Command, words: &str, act: impl FnOnce(&str)) {
    let (mut child, mut screen) = start(command);
    let (sender, chunks) = channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 256];
        while let Ok(length @ 1..) = screen.read(&mut bytes) {
            let _ = sender.send(bytes[..length].to_vec());
        }
    });
    let until = Instant::now() + Duration::from_mins(1);
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains(words) {
        let left = until.saturating_duration_since(Instant::now());
        match chunks.recv_timeout(left) {
            Ok(chunk) => shown.extend(chunk),
            Err(_) => {
                child.kill().unwrap();
                panic!("{words} is not shown: {}", String::from_utf8_lossy(&shown));
            }
        }
    }
    act(&String::from_utf8(shown).unwrap());
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// Runs a command at its own terminal and types an answer to the question. Returns the exit code, the output, and the
/// screen.
pub(crate) fn at_a_terminal(command: Command, answer: &'static str) -> (i32, String, String) {
    let (mut child, mut screen) = start(command);
    let reader = std::thread::spawn(move || {
        let (mut shown, mut bytes, mut is_answered) = (Vec::new(), [0; 256], false);
        while let Ok(length @ 1..) = screen.read(&mut bytes) {
            shown.extend_from_slice(&bytes[..length]);
            if !is_answered && shown.ends_with(b"[y/N] ") {
                is_answered = true;
                screen.write_all(answer.as_bytes()).unwrap();
            }
        }
        String::from_utf8(shown).unwrap()
    });
    let until = Instant::now() + Duration::from_mins(1);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("it neither asks nor ends");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    (status.code().unwrap(), printed, reader.join().unwrap())
}

/// Returns the lines that a command shows at a terminal of this width.
pub(crate) fn in_columns(mut command: Command, columns: u16) -> Vec<String> {
    let (controller, name) = open();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&controller, size).unwrap();
    let terminal = OpenOptions::new().read(true).write(true).open(name).unwrap();
    let mut child = command.env("NO_COLOR", "1").stdout(terminal).spawn().unwrap();
    // Only the child has the terminal open now, so reading ends with the child.
    drop(command);
    let (mut shown, mut bytes) = (Vec::new(), [0; 256]);
    let mut screen = File::from(controller);
    while let Ok(length @ 1..) = screen.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..length]);
    }
    assert!(child.wait().unwrap().success());
    String::from_utf8(shown).unwrap().lines().map(str::to_owned).collect()
}

/// The end of input at a terminal.
const END: &str = "\u{4}";

#[test]
fn an_erasure_is_asked_about() {
    let ledger = Ledger::filled();
    let erase = || ledger.command(&["erase", "2", "response", "--basis", "request"]);
    for answer in ["n\n", "\n", "no\n", "yep\n", END] {
        let (code, printed, shown) = at_a_terminal(erase(), answer);
        assert_eq!((code, printed.as_str()), (1, ""), "{answer:?}: {shown}");
        let asked = "part response of entry 2 (";
        assert!(shown.starts_with(asked), "{shown}");
        assert!(
            shown.contains("bytes) will be erased; this cannot be undone. Continue? [y/N] "),
            "{shown}"
        );
    }
    assert!(ledger.good(&["show", "2"]).contains("response"));
    for (answer, index) in [("y\n", "2"), ("yes\n", "4")] {
        let arguments = ["erase", index, "response", "--basis", "request"];
        let (code, printed, shown) = at_a_terminal(ledger.command(&arguments), answer);
        assert_eq!(code, 0, "{answer:?}: {shown}");
        assert!(
            printed.starts_with(&format!("erased part response of entry {index}")),
            "{printed}"
        );
    }
    assert_eq!(ledger.code(&["verify"]), 0);
}

#[test]
fn pruning_is_asked_about() {
    let ledger = Ledger::new();
    let mut arguments = vec!["record", "--format", "json"];
    arguments.extend(["tool-least.json"; 130]);
    ledger.good(&arguments);
    let prune = || ledger.command(&["prune", "--below", "256", "--force"]);
    let (code, printed, shown) = at_a_terminal(prune(), "n\n");
    assert_eq!((code, printed.as_str()), (1, ""), "{shown}");
    let asked = "entries 0 to 255 will be removed with their content; this cannot be undone. Continue? [y/N] ";
    assert!(shown.starts_with(asked), "{shown}");
    assert!(ledger.good(&["show", "1"]).contains("request"), "all is there");
    let (code, printed, shown) = at_a_terminal(prune(), "Y\n");
    assert_eq!(code, 0, "{shown}");
    assert!(printed.starts_with("removed 256 entries below 256"), "{printed}");
    assert_eq!(ledger.code(&["show", "1"]), 2);
    assert_eq!(ledger.code(&["verify"]), 0);
}
