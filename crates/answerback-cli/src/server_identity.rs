//! Derives the name and the unique key of a wrapped server from its command, if the user gave no name.
//!
//! Most servers are started by a program that starts others, too: `npx`, `python3`, `docker`. Named after that program,
//! they would share a name and the file with their pinned tools. So the name comes from the part of the command that
//! identifies the server.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A server's name for people, and its unique key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ServerIdentity {
    /// The name in records and logs.
    pub(crate) name: String,
    /// The key that names the server's files.
    pub(crate) key: String,
}

/// The longest derived name, in characters.
const MAX_LENGTH: usize = 64;

/// Describes the command line of a program that starts servers.
struct Runner {
    names: &'static [&'static str],
    /// The runner's own commands, which come before the server.
    commands: &'static [&'static str],
    /// Options with a value that does not identify the server.
    valued: &'static [&'static str],
    /// Options whose value identifies the server.
    naming: &'static [&'static str],
    starts: Starts,
}

/// The kind of server that a runner starts.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Starts {
    /// A file, by its path.
    Script,
    /// A package, by its name and an optional version.
    Package,
    /// A container image, by its name and an optional tag.
    Image,
}

static RUNNERS: [Runner; 8] = [
    Runner {
        names: &["npx", "bunx", "pnpx"],
        commands: &[],
        valued: &["--registry", "--userconfig", "--cache"],
        naming: &["-p", "--package"],
        starts: Starts::Package,
    },
    Runner {
        names: &["npm", "pnpm", "yarn"],
        commands: &["exec", "x", "dlx", "run", "start"],
        valued: &["--registry"],
        naming: &["-p", "--package", "--prefix", "-C", "--dir", "--cwd"],
        starts: Starts::Package,
    },
    Runner {
        names: &["uvx", "pipx"],
        commands: &["run"],
        valued: &["--python", "-p", "--with", "--index-url", "--index"],
        naming: &["--from", "--spec"],
        starts: Starts::Package,
    },
    Runner {
        names: &["uv", "poetry", "pdm", "rye", "hatch"],
        commands: &["run", "tool"],
        valued: &["--python", "-p", "--with", "--extra", "--index-url", "--index"],
        naming: &["--directory", "--project", "-m", "--module", "-C"],
        starts: Starts::Script,
    },
    Runner {
        names: &["python", "pypy", "py"],
        commands: &[],
        valued: &["-W", "-X"],
        naming: &["-m", "-c"],
        starts: Starts::Script,
    },
    Runner {
        names: &["node", "tsx", "ts-node", "bun", "deno"],
        commands: &["run"],
        valued: &[
            "-r",
            "--require",
            "--import",
            "--loader",
            "--experimental-loader",
            "-C",
            "--config",
        ],
        naming: &["-e", "--eval", "-p"],
        starts: Starts::Script,
    },
    Runner {
        names: &["docker", "podman", "nerdctl"],
        commands: &["run", "container", "exec", "start"],
        // Most options of containers have a value. Those without one are in `SWITCHES`.
        valued: &[],
        naming: &[],
        starts: Starts::Image,
    },
    Runner {
        names: &[
            "sh", "bash", "zsh", "dash", "ruby", "perl", "php", "java", "dotnet", "cargo", "go",
            "env",
        ],
        commands: &["run"],
        valued: &["-cp", "-classpath"],
        naming: &["-c", "-e", "-jar", "--bin", "--manifest-path", "-p", "--package"],
        starts: Starts::Script,
    },
];

/// The options of containers that have no value.
const SWITCHES: [&str; 14] = [
    "--rm",
    "--init",
    "--interactive",
    "--tty",
    "--detach",
    "--privileged",
    "--read-only",
    "--quiet",
    "--publish-all",
    "--no-healthcheck",
    "--oom-kill-disable",
    "--sig-proxy",
    "--rmi",
    "--replace",
];

/// File names that do not identify a server.
const PLAIN: [&str; 14] = [
    "index",
    "main",
    "server",
    "app",
    "cli",
    "start",
    "run",
    "mcp",
    "__main__",
    "mcp_server",
    "mcp-server",
    "dist",
    "build",
    "src",
];

impl ServerIdentity {
    /// Creates the identity of a server that the user named.
    pub(crate) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), key: name.to_owned() }
    }

    /// Derives the identity from a command. Relative paths start at `folder`.
    pub(crate) fn of_command(program: &OsStr, arguments: &[OsString], folder: &Path) -> Self {
        let words: Vec<String> =
            arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let stem = Path::new(program).file_stem().unwrap_or(program).to_string_lossy().into_owned();
        let plain = stem.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
        let runner = RUNNERS.iter().find(|runner| runner.names.contains(&plain));
        let target = runner.and_then(|runner| Some((runner, runner.target(&words)?)));
        let (mut name, mut key) = match target {
            Some((runner, target)) => {
                let (name, key) = runner.identity(&target, folder);
                (name, format!("{plain} {key}"))
            }
            None => of_path(&program.to_string_lossy(), folder),
        };
        // A proxy for remote servers is a different server for each URL.
        if let Some(url) = words.iter().find_map(|word| place_of_url(word)) {
            key = format!("{key} {url}");
            let host = url.split('/').next().unwrap_or_default();
            name = format!("{name}-{host}");
        }
        Self { name: name.chars().take(MAX_LENGTH).collect(), key }
    }
}

/// The part of a runner's command that identifies the server.
struct ServerWord {
    word: String,
    /// The values of options that tell the runner where to find it.
    before: Vec<String>,
}

impl Runner {
    fn target(&self, words: &[String]) -> Option<ServerWord> {
        let mut before = Vec::new();
        let mut rest = words.iter();
        let mut has_command = false;
        while let Some(word) = rest.next() {
            if word == "--" {
                continue;
            }
            if let Some(option) = word.strip_prefix('-') {
                let (name, value) = match word.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (word.as_str(), None),
                };
                if self.naming.contains(&name) {
                    before.push(value.or_else(|| rest.next().cloned())?);
                    // Arguments after a module or a program text belong to the server.
                    if matches!(name, "-m" | "-c" | "-e" | "-jar" | "--module" | "--eval") {
                        let word = before.pop()?;
                        return Some(ServerWord { word, before });
                    }
                } else if value.is_none() && self.takes_value(word, option) {
                    rest.next();
                }
                continue;
            }
            if !has_command && self.commands.contains(&word.as_str()) {
                has_command = self.starts != Starts::Script;
                continue;
            }
            return Some(ServerWord { word: word.clone(), before });
        }
        let word = before.pop()?;
        Some(ServerWord { word, before })
    }

    fn takes_value(&self, word: &str, option: &str) -> bool {
        if self.starts == Starts::Image {
            // Short switches may be combined, as in -it.
            let is_short =
                !option.starts_with('-') && option.chars().all(|it| "itdPq".contains(it));
            return !is_short && !SWITCHES.contains(&word);
        }
        self.valued.contains(&word)
    }

    fn identity(&self, target: &ServerWord, folder: &Path) -> (String, String) {
        let word = target.word.as_str();
        let (name, key) = match self.starts {
            Starts::Package => {
                let package = without_version(word);
                (last_part(package).to_owned(), package.to_owned())
            }
            Starts::Image => {
                let image = without_tag(word);
                (last_part(image).to_owned(), image.to_owned())
            }
            Starts::Script => {
                let base =
                    target.before.iter().fold(folder.to_owned(), |base, next| base.join(next));
                of_path(word, &base)
            }
        };
        (name, [target.before.as_slice(), &[key]].concat().join(" "))
    }
}

/// Returns the name and the key for a word that may be a file.
fn of_path(word: &str, folder: &Path) -> (String, String) {
    let has_folder = word.contains(['/', '\\']);
    let path = folder.join(word);
    if !has_folder && !is_script(Path::new(word)) && !path.is_file() {
        // The word is a program in the search path, a module, or a program text.
        let is_word = word.chars().all(|it| it.is_alphanumeric() || "._-@:".contains(it));
        let name = if is_word { stem_of(Path::new(word)) } else { "command".to_owned() };
        return (name, word.to_owned());
    }
    let path: PathBuf = std::fs::canonicalize(&path).unwrap_or(path);
    let name = stem_of(&path);
    // This finds the nearest folder with a specific name.
    let folders = path.ancestors().skip(1).filter_map(Path::file_name).map(OsStr::to_string_lossy);
    let mut folders = folders.filter(|folder| !PLAIN.contains(&folder.as_ref()));
    let name = match folders.next() {
        Some(folder) if PLAIN.contains(&name.as_str()) => format!("{folder}-{name}"),
        _ => name,
    };
    (name, path.to_string_lossy().into_owned())
}

/// True if the path has the extension of a script. A program with the extension .exe is looked up in the search path.
fn is_script(path: &Path) -> bool {
    const SCRIPTS: [&str; 10] = ["py", "js", "mjs", "cjs", "ts", "rb", "sh", "jar", "php", "pl"];
    path.extension().is_some_and(|it| SCRIPTS.iter().any(|script| it == *script))
}

fn stem_of(path: &Path) -> String {
    let is_program = path.extension().is_some_and(|it| it == "exe");
    let name = if is_program || is_script(path) { path.file_stem() } else { path.file_name() };
    name.unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Returns a package's name without its version: `@scope/name@1.2.3`, `name==1.2.3`.
fn without_version(word: &str) -> &str {
    let word = word.split_once("==").map_or(word, |(name, _)| name);
    match word.char_indices().skip(1).find(|(_, it)| *it == '@') {
        Some((at, _)) => &word[..at],
        None => word,
    }
}

/// Returns an image's name without its tag or digest. The registry may have a port.
fn without_tag(word: &str) -> &str {
    let word = word.split_once('@').map_or(word, |(name, _)| name);
    match word.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => word,
    }
}

fn last_part(word: &str) -> &str {
    word.trim_end_matches('/').rsplit('/').next().filter(|part| !part.is_empty()).unwrap_or(word)
}

/// Returns the host and the path of a URL. User, query and fragment are left out, because they may contain secrets.
fn place_of_url(word: &str) -> Option<String> {
    let word =
        word.split_once('=').filter(|(name, _)| name.starts_with('-')).map_or(word, |(_, it)| it);
    let rest = word.strip_prefix("https://").or_else(|| word.strip_prefix("http://"))?;
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let place = format!("{host}/{path}");
    (!host.is_empty()).then(|| place.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(command: &str, folder: &Path) -> ServerIdentity {
        let mut words = command.split(' ').map(OsString::from);
        let program = words.next().unwrap();
        ServerIdentity::of_command(&program, &words.collect::<Vec<_>>(), folder)
    }

    #[test]
    fn the_name_is_that_of_the_server_and_not_of_its_runner() {
        let folder = Path::new("/nowhere");
        for (command, name) in [
            ("my-server --flag", "my-server"),
            ("/opt/x/my-server", "my-server"),
            ("npx -y @modelcontextprotocol/server-filesystem /data", "server-filesystem"),
            ("npx -y @modelcontextprotocol/server-filesystem@2025.1.1 /data", "server-filesystem"),
            ("npx --yes --package=@a/b c", "c"),
            ("uvx mcp-server-git --repository x", "mcp-server-git"),
            ("uvx --from git+https://h/x.git mcp-x", "mcp-x"),
            ("uv --directory /a/weather run server.py", "weather-server"),
            ("uv run --with mcp[cli] weather.py", "weather"),
            ("uv tool run mcp-server-time", "mcp-server-time"),
            ("python3 -m mcp_server_fetch --x", "mcp_server_fetch"),
            ("python3.12 -u /srv/weather/server.py", "weather-server"),
            ("node --require ./x.js /srv/mail/dist/index.js", "mail-index"),
            ("docker run -i --rm -e TOKEN=x -v /a:/b mcp/github:1.2", "github"),
            ("docker run -it --name x registry:5000/team/tool@sha256:ab", "tool"),
            ("java -jar /opt/db.jar", "db"),
            ("npx -y mcp-remote https://me:x@one.example/mcp?key=secret", "mcp-remote-one.example"),
        ] {
            assert_eq!(identity(command, folder).name, name, "{command}");
        }
    }

    #[test]
    fn different_servers_have_different_keys() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("server.py"), "").unwrap();
        }
        let key = |command: &str| identity(command, folder.path()).key;
        for (one, other) in [
            ("python3 a/server.py", "python3 b/server.py"),
            ("npx -y @a/server", "npx -y @b/server"),
            ("npx mcp-remote https://h/a", "npx mcp-remote https://h/b"),
            ("uv --directory a run server.py", "uv --directory b run server.py"),
            ("docker run -i --rm a/x", "docker run -i --rm b/x"),
            ("python3 -m a", "python3 -m b"),
            ("/a/server", "/b/server"),
            ("sh -c one", "sh -c two"),
        ] {
            assert_ne!(key(one), key(other), "{one} and {other}");
        }
        for (one, other) in [
            ("python3 a/server.py", "python3 ./a/server.py --verbose"),
            ("npx -y @a/server@1.0.0 /data", "npx @a/server@latest /other"),
            ("docker run -i --rm a/x:1", "docker run --rm -i -e A=b a/x:2"),
        ] {
            assert_eq!(key(one), key(other), "{one} and {other}");
        }
        // The key of a program without a folder must not change, so that its stored files are still found.
        assert_eq!(identity("my-server", folder.path()).key, "my-server");
    }
}
