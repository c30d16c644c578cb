//! Tests every help text at three widths, the completions and the manual pages.

use crate::program::{program, run, told};

pub(crate) const COMMANDS: [&[&str]; 47] = [
    &[],
    &["check"],
    &["call"],
    &["replay"],
    &["convert"],
    &["show"],
    &["wrap"],
    &["link"],
    &["watch"],
    &["inbox"],
    &["inbox", "list"],
    &["inbox", "show"],
    &["inbox", "approve"],
    &["inbox", "modify"],
    &["inbox", "reject"],
    &["inbox", "respond"],
    &["inbox", "defer"],
    &["init"],
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
    &["ledger", "stats"],
    &["validate"],
    &["validate", "date-range"],
    &["validate", "email"],
    &["validate", "password"],
    &["lock"],
    &["lock", "write"],
    &["lock", "verify"],
    &["serve"],
    &["doctor"],
    &["trust"],
    &["tools"],
    &["schema"],
    &["explain"],
    &["completions"],
    &["man"],
];

#[test]
fn every_command_helps_at_three_widths() {
    for command in COMMANDS {
        for width in ["60", "80", "120"] {
            let output =
                program(".").args(command).arg("--help").env("COLUMNS", width).output().unwrap();
            let name = if command.is_empty() { "answerback".to_owned() } else { command.join("-") };
            insta::assert_snapshot!(format!("{name}-help-{width}"), told(&output));
        }
    }
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
