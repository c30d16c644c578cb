//! What a wrapped server is called, and by what it is told from other servers, where nobody named it.
//!
//! Most servers are started by a program that starts others, too: `npx`, `python3`, `docker`. Their names would be the
//! same, and so would be the file that keeps their tools as they were first seen. So the name comes from the part of the
//! command that says which server it is.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A server's name for people, and the key that no other server has.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ServerIdentity {
    /// What it is called in records and logs.
    pub(crate) name: String,
    /// What its files are kept under.
    pub(crate) key: String,
}

/// The longest name that is derived, in characters.
const LONGEST: usize = 64;

/// How a program that starts servers says which one.
struct Runner {
    names: &'static [&'static str],
    /// Words before the server that are commands of the runner.
    commands: &'static [&'static str],
    /// Options that have a value after them and say nothing of the server.
    valued: &'static [&'static str],
    /// Options whose value is the server.
    naming: &'static [&'static str],
    starts: Starts,
}

/// What a runner starts.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Starts {
    /// A file, by its path.
    Script,
    /// A package, by its name and perhaps a version.
    Package,
    /// A container's image, by its name and perhaps a tag.
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
        // Most options of a container have a value; those that have none are listed with `SWITCHES`.
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

/// Names of files that say nothing of the server.
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
    /// The identity of a server that somebody named.
    pub(crate) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), key: name.to_owned() }
    }

    /// The identity that a command shows. `folder` is where relative paths begin.
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
        // A program in front of servers over HTTP is as many servers as it has URLs.
        if let Some(url) = words.iter().find_map(|word| place_of_url(word)) {
            key = format!("{key} {url}");
            let host = url.split('/').next().unwrap_or_default();
            name = format!("{name}-{host}");
        }
        Self { name: name.chars().take(LONGEST).collect(), key }
    }
}

/// The part of a runner's command that says which server it starts.
struct Target {
    word: String,
    /// The values of options that say where to look for it.
    before: Vec<String>,
}

impl Runner {
    fn target(&self, words: &[String]) -> Option<Target> {
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
                    // What follows a module or a program text is for the server.
                    if matches!(name, "-m" | "-c" | "-e" | "-jar" | "--module" | "--eval") {
                        let word = before.pop()?;
                        return Some(Target { word, before });
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
            return Some(Target { word: word.clone(), before });
        }
        let word = before.pop()?;
        Some(Target { word, before })
    }

    fn takes_value(&self, word: &str, option: &str) -> bool {
        if self.starts == Starts::Image {
            // Short switches are written together, as in -it.
            let is_short =
                !option.starts_with('-') && option.chars().all(|it| "itdPq".contains(it));
            return !is_short && !SWITCHES.contains(&word);
        }
        self.valued.contains(&word)
    }

    fn identity(&self, target: &Target, folder: &Path) -> (String, String) {
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

/// The name and the key of what may be a file.
fn of_path(word: &str, folder: &Path) -> (String, String) {
    let has_folder = word.contains(['/', '\\']);
    let path = folder.join(word);
    if !has_folder && !is_script(Path::new(word)) && !path.is_file() {
        // A program that is looked for in the system's places, a module, or a program text.
        let is_word = word.chars().all(|it| it.is_alphanumeric() || "._-@:".contains(it));
        let name = if is_word { stem_of(Path::new(word)) } else { "command".to_owned() };
        return (name, word.to_owned());
    }
    let path: PathBuf = std::fs::canonicalize(&path).unwrap_or(path);
    let name = stem_of(&path);
    // The nearest folder that has a name of its own.
    let folders = path.ancestors().skip(1).filter_map(Path::file_name).map(OsStr::to_string_lossy);
    let mut folders = folders.filter(|folder| !PLAIN.contains(&folder.as_ref()));
    let name = match folders.next() {
        Some(folder) if PLAIN.contains(&name.as_str()) => format!("{folder}-{name}"),
        _ => name,
    };
    (name, path.to_string_lossy().into_owned())
}

/// True if a path ends like a file that a runner starts. What ends in .exe is looked for in the system's places.
fn is_script(path: &Path) -> bool {
    const SCRIPTS: [&str; 10] = ["py", "js", "mjs", "cjs", "ts", "rb", "sh", "jar", "php", "pl"];
    path.extension().is_some_and(|it| SCRIPTS.iter().any(|script| it == *script))
}

fn stem_of(path: &Path) -> String {
    let is_program = path.extension().is_some_and(|it| it == "exe");
    let name = if is_program || is_script(path) { path.file_stem() } else { path.file_name() };
    name.unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// A package's name without its version: `@scope/name@1.2.3`, `name==1.2.3`.
fn without_version(word: &str) -> &str {
    let word = word.split_once("==").map_or(word, |(name, _)| name);
    match word.char_indices().skip(1).find(|(_, it)| *it == '@') {
        Some((at, _)) => &word[..at],
        None => word,
    }
}

/// An image's name without its tag or digest. A registry may have a port.
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

/// The host and the path of a URL, without a user, a query and a fragment, which may hold secrets.
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
        // What was kept for a program without a folder stays where it is.
        assert_eq!(identity("my-server", folder.path()).key, "my-server");
    }
}
