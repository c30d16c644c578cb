//! Tests `answerback inbox` from outside: decisions without a terminal, and their record.

use std::fs;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::original::decide;
use crate::program::told;
use crate::prompt::{at_a_terminal, in_columns};
use crate::wrap::{Desk, text};

/// A user name that an agent's shell could set to imitate another user.
const SOMEBODY_ELSE: &str = "somebody-else";

/// An environment with a waiting case, and the tokens of its configuration.
struct Inbox {
    desk: Desk,
    config: String,
    case: String,
}

impl Inbox {
    /// Token files are created as `serve` creates them: readable only by this user.
    fn with_tokens(tokens: &str) -> Self {
        let desk = Desk::new();
        let config = desk.config(&format!("gateway:\n  tokens: {tokens}\n"));
        let mut client = desk.client(&["--config", &config]);
        for _ in 0..3 {
            client.call("count", json!({"n": 0}));
        }
        client.leave();
        let listed = desk.good(&["inbox", "list", "--format", "json", "--config", &config]);
        let case: Value = serde_json::from_str(listed.trim()).unwrap();
        Self { case: case["case"]["id"].as_str().unwrap().to_owned(), desk, config }
    }

    fn token(&self, file: &str, text: &str) -> String {
        let path = self.desk.path(file);
        fs::write(&path, text).unwrap();
        private(&path, 0o600);
        path.to_str().unwrap().to_owned()
    }

    /// Decides like a program, without a terminal.
    fn respond(&self, options: &[&str], token: Option<&str>) -> Output {
        let mut command = self.command();
        command.args(options);
        if let Some(token) = token {
            command.env("ANSWERBACK_TOKEN", token);
        }
        command.output().unwrap()
    }

    fn command(&self) -> Command {
        let mut command = self.desk.command();
        command.env_remove("ANSWERBACK_TOKEN").env("USER", SOMEBODY_ELSE);
        command.args(["inbox", "respond", &self.case, "count from one", "--config", &self.config]);
        command
    }

    /// Returns the recorded decision.
    fn recorded(&self) -> Option<Value> {
        self.desk.decision(&["--config", &self.config])
    }
}

fn private(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Returns a self-made token: one letter repeated, except the last character, which has two unused bits.
fn token(letter: char) -> String {
    format!("ab_{}A\n", letter.to_string().repeat(42))
}

/// Asserts that nothing was decided, and checks the error message.
fn is_refused(inbox: &Inbox, output: &Output, code: i32, said: &str) {
    let folder = inbox.desk.path("").to_str().unwrap().trim_end_matches('/').to_owned();
    let told = told(output).replace(&folder, "FOLDER");
    assert_eq!(
        told,
        format!("exit: {code}\n----- stdout -----\n----- stderr -----\nerror: {said}\n")
    );
    assert_eq!(inbox.recorded(), None);
}

#[test]
fn a_program_without_a_token_does_not_decide() {
    let inbox = Inbox::with_tokens("{desk: {scopes: [decide], file: desk.token}}");
    let said = "only a person may decide: run this in a terminal, or give a token with the scope decide in \
                $ANSWERBACK_TOKEN or with --token-file FILE";
    is_refused(&inbox, &inbox.respond(&[], None), 2, said);
    is_refused(&inbox, &inbox.respond(&[], Some("")), 2, said);
    let said = "the environment variable ANSWERBACK_TOKEN does not contain a token: not a token: ab_ and 43 characters of base64url";
    is_refused(&inbox, &inbox.respond(&[], Some("hunter2")), 2, said);
    // Deciding must not create a token file that could be used later.
    let output = inbox.respond(&["--token-file", "desk.token"], None);
    is_refused(&inbox, &output, 2, "the file desk.token does not exist");
    assert!(!inbox.desk.path("desk.token").exists());
}

#[test]
fn a_token_that_may_not_decide_is_refused() {
    let inbox = Inbox::with_tokens("{desk: {scopes: [read, admin], file: desk.token}}");
    inbox.token("desk.token", &token('d'));
    let said = "the token of desk may not decide, because it has only the scopes read, admin; grant the scope decide in \
                gateway.tokens of the configuration";
    is_refused(&inbox, &inbox.respond(&[], Some(&token('d'))), 1, said);
    inbox.token("serve.token", &token('s'));
    let said = said.replace("desk", "local").replace("read, admin", "call, ingest, read");
    let output = inbox.respond(&["--token-file", "serve.token"], None);
    is_refused(&inbox, &output, 1, &said);
}

#[test]
fn a_token_that_was_taken_back_is_refused() {
    let inbox = Inbox::with_tokens("{desk: {scopes: [decide], file: desk.token}}");
    let unknown = "the token is unknown: it is not in gateway.tokens of the configuration, or was removed; add it there, or use another";
    inbox.token("desk.token", &token('e'));
    is_refused(&inbox, &inbox.respond(&[], Some(&token('d'))), 1, unknown);
    // Other users could have read the token, so it is rejected.
    private(&inbox.desk.path("desk.token"), 0o644);
    let output = inbox.respond(&[], Some(&token('e')));
    let said = "gateway.tokens.desk: others can read or write FOLDER/desk.token; change it with: chmod 600 \
                FOLDER/desk.token";
    is_refused(&inbox, &output, 2, said);
    private(&inbox.desk.path("desk.token"), 0o600);
    inbox.desk.config("gateway: {}\n");
    let output = inbox.respond(&["--token-file", "desk.token"], None);
    is_refused(&inbox, &output, 1, unknown);
}

#[test]
fn a_configuration_that_nobody_trusts_grants_nothing() {
    let inbox = Inbox::with_tokens("{desk: {scopes: [decide], file: desk.token}}");
    let file = inbox.token("desk.token", &token('d'));
    let mut command = inbox.desk.command();
    command.args(["inbox", "reject", &inbox.case, "--store", "ledger.db", "--token-file", &file]);
    let output = command.env("ANSWERBACK_CONFIG", &inbox.config).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(
        told(&output).contains("is not trusted, so it does not set gateway"),
        "{}",
        told(&output)
    );
    assert_eq!(inbox.recorded(), None);
}

#[test]
fn a_decision_by_token_says_so() {
    let tokens =
        "{desk: {scopes: [decide], file: desk.token}, away: {scopes: [decide], env: AWAY}}";
    for by_file in [true, false] {
        let inbox = Inbox::with_tokens(tokens);
        let file = inbox.token("desk.token", &token('d'));
        let decided = if by_file {
            inbox.respond(&["--token-file", &file], None)
        } else {
            inbox.respond(&[], Some(&token('d')))
        };
        assert_eq!(decided.status.code(), Some(0), "{}", told(&decided));
        let recorded = inbox.recorded().unwrap();
        assert_eq!(recorded["surface"], "token", "{recorded}");
        assert_eq!(recorded["by"], "desk", "{recorded}");
        assert_eq!(recorded["decision"]["message"], "count from one", "{recorded}");
        is_this_user(&recorded["os_user"]);
        let verified = ["ledger", "verify", "--config", &inbox.config];
        inbox.desk.good(&verified);
    }
}

#[test]
fn a_decision_at_a_terminal_says_so() {
    let inbox = Inbox::with_tokens("{}");
    let mut command = inbox.command();
    // A token for another purpose does not prevent a person from deciding.
    command.env("ANSWERBACK_TOKEN", token('x'));
    let (code, _, shown) = at_a_terminal(command, "");
    assert_eq!(code, 0, "{shown}");
    let recorded = inbox.recorded().unwrap();
    assert_eq!(recorded["surface"], "terminal", "{recorded}");
    assert_eq!(recorded["by"], recorded["os_user"], "{recorded}");
    is_this_user(&recorded["os_user"]);
}

#[test]
fn what_is_printed_to_paste_has_the_token_and_fits_a_narrow_terminal() {
    let inbox = Inbox::with_tokens("{desk: {scopes: [decide], file: desk.token}}");
    let file = inbox.token("desk.token", &token('d'));
    let options = ["--config", &inbox.config, "--token-file", &file];
    let shown = inbox.desk.good(&[&["inbox", "show", &inbox.case], &options[..]].concat());
    let reject = format!(
        "    answerback inbox reject {} --config {} --token-file {file}\n",
        inbox.case, inbox.config
    );
    assert!(shown.contains(&reject), "{shown}");
    let missing = [&["inbox", "show", "ffff"], &options[..]].concat();
    let missing = told(&inbox.desk.command().args(missing).output().unwrap());
    let list = format!("inbox list --all --config {} --token-file {file}`", inbox.config);
    assert!(missing.contains(&list), "{missing}");
    let mut command = inbox.desk.command();
    command.args(["inbox", "list", "--config", &inbox.config]);
    let lines = in_columns(command, 40);
    assert!(lines[0].starts_with(&inbox.case), "{lines:?}");
    assert!(lines.iter().all(|line| line.chars().count() <= 40), "{lines:?}");
    assert!(lines.join(" ").contains("3 attempts"), "{lines:?}");
}

/// Asserts that the user comes from the system and not from an environment variable.
fn is_this_user(user: &Value) {
    let user = user.as_str().unwrap();
    let id = format!("uid {}", rustix::process::getuid().as_raw());
    assert!(user.contains(&id) && !user.contains(SOMEBODY_ELSE), "{user}");
}

/// The call is no longer open, so the model gets the correction with its next call, and nothing else.
#[test]
fn a_correction_is_all_that_the_next_wrong_call_is_told() {
    let desk = Desk::new();
    let mut client = desk.client(&[]);
    let wrong = json!({"n": "three"});
    let last = (0..3).map(|_| client.call("count", wrong.clone())).last().unwrap();
    assert!(text(&last).contains("waits for a person in the inbox"), "{last}");
    let listed = desk.good(&["inbox", "list", "--format", "json"]);
    let case: Value = serde_json::from_str(listed.trim()).unwrap();
    let case = case["case"]["id"].as_str().unwrap();
    let (code, told) = decide(&desk, &["modify", case, r#"{"n": 4}"#]);
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("they run when the model sends them"), "{told}");
    for _ in 0..2 {
        let answer = client.call("count", wrong.clone());
        assert_eq!(
            text(&answer),
            "The call did not run. A person corrected it: call the tool 'count' again with exactly these arguments.\n\n\
             {\"n\":4}"
        );
    }
    assert!(desk.reached().is_empty());
    let answer = client.call("count", json!({"n": 4}));
    assert_eq!(text(&answer), "4 kg", "{answer}");
    assert!(!answer.to_string().contains("A person"), "{answer}");
    client.leave();
    desk.good(&["ledger", "verify"]);
}
