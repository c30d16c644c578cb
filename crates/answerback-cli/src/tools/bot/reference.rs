//! Finds the references between the files of `.bot`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::artifact::{BotArtifact, BotArtifactKind, is_markdown};

/// The start of a reference in a text.
const MARK: &str = "@.bot/";
/// The largest number of references per file.
const MOST_REFERENCES: usize = 200;
/// The largest number of reported cycles.
const MOST_CIRCLES: usize = 10;

/// A reference from one file to another.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct BotReference {
    /// The reference as written in the file.
    pub(crate) written: String,
    /// The referenced file, or `None` if no artifact has the id.
    pub(crate) target: Option<String>,
}

/// Returns the references of an artifact. They are `@.bot/…` in its text and each `file` in the front matter's
/// `dependencies`. A workflow also refers to its agent, and a command to its workflow, by id or by file.
pub(crate) fn references(
    kind: BotArtifactKind,
    artifact: &BotArtifact,
    ids: &BTreeMap<(String, String), String>,
) -> Vec<BotReference> {
    let mut found = Vec::new();
    let mut add = |written: &str, target: Option<String>| {
        let reference = BotReference { written: written.to_owned(), target };
        if found.len() < MOST_REFERENCES && !found.contains(&reference) {
            found.push(reference);
        }
    };
    for path in in_text(&artifact.body) {
        add(path, Some(path.to_owned()));
    }
    if let Some(Value::Array(dependencies)) = artifact.members.get("dependencies") {
        for file in dependencies.iter().filter_map(|one| one.get("file")?.as_str()) {
            let path = file.strip_prefix('@').unwrap_or(file);
            add(file, Some(path.to_owned()));
        }
    }
    let by_id = match kind {
        BotArtifactKind::Workflow => artifact.text("agent").map(|id| ("agent", id)),
        BotArtifactKind::Command => artifact.text("triggers_workflow").map(|id| ("workflow", id)),
        _ => None,
    };
    if let Some((kind, id)) = by_id {
        let is_file = id.contains('/') || is_markdown(id);
        let path = id.strip_prefix('@').unwrap_or(id);
        let known = || ids.get(&(kind.to_owned(), id.to_owned())).cloned();
        add(id, if is_file { Some(path.to_owned()) } else { known() });
    }
    found
}

/// Returns the paths that a text refers to.
fn in_text(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let mut before = None;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(MARK)?;
            let previous = rest[..at].chars().next_back().or(before);
            let reference = &rest[at + 1..];
            let end = end_of(reference);
            let path = reference[..end].trim_end_matches(['.', ',', ';', ':', '!', '?']);
            before = reference[..end].chars().next_back();
            rest = &reference[end..];
            // An address such as someone@.bot/… is not a reference.
            if !previous.is_some_and(char::is_alphanumeric) && path.len() > MARK.len() - 1 {
                return Some(path);
            }
        }
    })
}

/// Returns the end of a reference. A placeholder such as `[spec-name]`, `<spec-name>` or `{spec-name}` is part of the
/// reference, including its closing bracket.
fn end_of(reference: &str) -> usize {
    let mut closing = None;
    for (at, character) in reference.char_indices() {
        let is_closed = closing == Some(character);
        if is_closed {
            closing = None;
        } else if ends_reference(character) {
            return at;
        } else {
            let rest = &reference[at..];
            let pair = [('[', ']'), ('<', '>'), ('{', '}')];
            let pair =
                pair.into_iter().find(|(open, close)| *open == character && rest.contains(*close));
            closing = pair.map(|(_, close)| close).or(closing);
        }
    }
    reference.len()
}

fn ends_reference(character: char) -> bool {
    character.is_whitespace() || matches!(character, ')' | ']' | '>' | '"' | '\'' | '`' | '*' | '|')
}

/// Finds the cycles among files that refer to each other. Each cycle is listed once and begins with its first file by
/// name.
pub(crate) fn circles(edges: &BTreeMap<String, Vec<String>>) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    let mut done: BTreeMap<&str, bool> = BTreeMap::new();
    for start in edges.keys() {
        if done.contains_key(start.as_str()) {
            continue;
        }
        // The path from the start file, with the number of edges already followed for each file.
        let mut way: Vec<(&str, usize)> = vec![(start, 0)];
        done.insert(start, false);
        while let Some((file, taken)) = way.last_mut() {
            let next = edges.get(*file).and_then(|targets| targets.get(*taken));
            *taken += 1;
            let Some(next) = next else {
                done.insert(file, true);
                way.pop();
                continue;
            };
            match done.get(next.as_str()) {
                Some(true) => {}
                Some(false) => {
                    let files = way.iter().map(|(file, _)| *file);
                    let circle = files.skip_while(|file| file != next).map(str::to_owned);
                    let circle = from_first(circle.collect());
                    if found.len() < MOST_CIRCLES && !found.contains(&circle) {
                        found.push(circle);
                    }
                }
                None => {
                    done.insert(next, false);
                    way.push((next, 0));
                }
            }
        }
    }
    found.sort();
    found
}

/// Rotates the cycle so that it begins with its first file by name.
fn from_first(mut circle: Vec<String>) -> Vec<String> {
    let first = (0..circle.len()).min_by_key(|index| &circle[*index]).unwrap_or_default();
    circle.rotate_left(first);
    circle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_refer_by_path() {
        let text = "See @.bot/agents/a.md, (@.bot/standards/b.md) and `@.bot/c.md`.\n\
                    Not me@.bot/d.md, @.bot/ or @ .bot/e.md; but @.bot/f.md.";
        let found: Vec<&str> = in_text(text).collect();
        assert_eq!(found, [".bot/agents/a.md", ".bot/standards/b.md", ".bot/c.md", ".bot/f.md"]);
    }

    #[test]
    fn placeholders_belong_to_a_reference() {
        let text = "See [the tasks](@.bot/specs/[spec-name]/tasks.md), [@.bot/a.md], <@.bot/<name>.md> and \
                    @.bot/{id}/b.md or @.bot/[open.md.";
        let found: Vec<&str> = in_text(text).collect();
        let expected = [
            ".bot/specs/[spec-name]/tasks.md",
            ".bot/a.md",
            ".bot/<name>.md",
            ".bot/{id}/b.md",
            ".bot/[open.md",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn front_matter_refers_by_file_and_by_id() {
        let text = "---\nagent: planner\ndependencies:\n  - file: \"@.bot/x.md\"\n  - file: ../y.md\n  - name: z\n---\n";
        let artifact = BotArtifact::of(BotArtifactKind::Workflow, "w.md", text).unwrap();
        let ids = BTreeMap::from([(
            ("agent".to_owned(), "planner".to_owned()),
            ".bot/agents/planner.md".to_owned(),
        )]);
        let told = |ids| {
            let found = references(BotArtifactKind::Workflow, &artifact, ids);
            found.into_iter().map(|reference| reference.target).collect::<Vec<_>>()
        };
        let path = |path: &str| Some(path.to_owned());
        assert_eq!(
            told(&ids),
            [path(".bot/x.md"), path("../y.md"), path(".bot/agents/planner.md")]
        );
        assert_eq!(told(&BTreeMap::new()), [path(".bot/x.md"), path("../y.md"), None]);
    }

    #[test]
    fn circles_are_told_once() {
        for (edges, expected) in [
            ("a>b b>c", ""),
            ("a>b b>c c>a", "a b c"),
            ("b>c c>a a>b", "a b c"),
            ("a>a", "a"),
            ("a>b b>a b>c c>b", "a b|b c"),
            ("a>b a>c b>d c>d", ""),
        ] {
            let mut graph: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for (from, to) in edges.split(' ').map(|edge| edge.split_once('>').unwrap()) {
                graph.entry(from.to_owned()).or_default().push(to.to_owned());
            }
            let told: Vec<String> = circles(&graph).iter().map(|circle| circle.join(" ")).collect();
            assert_eq!(told.join("|"), expected, "{edges}");
        }
    }
}
