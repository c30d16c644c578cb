//! `answerback init`: writes a commented configuration, or rewrites a client's configuration to go through `wrap`.

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use answerback::finding::secrets;
use answerback::json;
use anyhow::{Context, bail};
use clap::ValueEnum;
use serde_json::{Map, Value, json};

use crate::atomic_replace::replace;
use crate::exit::Exit;
use crate::output::{ClosableOutput, quiet_json, sanitise, say};
use crate::user_folders;

/// The file that `init` writes.
const CONFIGURATION: &str = ".agent/config.yml";
/// The content of that file.
const COMMENTED: &str = include_str!("init/config.yml");

/// The placeholder for the value of a variable or a header.
const HIDDEN: &str = "[hidden]";
/// Options of common programs that set a variable or a header.
const ASSIGNING: [&str; 4] = ["-e", "--env", "-H", "--header"];

/// Write a commented configuration, or put Answerback in front of a client's MCP servers
///
/// Without --client it writes .agent/config.yml here, with every setting explained. With it, the client's
/// configuration is rewritten: each server that is a command is started through `answerback wrap`. --undo restores the
/// file. Until then the user's state directory has a copy of the original, which only the user can read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback init
  answerback init --client claude-desktop --dry-run
  answerback init --client cursor
  answerback init --client cursor --undo
  answerback init --client vscode --file .vscode/mcp.json")]
pub(crate) struct Arguments {
    /// The client whose configuration to rewrite
    #[arg(long, value_enum, value_name = "NAME")]
    client: Option<ClientName>,

    /// The client's configuration file, if it is not in the default location
    #[arg(long, value_name = "FILE", requires = "client")]
    file: Option<PathBuf>,

    /// Only this server; may be given several times
    #[arg(long, value_name = "SERVER", requires = "client")]
    only: Vec<String>,

    /// Undo the rewriting
    #[arg(long, requires = "client")]
    undo: bool,

    /// Print what would be written, and change nothing. For a client's file, print the changed entries before and after,
    /// without the values of variables and headers
    #[arg(long)]
    dry_run: bool,
}

/// A client whose configuration we know.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum ClientName {
    /// Claude Desktop
    ClaudeDesktop,
    /// Claude Code: .mcp.json of this project
    ClaudeCode,
    /// Cursor: the user's mcp.json
    Cursor,
    /// VS Code: .vscode/mcp.json of this project
    Vscode,
    /// Windsurf
    Windsurf,
    /// Gemini CLI: the user's settings.json
    GeminiCli,
}

impl ClientName {
    /// Returns the usual path of the client's configuration.
    fn file(self) -> Option<PathBuf> {
        let home = || env::var_os("HOME").or_else(|| env::var_os("USERPROFILE")).map(PathBuf::from);
        match self {
            Self::ClaudeDesktop => {
                let folder = if cfg!(target_os = "macos") {
                    home()?.join("Library/Application Support")
                } else if cfg!(windows) {
                    PathBuf::from(env::var_os("APPDATA")?)
                } else {
                    let named = env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty());
                    named.map(PathBuf::from).or_else(|| Some(home()?.join(".config")))?
                };
                Some(folder.join("Claude/claude_desktop_config.json"))
            }
            Self::ClaudeCode => Some(PathBuf::from(".mcp.json")),
            Self::Cursor => Some(home()?.join(".cursor/mcp.json")),
            Self::Vscode => Some(PathBuf::from(".vscode/mcp.json")),
            Self::Windsurf => Some(home()?.join(".codeium/windsurf/mcp_config.json")),
            Self::GeminiCli => Some(home()?.join(".gemini/settings.json")),
        }
    }

    /// Returns the member that contains the client's servers.
    const fn servers(self) -> &'static str {
        match self {
            Self::Vscode => "servers",
            _ => "mcpServers",
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    match arguments.client {
        None => write_configuration(arguments.dry_run),
        Some(client) => rewrite(client, arguments),
    }
}

fn write_configuration(dry_run: bool) -> anyhow::Result<Exit> {
    if dry_run {
        ClosableOutput::new(anstream::stdout()).write_all(COMMENTED.as_bytes())?;
        return Ok(Exit::Good);
    }
    let path = Path::new(CONFIGURATION);
    if path.exists() {
        bail!(
            "{CONFIGURATION} already exists and was not changed; `answerback init --dry-run` prints a new one"
        );
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    replace(path, COMMENTED.as_bytes()).with_context(|| format!("cannot write {CONFIGURATION}"))?;
    say(&format!(
        "{CONFIGURATION} is written; every setting in it is commented out and at its default"
    ));
    Ok(Exit::Good)
}

fn rewrite(client: ClientName, arguments: &Arguments) -> anyhow::Result<Exit> {
    let path = arguments.file.clone().or_else(|| client.file()).context(
        "the home directory is unknown; name the client's configuration with --file FILE",
    )?;
    let shown = path.display();
    let text = fs::read_to_string(&path)
        .with_context(|| format!("cannot read {shown}; name another file with --file FILE"))?;
    let me = env::current_exe().context("cannot find the path of this program")?;
    let me = me.to_string_lossy().into_owned();
    let mut document: Value = serde_json::from_str(&text).with_context(|| {
        let line = json!({"command": me, "args": ["wrap", "--name", "NAME", "--", "COMMAND", "ARGUMENT"]});
        format!(
            "{shown} is not plain JSON and was not changed, because rewriting would remove comments; write for each \
             server that is a command: {line}"
        )
    })?;
    // If a name occurred twice, rewriting would keep only one of the two.
    if let Some(repeated) = repeated(&text) {
        bail!("{shown} contains {repeated} twice; remove one of the two");
    }
    let servers = document.get_mut(client.servers()).and_then(Value::as_object_mut);
    let servers = servers.with_context(|| format!("{shown} has no {:?}", client.servers()))?;
    for name in &arguments.only {
        if !servers.contains_key(name) {
            let names: Vec<&str> = servers.keys().map(String::as_str).collect();
            bail!("{shown} has no server {name:?}; it has {}", names.join(", "));
        }
    }
    let mut changes = String::new();
    for (name, server) in servers {
        if !arguments.only.is_empty() && !arguments.only.contains(name) {
            continue;
        }
        let before = server.clone();
        let done = server.as_object_mut().map_or(ConfigChange::NoCommand, |server| {
            if arguments.undo { unwrapped(server, &me) } else { wrapped(name, server, &me) }
        });
        if done == ConfigChange::Done {
            changes.push_str(&entry("---", name, &before)?);
            changes.push_str(&entry("+++", name, server)?);
        }
        say(&format!("{}: {}", sanitise(name), done.message(arguments.undo)));
    }
    if changes.is_empty() {
        say(&format!("{shown} was not changed"));
        return Ok(Exit::Good);
    }
    if arguments.dry_run {
        ClosableOutput::new(anstream::stdout()).write_all(changes.as_bytes())?;
        say(&format!("{shown} was not changed; without --dry-run it is rewritten like this"));
        return Ok(Exit::Good);
    }
    let original_text = if arguments.undo { original_text(client, &path, &document) } else { None };
    if let Some(original_text) = original_text {
        return restore(&path, &original_text);
    }
    let backups: Vec<String> =
        existing_backups(&path).map(|file| file.display().to_string()).collect();
    let backup = write_backup(&path, &text)?;
    let new = serde_json::to_string_pretty(&document)? + "\n";
    replace(&path, new.as_bytes()).with_context(|| format!("cannot write {shown}"))?;
    say(&format!(
        "{shown} was rewritten; the original is in {}. Restart the client.",
        backup.display()
    ));
    if arguments.undo && !backups.is_empty() {
        say(&format!(
            "The result differs from the original file, so the backups stay: {}",
            backups.join(", ")
        ));
    }
    Ok(Exit::Good)
}

/// Formats an entry below a line with its name. Secrets are left out, because terminals and logs keep their content.
fn entry(mark: &str, name: &str, server: &Value) -> anyhow::Result<String> {
    let key = Value::from(name).to_string();
    let text = format!("{key}: {}", serde_json::to_string_pretty(&without_secrets(server))?);
    Ok(format!("{mark} {}\n{}\n", sanitise(name), quiet_json(&text)))
}

/// Restores the file from before the first rewrite, and removes the backups with the same content.
fn restore(path: &Path, text: &str) -> anyhow::Result<Exit> {
    let shown = path.display();
    replace(path, text.as_bytes()).with_context(|| format!("cannot write {shown}"))?;
    say(&format!("{shown} was restored to its original content. Restart the client."));
    for backup in existing_backups(path) {
        let name = backup.display();
        if fs::read(&backup).is_ok_and(|content| content == text.as_bytes()) {
            fs::remove_file(&backup).with_context(|| format!("cannot remove {name}"))?;
        } else {
            say(&format!(
                "{name} has other content, so it was not removed; remove it if you do not need it"
            ));
        }
    }
    Ok(Exit::Good)
}

/// Returns the place of a duplicate name, if there is one.
fn repeated(text: &str) -> Option<String> {
    let read = json::read(text.as_bytes(), json::Limits::default()).ok()?;
    read.repeated().map(ToString::to_string)
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ConfigChange {
    Done,
    Unchanged,
    NoCommand,
}

impl ConfigChange {
    const fn message(self, undo: bool) -> &'static str {
        match (self, undo) {
            (Self::Done, false) => "goes through answerback",
            (Self::Done, true) => "is started directly again",
            (Self::Unchanged, false) => "already goes through answerback",
            (Self::Unchanged, true) => "does not go through answerback",
            (Self::NoCommand, _) => "is not a command, so it was not changed",
        }
    }
}

/// Puts `wrap` before a server's command.
fn wrapped(name: &str, server: &mut Map<String, Value>, me: &str) -> ConfigChange {
    let Some(command) = server.get("command").and_then(Value::as_str).map(str::to_owned) else {
        return ConfigChange::NoCommand;
    };
    if original(server, me).is_some() {
        return ConfigChange::Unchanged;
    }
    let before = server.get("args").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut arguments =
        vec![json!("wrap"), json!("--name"), json!(name), json!("--"), json!(command)];
    arguments.extend(before);
    server.insert("command".to_owned(), me.into());
    server.insert("args".to_owned(), arguments.into());
    ConfigChange::Done
}

/// Removes `wrap` from a server's command.
fn unwrapped(server: &mut Map<String, Value>, me: &str) -> ConfigChange {
    let Some((command, arguments)) = original(server, me) else { return ConfigChange::Unchanged };
    server.insert("command".to_owned(), command);
    if arguments.is_empty() {
        // A command without arguments needs no empty list.
        server.shift_remove("args");
    } else {
        server.insert("args".to_owned(), arguments.into());
    }
    ConfigChange::Done
}

/// Returns the original text if the file still has the same content. Otherwise the user edited it in the meantime.
fn original_text(client: ClientName, path: &Path, document: &Value) -> Option<String> {
    let texts = existing_backups(path).filter_map(|backup| fs::read_to_string(backup).ok());
    let is_same = |text: &String| {
        let before = serde_json::from_str(text);
        before.is_ok_and(|before: Value| plain(client, &before) == plain(client, document))
    };
    texts.filter(is_same).last()
}

/// Removes empty lists of arguments, so that configurations can be compared.
fn plain(client: ClientName, document: &Value) -> Value {
    let mut document = document.clone();
    let servers = document.get_mut(client.servers()).and_then(Value::as_object_mut);
    for server in servers.into_iter().flatten().filter_map(|(_, it)| it.as_object_mut()) {
        if server.get("args").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            server.shift_remove("args");
        }
    }
    document
}

/// Returns the command and the arguments after `wrap`, if the server goes through this program or another `answerback`.
fn original(server: &Map<String, Value>, me: &str) -> Option<(Value, Vec<Value>)> {
    let command = server.get("command")?.as_str()?;
    let is_ours = command == me || Path::new(command).file_stem()? == "answerback";
    let arguments = server.get("args")?.as_array()?;
    if !is_ours || arguments.first()? != "wrap" {
        return None;
    }
    let behind = arguments.iter().position(|argument| argument == "--")?;
    let mut rest = arguments[behind + 1..].iter().cloned();
    Some((rest.next()?, rest.collect()))
}

/// Returns a copy of a server's entry without the values of its variables and headers, and without other secrets.
fn without_secrets(server: &Value) -> Value {
    let mut server = server.clone();
    for member in ["env", "headers"] {
        match server.get_mut(member) {
            Some(Value::Object(values)) => {
                values.values_mut().for_each(|value| *value = HIDDEN.into());
            }
            Some(value) => *value = HIDDEN.into(),
            None => {}
        }
    }
    if let Some(arguments) = server.get_mut("args").and_then(Value::as_array_mut) {
        hide_assignments(arguments);
    }
    secrets::redact_value(&server)
}

/// Hides the values of variables and headers in a command's arguments.
fn hide_assignments(arguments: &mut [Value]) {
    let mut is_value = false;
    for argument in arguments {
        let Some(text) = argument.as_str() else { continue };
        let (option, inline) = match text.split_once('=') {
            Some((option, value)) if ASSIGNING.contains(&option) => (option, Some(value)),
            _ => (text, None),
        };
        let assignment = if is_value { Some(text) } else { inline };
        if let Some((name, _)) = assignment.and_then(|it| it.split_once(['=', ':'])) {
            let before = if is_value { String::new() } else { format!("{option}=") };
            let sign = assignment.and_then(|it| it[name.len()..].chars().next()).unwrap_or('=');
            *argument = format!("{before}{name}{sign}{HIDDEN}").into();
            is_value = false;
        } else {
            is_value = ASSIGNING.contains(&text);
        }
    }
}

/// Writes a backup of the file that only this user can read, because clients' configurations contain tokens. It is in
/// the user's state directory, because a project's folder may be shared and committed. An earlier backup is never
/// overwritten, because it may be the original.
fn write_backup(path: &Path, text: &str) -> anyhow::Result<PathBuf> {
    let backup = state_backups(path).and_then(|mut backups| backups.find(|path| !path.exists()));
    let backup = backup.context(
        "the original file cannot be backed up: the user's state directory is unknown, or full of backups; set \
         XDG_STATE_HOME",
    )?;
    user_folders::create_parent(&backup)?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let write = || {
        let mut file = options.open(&backup)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().with_context(|| format!("cannot write {}", backup.display()))?;
    Ok(backup)
}

/// Returns the existing backups of a file, oldest first. Earlier releases stored them next to the file.
fn existing_backups(path: &Path) -> impl Iterator<Item = PathBuf> {
    let own = state_backups(path).into_iter().flatten();
    numbered(path.to_owned()).chain(own).filter(|backup| backup.exists())
}

/// Returns the possible backup paths in the user's state directory, oldest first. Files with the same name in different
/// folders have different paths.
fn state_backups(path: &Path) -> Option<impl Iterator<Item = PathBuf> + use<>> {
    let place = fs::canonicalize(path).or_else(|_| std::path::absolute(path)).ok()?;
    let digest = answerback::Digest::of_bytes(place.as_os_str().as_encoded_bytes()).to_string();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = user_folders::state()?.join("answerback").join("clients");
    Some(numbered(folder.join(format!("{}-{name}", &digest[..12]))))
}

/// Returns the possible backup names of a file, oldest first.
fn numbered(path: PathBuf) -> impl Iterator<Item = PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    (0..1000).map(move |number| {
        let number = if number == 0 { String::new() } else { format!(".{number}") };
        path.with_file_name(format!("{name}.before-answerback{number}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_and_unwrapping_restore_a_server() {
        let before = json!({"command": "npx", "args": ["-y", "--", "x"], "env": {"A": "1"}});
        let mut server = before.as_object().cloned().unwrap();
        assert_eq!(wrapped("files", &mut server, "/bin/answerback"), ConfigChange::Done);
        assert_eq!(
            Value::Object(server.clone()),
            json!({"command": "/bin/answerback", "args": ["wrap", "--name", "files", "--", "npx", "-y", "--", "x"], "env": {"A": "1"}})
        );
        assert_eq!(wrapped("files", &mut server, "/bin/answerback"), ConfigChange::Unchanged);
        assert_eq!(unwrapped(&mut server, "/opt/answerback"), ConfigChange::Done);
        assert_eq!(Value::Object(server.clone()), before);
        assert_eq!(unwrapped(&mut server, "/opt/answerback"), ConfigChange::Unchanged);
        // A command that had no arguments has none again.
        let before = json!({"command": "files", "env": {}});
        let mut server = before.as_object().cloned().unwrap();
        assert_eq!(wrapped("files", &mut server, "/bin/answerback"), ConfigChange::Done);
        assert_eq!(unwrapped(&mut server, "/opt/answerback"), ConfigChange::Done);
        assert_eq!(Value::Object(server), before);
        // A renamed program recognizes its own path.
        let before = json!({"command": "files"});
        let mut server = before.as_object().cloned().unwrap();
        assert_eq!(wrapped("files", &mut server, "/bin/ab"), ConfigChange::Done);
        assert_eq!(wrapped("files", &mut server, "/bin/ab"), ConfigChange::Unchanged);
        assert_eq!(unwrapped(&mut server, "/bin/another"), ConfigChange::Unchanged);
        assert_eq!(unwrapped(&mut server, "/bin/ab"), ConfigChange::Done);
        assert_eq!(Value::Object(server), before);
        let mut remote = json!({"url": "https://example.com"}).as_object().cloned().unwrap();
        assert_eq!(wrapped("r", &mut remote, "a"), ConfigChange::NoCommand);
    }

    #[test]
    fn secrets_of_an_entry_are_not_shown() {
        let secret = "hunter2-hunter2";
        let entry = json!({
            "command": "docker",
            "args": [
                "run", "-e", format!("TOKEN={secret}"), format!("--env=KEY={secret}"), "-e", "NAME", "--header",
                format!("Authorization: {secret}"), "image", "x=y",
            ],
            "env": {"PLAIN": secret, "NUMBER": 7},
            "headers": {"X-Thing": secret},
        });
        let shown = without_secrets(&entry);
        assert!(!shown.to_string().contains(secret), "{shown}");
        let expected = json!([
            "run",
            "-e",
            "TOKEN=[hidden]",
            "--env=KEY=[hidden]",
            "-e",
            "NAME",
            "--header",
            "Authorization:[hidden]",
            "image",
            "x=y",
        ]);
        assert_eq!(shown["args"], expected);
        assert_eq!(shown["env"], json!({"PLAIN": "[hidden]", "NUMBER": "[hidden]"}));
        assert_eq!(shown["headers"], json!({"X-Thing": "[hidden]"}));
    }
}
