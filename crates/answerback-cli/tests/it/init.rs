//! Tests `answerback init`: what it writes, and that it can be undone.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{program, told};

#[test]
fn a_clients_servers_go_through_us_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let state = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp.json");
    let before = json!({
        "theme": "dark",
        "mcpServers": {
            "files": {"command": "npx", "args": ["-y", "server-files"], "env": {"ROOT": "/data"}},
            "remote": {"url": "https://mcp.example.com/mcp"},
        },
    });
    let text = serde_json::to_string_pretty(&before).unwrap() + "\n";
    fs::write(&file, &text).unwrap();
    let init = |options: &[&str]| {
        let mut command = program(".");
        command.args(["init", "--client", "cursor", "--file"]).arg(&file).args(options);
        command.env("XDG_STATE_HOME", state.path());
        command.output().unwrap()
    };
    let shown = init(&["--dry-run"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let shown = String::from_utf8(shown.stdout).unwrap();
    let output = init(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let after: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    // Only the entries that change are shown, without the values of variables.
    let (as_it_is, as_it_would_be) =
        shown.strip_prefix("--- files\n").unwrap().split_once("+++ files\n").unwrap();
    for (entry, document) in [(as_it_is, &before), (as_it_would_be, &after)] {
        let entry: Value = serde_json::from_str(&format!("{{{entry}}}")).unwrap();
        let mut expected = document["mcpServers"]["files"].clone();
        expected["env"]["ROOT"] = json!("[hidden]");
        assert_eq!(entry, json!({ "files": expected }));
    }
    let server = &after["mcpServers"]["files"];
    assert_eq!(
        server["args"],
        json!(["wrap", "--name", "files", "--", "npx", "-y", "server-files"])
    );
    assert_eq!(server["env"], json!({"ROOT": "/data"}));
    assert_eq!(after["mcpServers"]["remote"], before["mcpServers"]["remote"]);
    // A second run changes nothing, and undoing restores the file.
    let rewritten = fs::read_to_string(&file).unwrap();
    init(&[]);
    assert_eq!(fs::read_to_string(&file).unwrap(), rewritten);
    assert_eq!(init(&["--undo"]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    assert_eq!(files(folder.path()), ["mcp.json"]);
    assert_eq!(backups(state.path()), [""; 0], "what was kept of it is done with");
}

/// Returns the backups of clients' configurations.
fn backups(state: &Path) -> Vec<String> {
    files(&state.join("answerback/clients"))
}

/// A client's configuration contains tokens, so neither the backup nor the output may show them to others.
#[cfg(unix)]
#[test]
fn a_copy_is_for_the_user_alone_and_tokens_are_not_printed() {
    use std::os::unix::fs::PermissionsExt;

    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = folder.path().join("mcp.json");
    let token = "ordinary-words-as-a-token";
    let entry = json!({"command": "x", "env": {"T": token}, "headers": {"H": token}});
    fs::write(&file, json!({"mcpServers": {"a": entry}}).to_string()).unwrap();
    for mode in [0o600, 0o640] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let init = |options: &[&str]| {
            let mut command = program(".");
            command.args(["init", "--client", "cursor", "--file"]).arg(&file).args(options);
            command.env("XDG_STATE_HOME", state.path());
            let told = told(&command.output().unwrap());
            assert!(told.contains("exit: 0") && !told.contains(token), "{told}");
        };
        let mode_of = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        init(&["--dry-run"]);
        init(&[]);
        let kept = backups(state.path());
        let [kept] = kept.as_slice() else { panic!("{kept:?}") };
        let clients = state.path().join("answerback/clients");
        assert_eq!(mode_of(&clients.join(kept)), 0o600);
        assert_eq!(mode_of(&clients), 0o700);
        assert_eq!(mode_of(&file), mode);
        assert_eq!(files(folder.path()), ["mcp.json"], "a project's folder is shared");
        init(&["--undo"]);
        assert_eq!(mode_of(&file), mode);
        assert_eq!(backups(state.path()), [""; 0]);
    }
}

fn files(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
    let mut names: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// A backup of another state is left in place and named.
#[test]
fn undoing_leaves_what_it_did_not_restore() {
    let folder = tempfile::tempdir().unwrap();
    let state = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp.json");
    let text = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
    fs::write(&file, text).unwrap();
    fs::write(folder.path().join("mcp.json.before-answerback"), "{}").unwrap();
    let init = |options: &[&str]| {
        let mut command = program(".");
        command.args(["init", "--client", "cursor", "--file"]).arg(&file).args(options);
        command.env("XDG_STATE_HOME", state.path());
        told(&command.output().unwrap())
    };
    init(&[]);
    let told = init(&["--undo"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), text, "{told}");
    assert_eq!(files(folder.path()), ["mcp.json", "mcp.json.before-answerback"]);
    assert!(told.contains("mcp.json.before-answerback has other content"), "{told}");
}

/// Undoing restores the file byte by byte, whatever its formatting, unless it was edited in the meantime.
#[test]
fn undoing_restores_the_file_to_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    let state = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp.json");
    let init = |options: &[&str]| {
        let mut command = program(".");
        command.args(["init", "--client", "cursor", "--file"]).arg(&file).args(options);
        command.env("XDG_STATE_HOME", state.path());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        fs::read_to_string(&file).unwrap()
    };
    let text = "{\"mcpServers\":\r\n\t{\"bare\": {\"command\":\"a\"}, \"empty\": {\"args\":[], \"command\":\"b\"},\r\n\t\"n\": {\"command\":\"c\",\"args\":[\"-x\"],\"timeout\":1.50}}}";
    fs::write(&file, text).unwrap();
    for _ in 0..2 {
        assert!(init(&[]).contains("\"wrap\""));
        assert_eq!(init(&["--undo"]), text);
    }
    // Edits in the meantime are preserved.
    let edited = init(&[]).replace("1.5", "2.5");
    fs::write(&file, edited).unwrap();
    let undone: Value = serde_json::from_str(&init(&["--undo"])).unwrap();
    assert_eq!(files(folder.path()), ["mcp.json"]);
    let kept = backups(state.path());
    assert!(kept[0].ends_with("-mcp.json.before-answerback"), "{kept:?}");
    assert!(kept[1].ends_with("-mcp.json.before-answerback.1") && kept.len() == 2, "{kept:?}");
    let first = state.path().join("answerback/clients").join(&kept[0]);
    assert_eq!(fs::read_to_string(first).unwrap(), text);
    let expected = json!({"mcpServers": {"bare": {"command": "a"}, "empty": {"command": "b"}, "n": {"command": "c", "args": ["-x"], "timeout": 2.5}}});
    assert_eq!(undone, expected);
}

#[test]
fn what_cannot_be_rewritten_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp.json");
    for (text, expected) in [
        ("{ // a comment\n}", "is not plain JSON"),
        // The message shows how to make the change by hand.
        ("{ // a comment\n}", r#""args":["wrap","--name","NAME","--","COMMAND","ARGUMENT"]"#),
        // Rewriting the file would lose one of the two.
        (
            r#"{"mcpServers": {"b": {"command": "x"}, "b": {"command": "y"}}}"#,
            "contains /mcpServers/b twice",
        ),
        ("{}", "has no \"mcpServers\""),
        (r#"{"mcpServers": {"a": {"command": "x"}}}"#, "has no server \"b\"; it has a"),
    ] {
        fs::write(&file, text).unwrap();
        let mut command = program(".");
        command.args(["init", "--client", "cursor", "--only", "b", "--file"]).arg(&file);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(errors.contains(expected), "{errors}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn a_configuration_is_written_once_and_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let init = || program(".").current_dir(folder.path()).arg("init").output().unwrap();
    let output = init();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let again = init();
    assert_eq!(again.status.code(), Some(2));
    assert!(told(&again).contains("`answerback init --dry-run` prints"), "{}", told(&again));
    let mut shown = program(".");
    let shown = shown.current_dir(folder.path()).args(["init", "--dry-run"]).output().unwrap();
    assert_eq!((shown.status.code(), shown.stdout.is_empty()), (Some(0), false));
    let file = folder.path().join(".agent/config.yml");
    // Without the comment marks, every setting in the file is read without a warning.
    let text = fs::read_to_string(&file).unwrap();
    let (header, settings) = text.split_once("\n\n").unwrap();
    assert!(header.lines().all(|line| line.starts_with('#')));
    let settings: String = settings
        .lines()
        .map(|line| {
            let at = line.find(|character: char| !character.is_whitespace()).unwrap_or(0);
            let rest = line[at..].strip_prefix("# ").unwrap_or(&line[at..]);
            format!("{}{rest}\n", &line[..at])
        })
        .collect();
    fs::write(&file, settings).unwrap();
    let mut command = program(".");
    command.current_dir(folder.path()).args([
        "call",
        "--tool",
        "a",
        "--schema",
        "-",
        "--config",
        ".agent/config.yml",
        "{}",
    ]);
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"{}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
