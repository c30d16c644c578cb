//! Tests the help texts, the completions and the manual pages.

use crate::program::{program, run, told};

/// The commands by subject. The help texts of one subject share a snapshot, because they share options.
const SUBJECTS: [(&str, &[&[&str]]); 6] = [
    ("program", &[&[], &["completions"], &["man"]]),
    (
        "documents",
        &[
            &["check"],
            &["convert"],
            &["show"],
            &["validate"],
            &["validate", "date-range"],
            &["validate", "email"],
            &["validate", "password"],
            &["lock"],
            &["lock", "write"],
            &["lock", "verify"],
            &["schema"],
            &["explain"],
        ],
    ),
    ("calls", &[&["call"], &["replay"]]),
    (
        "gateway",
        &[&["wrap"], &["serve"], &["doctor"], &["link"], &["init"], &["trust"], &["tools"]],
    ),
    (
        "inbox",
        &[
            &["inbox"],
            &["inbox", "list"],
            &["inbox", "show"],
            &["inbox", "approve"],
            &["inbox", "modify"],
            &["inbox", "reject"],
            &["inbox", "respond"],
            &["inbox", "defer"],
            &["watch"],
        ],
    ),
    (
        "ledger",
        &[
            &["ledger"],
            &["ledger", "record"],
            &["ledger", "show"],
            &["ledger", "tail"],
            &["ledger", "search"],
            &["ledger", "verify"],
            &["ledger", "prove"],
            &["ledger", "checkpoint"],
            &["ledger", "export"],
            &["ledger", "erase"],
            &["ledger", "prune"],
            &["ledger", "rotate"],
            &["ledger", "migrate"],
            &["ledger", "adopt"],
            &["ledger", "stats"],
        ],
    ),
];

/// Returns every command of the program.
pub(crate) fn commands() -> impl Iterator<Item = &'static &'static [&'static str]> {
    SUBJECTS.iter().flat_map(|(_, commands)| *commands)
}

fn help(command: &[&str], width: &str) -> String {
    told(&program(".").args(command).arg("--help").env("COLUMNS", width).output().unwrap())
}

#[test]
fn every_command_has_a_help_text() {
    for (subject, commands) in SUBJECTS {
        let texts: Vec<String> = commands
            .iter()
            .map(|command| {
                let words = [&["answerback"][..], command, &["--help"]].concat().join(" ");
                format!("$ {words}\n{}", help(command, "100"))
            })
            .collect();
        insta::assert_snapshot!(format!("help-{subject}"), texts.join("\n\n"));
    }
}

#[test]
fn help_fits_a_narrow_terminal() {
    let text = help(&["convert"], "60");
    insta::assert_snapshot!("help-narrow", text);
}

#[test]
fn help_is_a_command_too() {
    for command in [&[][..], &["check"], &["ledger", "verify"]] {
        let asked = run(".", &[&["help"], command].concat());
        assert_eq!(told(&asked), told(&run(".", &[command, &["--help"]].concat())));
    }
}

#[test]
fn wrong_usage_says_what_is_right() {
    for (name, arguments) in [
        ("no-command", &[][..]),
        ("unknown-command", &["chekc"]),
        ("no-file", &["check"]),
        ("unknown-contract", &["check", "--as", "toll", "x.json"]),
        ("unknown-target", &["convert", "--to", "html", "x.json"]),
        ("bad-tool", &["convert", "--to", "tool", "--tool", "nameless", "x.json"]),
        ("agent-without-lock", &["convert", "--to", "governed", "--agent", "a", "x.json"]),
        ("modify-no-object", &["inbox", "modify", "01a3185c", "not json"]),
        ("no-manifest", &["lock", "verify"]),
        ("bad-depth", &["check", "--max-depth", "9999", "x.json"]),
    ] {
        insta::assert_snapshot!(format!("usage-{name}"), told(&run(".", arguments)));
    }
}

#[test]
fn completions_and_manual_pages_are_there() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(".", &["completions", shell]);
        assert!(output.status.success(), "{shell}");
        assert!(String::from_utf8(output.stdout).unwrap().contains("convert"), "{shell}");
    }
    let page = String::from_utf8(run(".", &["man"]).stdout).unwrap();
    assert!(page.starts_with(".ie") || page.starts_with(".TH"), "{page}");
    let folder = std::env::temp_dir().join(format!("answerback-man-{}", std::process::id()));
    let output = program(".").args(["man", "--dir"]).arg(&folder).output().unwrap();
    assert!(output.status.success());
    assert!(folder.join("answerback-check.1").is_file());
    std::fs::remove_dir_all(folder).unwrap();
}
