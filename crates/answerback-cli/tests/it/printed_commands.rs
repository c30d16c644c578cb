//! Tests that every command that the program prints can be pasted into a shell as it is.
//!
//! A command may fail because of the situation, such as a decision without a terminal. It may not fail because of its
//! own words, and it must find the ledger that the message is about.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::help;
use crate::program::{program, told};
use crate::wrap::{Desk, text};

/// The time after which a command that serves is ended. Its words were right, or it would have ended.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the commands that a text names, in the order in which they are printed.
fn commands(text: &str) -> Vec<String> {
    let text = text.replace("\\`", "`");
    let mut found = Vec::new();
    for (at, _) in text.match_indices("answerback ") {
        let rest = &text[at..];
        let line = rest.lines().next().unwrap_or_default();
        let before = text[..at].chars().next_back();
        let written = match before {
            Some('`') => line.split('`').next(),
            // The command of a rule, which has no quotes of its own.
            Some('\'') => line.split('\'').next(),
            Some('(') => line.rfind(')').map(|end| &line[..end]),
            Some(' ' | '\n') | None => Some(line),
            Some(_) => None,
        };
        let Some(written) = written else { continue };
        let written = written.trim_end_matches(['.', ',']).split(" | ").next().unwrap_or_default();
        let name = written.split_whitespace().nth(1).unwrap_or_default();
        if help::commands().any(|command| command.first() == Some(&name)) {
            found.push(written.to_owned());
        }
    }
    found
}

/// Replaces the placeholders, which are words in capitals.
fn filled_in(command: &str, file: &str) -> String {
    let words = command.split(' ').map(|word| match word {
        "FILE" => file,
        "NAME" => "cursor",
        "CODE" => "VAL-001",
        "CONTRACT" => "ui",
        word => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Runs a command in a shell, and returns what it writes to standard error.
fn run(command: &Command, line: &str, folder: &Path) -> String {
    let program = Path::new(command.get_program()).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).env("PATH", format!("{}:{path}", program.display()));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let errors = folder.join("printed-command.stderr");
    shell.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
    shell.stderr(fs::File::create(&errors).unwrap()).process_group(0);
    let mut child = shell.spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            let group = rustix::process::Pid::from_child(&child);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
            child.wait().unwrap();
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    fs::read_to_string(errors).unwrap()
}

/// Asserts that every command of a text works, from a folder that is not the one where it was printed.
fn assert_commands_work(desk: &Desk, text: &str) -> usize {
    let elsewhere = desk.path("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(elsewhere.join("reply.json"), "{}").unwrap();
    let found = commands(text);
    for command in &found {
        let line = filled_in(command, "reply.json");
        let errors = run(&desk.command(), &line, &elsewhere);
        for wrong in ["try '--help'", "there is no ledger", "there is no case", "not found"] {
            assert!(!errors.contains(wrong), "{command}\n{errors}\nprinted by\n{text}");
        }
    }
    found.len()
}

/// Returns what a command prints on both streams.
fn printed(desk: &Desk, arguments: &[&str]) -> String {
    told(&desk.command().args(arguments).output().unwrap())
}

/// Blocks a tool, and returns everything that is printed about it and its ledger.
fn printed_about_a_case(desk: &Desk, options: &[&str]) -> String {
    let mut client = desk.client(options);
    let mut said = String::new();
    for _ in 0..4 {
        text(&client.call("count", json!({"n": 0}))).clone_into(&mut said);
    }
    assert!(said.contains("answerback inbox show"), "{said}");
    said += &client.leave().1;
    let show = commands(&said)[0].clone();
    let case = show.split(' ').nth(3).unwrap().to_owned();
    for command in [
        &["inbox", "list"][..],
        &["inbox", "show", &case],
        &["inbox", "show", "00000000"],
        &["ledger", "stats"],
        &["doctor"],
    ] {
        said += &printed(desk, &[command, options].concat());
    }
    said
}

#[test]
fn commands_about_a_case_find_its_ledger() {
    let desk = Desk::new();
    let said = printed_about_a_case(&desk, &[]);
    assert!(assert_commands_work(&desk, &said) >= 5, "{said}");

    let desk = Desk::new();
    let store = desk.path("a store, of 'mine'.db");
    let said = printed_about_a_case(&desk, &["--store", store.to_str().unwrap()]);
    assert!(assert_commands_work(&desk, &said) >= 5, "{said}");

    let desk = Desk::new();
    fs::create_dir_all(desk.path("a folder")).unwrap();
    let config = desk.path("a folder/config.yml");
    fs::write(&config, "store: team.db\n").unwrap();
    let said = printed_about_a_case(&desk, &["--config", config.to_str().unwrap()]);
    assert!(assert_commands_work(&desk, &said) >= 5, "{said}");
}

#[test]
fn commands_of_errors_work() {
    let desk = Desk::new();
    let mut said = String::new();
    for arguments in [
        &["ledger", "stats"][..],
        &["inbox", "list"],
        &["link"],
        &["watch", "nothing"],
        &["doctor"],
        &["explain"],
        &["explain", "NOTHING-1"],
        &["explain", "LOCK-103"],
        &["tools"],
    ] {
        said += &printed(&desk, arguments);
    }
    // A configuration of another program, and one that is found and not trusted.
    desk.config("mcpServers: {a: {command: x}}\n");
    said += &printed(&desk, &["doctor", "--config", "config.yml"]);
    fs::create_dir_all(desk.path("its project/.agent")).unwrap();
    fs::write(desk.path("its project/.agent/config.yml"), "store: team.db\n").unwrap();
    for arguments in [["ledger", "stats"], ["inbox", "list"]] {
        let mut command = desk.command();
        command.args(arguments).current_dir(desk.path("its project"));
        said += &told(&command.output().unwrap());
    }
    assert!(said.contains("answerback trust '"), "{said}");
    // These messages are about a ledger that is not there, so a command may report the same.
    let elsewhere = desk.path("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(elsewhere.join("reply.json"), "{}").unwrap();
    let found = commands(&said);
    assert!(found.len() >= 6, "{found:#?}\n{said}");
    for command in found {
        let errors = run(&desk.command(), &filled_in(&command, "reply.json"), &elsewhere);
        assert!(!errors.contains("try '--help'"), "{command}\n{errors}");
        assert!(!errors.contains("there is no file"), "{command}\n{errors}");
    }
}

#[test]
fn commands_about_a_store_that_was_rolled_back_find_it() {
    let desk = Desk::new();
    let store = desk.path("my store.db");
    let options = ["--store", store.to_str().unwrap()];
    let reply = desk.path("reply.json");
    fs::write(&reply, r#"{"schema_id": "dotbot-mcp-response@1"}"#).unwrap();
    let record = [&["ledger", "record", reply.to_str().unwrap()], &options[..]].concat();
    printed(&desk, &record);
    let old = desk.path("old.db");
    desk.good(
        &[&["ledger", "export", "--to", desk.path("x").to_str().unwrap()], &options[..]].concat(),
    );
    fs::copy(&store, &old).unwrap();
    fs::write(&reply, r#"{"schema_id": "dotbot-mcp-response@1", "tool": "other"}"#).unwrap();
    printed(&desk, &record);
    fs::copy(&old, &store).unwrap();
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", store.display()));
    }
    let mut said = printed(&desk, &record);
    said += &printed(&desk, &[&["ledger", "stats"], &options[..]].concat());
    said += &printed(&desk, &[&["doctor"], &options[..]].concat());
    assert!(said.contains("answerback ledger adopt --store"), "{said}");
    assert!(assert_commands_work(&desk, &said) >= 2, "{said}");
}

#[test]
fn examples_of_help_texts_have_the_right_words() {
    let desk = Desk::new();
    let folder = desk.path("elsewhere");
    fs::create_dir_all(&folder).unwrap();
    let mut count = 0;
    for command in help::commands() {
        let output =
            program(".").args(*command).arg("--help").env("COLUMNS", "200").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let Some((_, examples)) = text.split_once("Examples:\n") else { continue };
        for example in examples.lines().map_while(|line| line.strip_prefix("  ")) {
            // An example may end in a pipe or be an argument of another program.
            let Some(at) = example.find("answerback ") else { continue };
            let line = example[at..].split(" | ").next().unwrap().trim_end_matches([')', '"']);
            // A description may stand next to the example, and `KEY` stands for a key.
            let line = line.split("  ").next().unwrap();
            let errors = run(&desk.command(), line, &folder);
            let is_wrong =
                errors.contains("try '--help'") && !errors.contains("invalid value 'KEY'");
            assert!(!is_wrong, "{example}\n{errors}");
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}
