//! Finds the projects of a solution by their manifests, and gives each a short alias.

use serde_json::{Map, Value};

use super::folder::BotFolder;
use super::registry::ProjectRegistry;
use super::walk::FolderWalk;

/// A project as its own manifest describes it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct BotProject {
    pub(crate) name: String,
    /// The kind of project, such as `dotnet-web`.
    pub(crate) kind: &'static str,
    /// The project's folder relative to the solution, or "." for the solution itself.
    pub(crate) path: String,
    pub(crate) version: Option<String>,
    pub(crate) framework: Option<String>,
    /// The number of declared dependencies, for manifests that list one per line.
    pub(crate) dependencies: Option<usize>,
    /// The short name: the registered one, or a generated one that no other project has.
    pub(crate) alias: String,
}

/// The largest number of projects.
const MOST_PROJECTS: usize = 200;

/// Folders with build output or downloaded packages, which are skipped.
const BUILT: [&str; 8] =
    ["node_modules", "target", "bin", "obj", "dist", "build", "vendor", "__pycache__"];

/// The projects of a solution, and the walk that found them.
#[derive(Debug)]
pub(crate) struct BotProjects {
    pub(crate) all: Vec<BotProject>,
    pub(crate) walk: FolderWalk,
}

impl BotProjects {
    /// Finds all projects. Skips hidden folders and build output.
    pub(crate) fn find(folder: &BotFolder, registry: &ProjectRegistry) -> Self {
        let enters = |name: &str| !name.starts_with('.') && !BUILT.contains(&name);
        let mut walk = folder.walk("", enters, is_manifest);
        let mut all: Vec<BotProject> = Vec::new();
        for path in std::mem::take(&mut walk.files) {
            if all.len() == MOST_PROJECTS {
                walk.is_cut = true;
                break;
            }
            match folder.read(&path) {
                Ok(text) => all.extend(read_manifest(folder, &path, &text)),
                Err(trouble) => walk.troubles.push(trouble),
            }
        }
        tell_apart(&mut all);
        name_shortly(&mut all, registry);
        Self { all, walk }
    }

    /// Returns the project with this name, or else with this alias.
    pub(crate) fn named(&self, name: &str) -> Option<&BotProject> {
        let by_name = self.all.iter().find(|project| project.name == name);
        by_name.or_else(|| self.all.iter().find(|project| project.alias == name))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|project| project.name.as_str())
    }
}

impl BotProject {
    /// Returns a default description, for a project without a registered summary.
    pub(crate) fn described(&self) -> &'static str {
        match self.kind {
            "dotnet-web" => "ASP.NET web application",
            "dotnet-console" => ".NET console application",
            "dotnet-test" => ".NET tests",
            "dotnet-library" => ".NET library",
            "nextjs-app" => "Next.js application",
            "react-app" => "React application",
            "test-project" => "Node.js tests",
            "node-app" => "Node.js package",
            "rust-binary" => "Rust program",
            "rust-library" => "Rust library",
            "python-package" => "Python package",
            _ => "Go module",
        }
    }

    /// Returns the tags that standards can use to select the project.
    pub(crate) fn tags(&self) -> Vec<&'static str> {
        match self.kind {
            "dotnet-web" => vec!["api", "backend", "dotnet"],
            "dotnet-console" => vec!["console", "dotnet"],
            "dotnet-test" => vec!["test", "dotnet"],
            "dotnet-library" => vec!["library", "dotnet"],
            "nextjs-app" => vec!["frontend", "nextjs", "react"],
            "react-app" => vec!["frontend", "react"],
            "test-project" => vec!["test", "node"],
            "node-app" => vec!["node"],
            "rust-binary" => vec!["program", "rust"],
            "rust-library" => vec!["library", "rust"],
            "python-package" => vec!["python"],
            _ => vec!["go"],
        }
    }
}

fn is_manifest(name: &str) -> bool {
    matches!(name, "package.json" | "Cargo.toml" | "pyproject.toml" | "go.mod")
        || name.ends_with(".csproj")
}

/// Returns the project that a manifest describes, if it describes one.
fn read_manifest(folder: &BotFolder, path: &str, text: &str) -> Option<BotProject> {
    let (parent, file) = path.rsplit_once('/').unwrap_or((".", path));
    let here = parent.rsplit('/').next().filter(|name| *name != ".");
    let fallback = here.map_or_else(|| folder.name(), str::to_owned);
    let mut project = match file {
        "package.json" => node(text, fallback)?,
        "Cargo.toml" => {
            let has_main = folder.has_file(&path.replace("Cargo.toml", "src/main.rs"));
            rust(text, has_main)?
        }
        "pyproject.toml" => python(text)?,
        "go.mod" => go(text)?,
        _ => dotnet(text, file.trim_end_matches(".csproj")),
    };
    parent.clone_into(&mut project.path);
    Some(project)
}

fn node(text: &str, fallback: String) -> Option<BotProject> {
    let Ok(Value::Object(manifest)) = serde_json::from_str(text) else { return None };
    let text = |name: &str| manifest.get(name).and_then(Value::as_str).map(str::to_owned);
    let listed = |name: &str| manifest.get(name).and_then(Value::as_object);
    let uses = |list: Option<&Map<String, Value>>, name: &str| {
        let version = list?.get(name)?.as_str()?;
        Some(version.to_owned())
    };
    let (direct, tests) = (listed("dependencies"), listed("devDependencies"));
    let next = uses(direct, "next").map(|version| format!("Next.js {version}"));
    let react = uses(direct, "react").map(|version| format!("React {version}"));
    let kind = match (&next, &react) {
        (Some(_), _) => "nextjs-app",
        (None, Some(_)) => "react-app",
        _ if uses(tests, "jest").or_else(|| uses(tests, "vitest")).is_some()
            && direct.is_none() =>
        {
            "test-project"
        }
        _ => "node-app",
    };
    Some(BotProject {
        name: text("name").filter(|name| !name.trim().is_empty()).unwrap_or(fallback),
        kind,
        version: text("version"),
        framework: next.or(react),
        dependencies: Some(direct.map_or(0, Map::len) + tests.map_or(0, Map::len)),
        ..BotProject::default()
    })
}

fn dotnet(text: &str, name: &str) -> BotProject {
    let inside = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        let (value, _) = rest.split_once('<')?;
        Some(value.trim().to_owned())
    };
    let has = |word: &str| text.contains(word);
    let kind = if ["xunit", "xUnit", "NUnit", "MSTest"].into_iter().any(has) {
        "dotnet-test"
    } else if has("Microsoft.NET.Sdk.Web") {
        "dotnet-web"
    } else if inside("OutputType").is_some_and(|output| output == "Exe") {
        "dotnet-console"
    } else {
        "dotnet-library"
    };
    BotProject {
        name: name.to_owned(),
        kind,
        version: inside("Version"),
        framework: inside("TargetFramework"),
        dependencies: Some(text.matches("<PackageReference").count()),
        ..BotProject::default()
    }
}

fn rust(text: &str, has_main: bool) -> Option<BotProject> {
    let dependencies = ["dependencies", "dev-dependencies", "build-dependencies"];
    Some(BotProject {
        name: toml_text(text, "package", "name")?,
        kind: if has_main { "rust-binary" } else { "rust-library" },
        version: toml_text(text, "package", "version"),
        framework: toml_text(text, "package", "edition").map(|edition| format!("Rust {edition}")),
        dependencies: Some(dependencies.iter().map(|table| toml_lines(text, table).count()).sum()),
        ..BotProject::default()
    })
}

fn python(text: &str) -> Option<BotProject> {
    let requires = toml_text(text, "project", "requires-python");
    Some(BotProject {
        name: toml_text(text, "project", "name")?,
        kind: "python-package",
        version: toml_text(text, "project", "version"),
        framework: requires.map(|version| format!("Python {version}")),
        ..BotProject::default()
    })
}

fn go(text: &str) -> Option<BotProject> {
    let after = |word: &str| text.lines().find_map(|line| line.trim().strip_prefix(word));
    let module = after("module ")?.trim();
    Some(BotProject {
        name: module.rsplit('/').next().unwrap_or(module).to_owned(),
        kind: "go-module",
        framework: after("go ").map(|version| format!("Go {}", version.trim())),
        ..BotProject::default()
    })
}

/// Returns the assignments of a TOML table. This simple parser is enough for names and versions, which manifests write
/// on one line.
fn toml_lines<'t>(text: &'t str, table: &str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let header = format!("[{table}]");
    let lines = text.lines().map(str::trim).skip_while(move |line| *line != header).skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.split_once('=')).map(|(name, value)| (name.trim(), value.trim()))
}

fn toml_text(text: &str, table: &str, name: &str) -> Option<String> {
    let (_, value) = toml_lines(text, table).find(|(key, _)| *key == name)?;
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let (inside, _) = value[1..].split_once(quote)?;
    (!inside.trim().is_empty()).then(|| inside.to_owned())
}

/// Makes names unique, because the registry identifies projects by name. If two manifests have the same name, the later
/// one gets its folder appended.
fn tell_apart(projects: &mut [BotProject]) {
    for index in 1..projects.len() {
        let (before, from) = projects.split_at_mut(index);
        let project = &mut from[0];
        if before.iter().any(|other| other.name == project.name) {
            project.name = format!("{} ({})", project.name, project.path);
        }
    }
}

/// Gives every project an alias: the registered one, or else a free one.
fn name_shortly(projects: &mut [BotProject], registry: &ProjectRegistry) {
    let mut taken: Vec<String> =
        registry.names().filter_map(|name| registry.alias(name)).map(str::to_owned).collect();
    for project in projects {
        if let Some(alias) = registry.alias(&project.name) {
            alias.clone_into(&mut project.alias);
            continue;
        }
        let short = match project.kind {
            "nextjs-app" | "react-app" => "fe".to_owned(),
            "dotnet-web" => "be".to_owned(),
            "dotnet-test" | "test-project" => "test".to_owned(),
            _ => abbreviated(&project.name),
        };
        project.alias = free_alias(&short, &taken);
        taken.push(project.alias.clone());
    }
}

/// Returns the alias itself, or the alias with the first free number.
pub(crate) fn free_alias(alias: &str, taken: &[String]) -> String {
    let numbered = (2..).map(|number| format!("{alias}-{number}"));
    std::iter::once(alias.to_owned())
        .chain(numbered)
        .find(|candidate| !taken.contains(candidate))
        .unwrap_or_default()
}

/// Returns the first letters of a name's words, or the start of its only word.
fn abbreviated(name: &str) -> String {
    let words: Vec<&str> = name
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let short: String = match words.as_slice() {
        [] => "project".to_owned(),
        [only] => only.chars().take(4).collect(),
        several => several.iter().filter_map(|word| word.chars().next()).take(4).collect(),
    };
    let short = short.to_ascii_lowercase();
    if short.starts_with(|first: char| first.is_ascii_digit()) {
        format!("p{short}")
    } else {
        short
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tools::bot::folder::SolutionRoot;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let made = tempfile::tempdir().unwrap();
        fs::create_dir(made.path().join(".bot")).unwrap();
        for (path, text) in files {
            let path = made.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let folder = BotFolder::find(&SolutionRoot::At(made.path().to_owned())).unwrap().unwrap();
        let projects = BotProjects::find(&folder, &ProjectRegistry::empty());
        let told = |project: &BotProject| {
            let BotProject { name, kind, path, version, framework, dependencies, alias } = project;
            let (version, framework) =
                (version.as_deref().unwrap_or("-"), framework.as_deref().unwrap_or("-"));
            format!("{alias} {name} {kind} {path} {version} {framework} {dependencies:?}")
        };
        projects.all.iter().map(told).collect()
    }

    #[test]
    fn manifests_make_projects() {
        let web = r#"<Project Sdk="Microsoft.NET.Sdk.Web"><PropertyGroup><TargetFramework>net10.0</TargetFramework>
            </PropertyGroup><ItemGroup><PackageReference Include="MediatR" /></ItemGroup></BotProject>"#;
        let tests = r#"<BotProject><ItemGroup><PackageReference Include="xunit" /></ItemGroup></BotProject>"#;
        let crate_manifest = "[workspace]\n[package]\nname = \"tide-tables\" # comment\nversion.workspace = true\n\
                              edition = '2024'\n[dependencies]\nserde = \"1\"\n# none\n[dev-dependencies]\na = \"1\"\n";
        insta::assert_debug_snapshot!(
            found(&[
                ("api/Harbour.Api.csproj", web),
                ("api.tests/Harbour.Api.Tests.csproj", tests),
                ("cli/Cli.csproj", "<OutputType>Exe</OutputType>"),
                ("web/package.json", r#"{"name": "web", "version": "1.2.0", "dependencies": {"next": "16"}}"#),
                ("admin/package.json", r#"{"name": "web", "dependencies": {"react": "19"}}"#),
                ("e2e/package.json", r#"{"devDependencies": {"vitest": "4"}}"#),
                ("tides/Cargo.toml", crate_manifest),
                ("tides/src/main.rs", ""),
                ("jobs/pyproject.toml", "[project]\nname = \"berth-jobs\"\nrequires-python = \">=3.12\"\n"),
                ("gate/go.mod", "module example.org/harbour/gate\n\ngo 1.25\n"),
                // None of these is a project of the solution.
                ("Cargo.toml", "[workspace]\nmembers = []\n"),
                ("node_modules/x/package.json", "{}"),
                (".hidden/package.json", "{}"),
                ("broken/package.json", "{"),
                ("empty/pyproject.toml", ""),
            ]),
            @r#"
        [
            "fe web react-app admin - React 19 Some(1)",
            "test Harbour.Api.Tests dotnet-test api.tests - - Some(1)",
            "be Harbour.Api dotnet-web api - net10.0 Some(1)",
            "cli Cli dotnet-console cli - - Some(0)",
            "test-2 e2e test-project e2e - - Some(1)",
            "gate gate go-module gate - Go 1.25 None",
            "bj berth-jobs python-package jobs - Python >=3.12 None",
            "tt tide-tables rust-binary tides - Rust 2024 Some(2)",
            "fe-2 web (web) nextjs-app web 1.2.0 Next.js 16 Some(1)",
        ]
        "#
        );
    }

    #[test]
    fn aliases_are_short_and_free() {
        let taken = ["be".to_owned(), "be-2".to_owned()];
        assert_eq!(free_alias("be", &taken), "be-3");
        assert_eq!(free_alias("fe", &taken), "fe");
        for (name, short) in [
            ("answerback-cli", "ac"),
            ("Harbour.Api.Core", "hac"),
            ("tides", "tide"),
            ("2fast", "p2fas"),
            ("日本", "project"),
            ("", "project"),
        ] {
            assert_eq!(abbreviated(name), short, "{name}");
        }
    }
}
