//! Shortens absolute paths of the machine.

use std::borrow::Cow;

/// Directories at the root of the machines that agents run on. An absolute POSIX path begins with one of them or ends
/// in a file name. Other text with slashes is a route or a JSON Pointer.
const TOP: &[&str] = &[
    "home",
    "Users",
    "root",
    "var",
    "etc",
    "usr",
    "tmp",
    "opt",
    "mnt",
    "media",
    "srv",
    "private",
    "proc",
    "sys",
    "dev",
    "run",
    "boot",
    "bin",
    "sbin",
    "lib",
    "lib64",
    "nix",
    "snap",
    "Library",
    "Applications",
    "System",
    "Volumes",
    "Network",
    "workspace",
    "workspaces",
    "work",
    "app",
    "code",
    "repo",
    "repos",
    "src",
    "build",
    "builds",
    "project",
    "projects",
    "github",
    "vercel",
    "codebuild",
    "kaggle",
    "content",
    "mount",
    "cygdrive",
    "export",
    "net",
    "storage",
    "sdcard",
    "github-actions",
    "sandbox",
];

/// Shortens the absolute paths in a text (POSIX, drive, UNC, `file:`). A path below `root` becomes relative to it.
/// Any other path becomes `…/` and its last two parts.
///
/// ```
/// use answerback_findings::relative_paths;
///
/// assert_eq!(relative_paths("no file /home/ada/app/src/main.rs", None), "no file …/src/main.rs");
/// assert_eq!(relative_paths("/home/ada/app/src/main.rs", Some("/home/ada/app")), "src/main.rs");
/// assert_eq!(relative_paths("at /items/0/qty", None), "at /items/0/qty");
/// ```
pub fn relative_paths<'t>(text: &'t str, root: Option<&str>) -> Cow<'t, str> {
    relative(text, root, Backslash::Plain)
}

/// Works like [`relative_paths`] for a text with strings escaped as in JSON. There `\n` is a line break, and the
/// backslashes of a path are doubled.
pub fn relative_paths_in_json<'t>(text: &'t str, root: Option<&str>) -> Cow<'t, str> {
    relative(text, root, Backslash::Escapes)
}

/// The meaning of a backslash.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Backslash {
    /// A backslash is a plain character.
    Plain,
    /// A backslash starts a JSON escape, if one follows.
    Escapes,
}

fn relative<'t>(text: &'t str, root: Option<&str>, backslash: Backslash) -> Cow<'t, str> {
    let bytes = text.as_bytes();
    let mut shown = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = bytes[at..].iter().position(|byte| matches!(byte, b'/' | b'\\')) {
        let separator = at + found;
        if backslash == Backslash::Escapes && bytes[separator] == b'\\' {
            let run = backslashes(bytes, separator);
            at = separator + run;
            if run == 1 && is_escape(bytes, separator, run) {
                continue;
            }
        } else {
            at = separator + 1;
        }
        let Some(start) = path_start(bytes, separator, backslash) else { continue };
        let end = path_end(text, separator, backslash);
        if let Some(relative) = shorten(&text[start..end], root) {
            // Paths cannot overlap, because each starts after the end of the previous one.
            shown.push_str(&text[copied..start.max(copied)]);
            shown.push_str(&relative);
            copied = end;
        }
        at = end.max(at);
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(&text[copied..]);
    Cow::Owned(shown)
}

/// Returns the start of the absolute path whose first separator is here, if there is one.
fn path_start(bytes: &[u8], separator: usize, backslash: Backslash) -> Option<usize> {
    let before = |back: usize| separator.checked_sub(back).map(|at| bytes[at]);
    let is_edge = |byte: Option<u8>| {
        byte.is_none_or(|byte| {
            !byte.is_ascii() && byte != 0xa6 || b" \t\r\n\"'`([{<,;=|>@".contains(&byte)
        })
    };
    // This matches `C:\` and `C:/`, but not the `s:/` of `https://`.
    if before(1) == Some(b':')
        && before(2).is_some_and(|drive| drive.is_ascii_alphabetic())
        && is_edge(before(3))
        && bytes.get(separator + 1) != Some(&b'/')
    {
        return Some(separator - 2);
    }
    if separator >= 5
        && bytes[separator - 5..separator].eq_ignore_ascii_case(b"file:")
        && is_edge(before(6))
    {
        return Some(separator - 5);
    }
    let begins = if bytes[separator] == b'/' {
        is_edge(before(1)) || before(1) == Some(b':') && !is_word(before(2))
    } else {
        is_edge(before(1)) && is_network_path(bytes, separator, backslash)
    };
    begins.then_some(separator)
}

/// Counts the backslashes in a row from here on.
fn backslashes(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().take_while(|byte| **byte == b'\\').count()
}

/// True if the last of a row of backslashes starts a JSON escape other than `\\`.
fn is_escape(bytes: &[u8], from: usize, run: usize) -> bool {
    run % 2 == 1
        && matches!(bytes.get(from + run), Some(b'n' | b'r' | b't' | b'b' | b'f' | b'u' | b'"'))
}

/// True if `\\server\share` begins here. In JSON, each of its backslashes is doubled.
fn is_network_path(bytes: &[u8], from: usize, backslash: Backslash) -> bool {
    let run = backslashes(bytes, from);
    let name = bytes[from + run..]
        .iter()
        .take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'$')
        })
        .count();
    let next = backslashes(bytes, from + run + name);
    let (before, after) = match backslash {
        Backslash::Plain => (2, 1),
        Backslash::Escapes => (4, 2),
    };
    name > 0 && (run, next) == (before, after)
        || backslash == Backslash::Plain && name > 0 && (run, next) == (4, 2)
}

fn is_word(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric())
}

fn path_end(text: &str, from: usize, backslash: Backslash) -> usize {
    let end = text[from..]
        .find(|character: char| {
            character.is_whitespace()
                || character.is_control()
                || "\"'`<>|;,()[]{}:*?".contains(character)
        })
        .map_or(text.len(), |length| from + length);
    if backslash == Backslash::Plain {
        return end;
    }
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(found) = bytes[at..end].iter().position(|byte| *byte == b'\\') {
        at += found;
        let run = backslashes(bytes, at);
        if is_escape(bytes, at, run) {
            return at + run - 1;
        }
        at = (at + run).min(end);
    }
    end
}

/// Shortens an absolute path. Returns `None` for text that is not an absolute path.
fn shorten(path: &str, root: Option<&str>) -> Option<String> {
    let (scheme, place) = match path.get(..5).filter(|start| start.eq_ignore_ascii_case("file:")) {
        Some(_) => (true, &path[5..]),
        None => (false, path),
    };
    let foreign = scheme || !place.starts_with('/');
    let mut parts: Vec<&str> = place.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    if let Some(below) = root.and_then(|root| below(&parts, root)) {
        return Some(if below.is_empty() { ".".to_owned() } else { below.join("/") });
    }
    let has_drive = parts.first().is_some_and(|part| part.len() == 2 && part.ends_with(':'));
    if has_drive {
        parts.remove(0);
    }
    let known = parts.first().is_some_and(|first| TOP.contains(first));
    let is_file = parts.len() >= 2 && parts.last().is_some_and(|last| has_extension(last));
    if parts.is_empty() || !(foreign || has_drive || known && parts.len() >= 2 || is_file) {
        return None;
    }
    Some(format!("…/{}", parts[parts.len().saturating_sub(2)..].join("/")))
}

/// Returns the parts of the path below the root, if the path is inside the root.
fn below<'p, 'a>(parts: &'a [&'p str], root: &str) -> Option<&'a [&'p str]> {
    let mut rest = parts;
    let mut depth = 0;
    for part in root.split(['/', '\\']).filter(|part| !part.is_empty()) {
        let (first, others) = rest.split_first()?;
        if *first != part {
            return None;
        }
        rest = others;
        depth += 1;
    }
    // A path with `..` may leave the root, so it is not below it.
    (depth > 0 && !rest.contains(&"..")).then_some(rest)
}

fn has_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && extension.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortens_what_is_absolute() {
        for (text, expected) in [
            ("/home/ada/app/src/main.rs", "…/src/main.rs"),
            ("/etc/passwd", "…/etc/passwd"),
            ("open /Users/ada/notes.txt: denied", "open …/ada/notes.txt: denied"),
            (r"C:\Users\ada\x.txt", "…/ada/x.txt"),
            (r#""C:\\Users\\ada\\x.txt""#, "\"…/ada/x.txt\""),
            ("d:/data/in.csv", "…/data/in.csv"),
            (r"\\server\share\plans\q3.xlsx", "…/plans/q3.xlsx"),
            ("file:///home/ada/x.txt", "…/ada/x.txt"),
            ("(/opt/tool/bin)", "(…/tool/bin)"),
            ("--out=/tmp/a/b", "--out=…/a/b"),
            ("/data/2024/report.pdf", "…/2024/report.pdf"),
            ("a /var/log/x and /var/log/y", "a …/log/x and …/log/y"),
        ] {
            assert_eq!(relative_paths(text, None), expected);
            assert_eq!(relative_paths(expected, None), expected, "a second time changes nothing");
        }
    }

    #[test]
    fn leaves_pointers_routes_and_addresses() {
        for text in [
            "/items/0/qty",
            "/path",
            "at /a~1b/c",
            "https://example.com/home/x/y",
            "src/main.rs",
            "./home/x",
            "~/x/y.txt",
            "and/or",
            "1/2",
            "/",
            "//",
            r"\n",
            r"\d+\.\d+",
            "http://a/b.html",
            "/api/v1/users",
            "a: /x/y",
            "text/html",
            "…/src/main.rs",
            "s3://bucket/home/a/b",
        ] {
            assert_eq!(relative_paths(text, None), text);
        }
    }

    #[test]
    fn escapes_of_json_are_no_separators() {
        for (text, expected) in [
            (r#""x:\n\nfoo""#, r#""x:\n\nfoo""#),
            (r#""\\nfoo\\nbar bc""#, r#""\\nfoo\\nbar bc""#),
            (r#""a:\nfoo/bar\nbar""#, r#""a:\nfoo/bar\nbar""#),
            (r#""C:\\Users\\ada\\x.txt""#, "\"…/ada/x.txt\""),
            (r#""\\\\server\\share\\plans\\q3.xlsx""#, "\"…/plans/q3.xlsx\""),
            (r#""/home/ada/x.rs\nnext""#, r#""…/ada/x.rs\nnext""#),
            (r#""C:\\temp\\a.txt\tb""#, r#""…/temp/a.txt\tb""#),
            (r"at /items/0/qty", r"at /items/0/qty"),
        ] {
            assert_eq!(relative_paths_in_json(text, None), expected);
        }
        // A network path needs a server and a share.
        for text in [r"\\nfoo\\nbar", r"a\\b", r"\\"] {
            assert_eq!(relative_paths(text, None), text);
        }
    }

    #[test]
    fn a_root_makes_paths_relative_to_it() {
        let root = Some("/srv/app");
        assert_eq!(relative_paths("/srv/app/a/b/c.rs", root), "a/b/c.rs");
        assert_eq!(relative_paths("/srv/app", root), ".");
        assert_eq!(relative_paths("/srv/application/a/c.rs", root), "…/a/c.rs");
        assert_eq!(relative_paths("/srv/app/../key", root), "…/../key");
        assert_eq!(relative_paths(r"C:\work\app\x\y.rs", Some(r"C:\work\app")), "x/y.rs");
    }
}
