//! Triggers every possible code of the catalogue in every tool that can report it.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::scene::Scene;

const REGISTRY: &str = ".bot/solution/projects.json";
const STATE: &str = ".bot/.dotbot-state.json";
const MISSION: &str = ".bot/product/mission.md";
const NAMING: &str = ".bot/standards/global/naming.md";
const PLAN: &str = ".bot/workflows/planning/plan-feature.md";
const BUILD: &str = ".bot/workflows/implementation/build-feature.md";

/// Columns: the change to a valid solution; the tool without `solution_`; its arguments; the expected issues. Errors
/// come first and have a `!`. Each issue is followed by its file.
const CASES: &str = r#"
good            | info             | {"include_mission": true, "include_roadmap": true} |
good            | structure        | {"include_dependencies": true}             |
good            | standards_list   | {}                                         |
good            | standards_list   | {"applicable_to": "fe", "domain": "frontend"} |
good            | project_register | {"project_name": "harbour-web"}            |
good            | health_check     | {"check_level": "comprehensive"}           |
no .bot         | info             | {}                                         | !DOTBOT_NOT_FOUND
no .bot         | structure        | {}                                         | !DOTBOT_NOT_FOUND
no .bot         | standards_list   | {}                                         | !DOTBOT_NOT_FOUND
no .bot         | project_register | {"project_name": "harbour-web"}            | !DOTBOT_NOT_FOUND
no .bot         | health_check     | {}                                         | !DOTBOT_NOT_FOUND
.bot is a file  | info             | {}                                         | !DOTBOT_NOT_FOUND
no state        | info             | {}                                         | !STATE_FILE_INVALID .bot/.dotbot-state.json
state no JSON   | info             | {}                                         | !STATE_FILE_INVALID .bot/.dotbot-state.json
state empty     | health_check     | {"check_level": "basic"}                   | !STATE_FILE_INVALID .bot/.dotbot-state.json
good            | project_register | {"project_name": "habour-web"}             | !PROJECT_NOT_FOUND
good            | standards_list   | {"applicable_to": "be-2"}                  | !PROJECT_NOT_FOUND
project gone    | structure        | {}                                         | PROJECT_NOT_FOUND .bot/solution/projects.json
project gone    | health_check     | {}                                         | PROJECT_NOT_FOUND .bot/solution/projects.json
good            | project_register | {"project_name": "be", "alias": "fe"}      | !ALIAS_CONFLICT .bot/solution/projects.json
alias twice     | structure        | {}                                         | ALIAS_CONFLICT .bot/solution/projects.json
alias twice     | health_check     | {}                                         | !ALIAS_CONFLICT .bot/solution/projects.json
registry broken | structure        | {}                                         | REGISTRY_PARSE_ERROR .bot/solution/projects.json
registry broken | project_register | {"project_name": "harbour-web"}            | !REGISTRY_PARSE_ERROR .bot/solution/projects.json
registry broken | health_check     | {}                                         | !REGISTRY_PARSE_ERROR .bot/solution/projects.json
no stack        | health_check     | {}                                         | TECH_STACK_MISSING .bot/product/tech-stack.md
no standards    | standards_list   | {}                                         | STANDARDS_NOT_FOUND .bot/standards
no standards    | health_check     | {"check_level": "basic"}                   | STANDARDS_NOT_FOUND .bot/standards
naming bare     | standards_list   | {}                                         | FRONTMATTER_MISSING .bot/standards/global/naming.md
naming bare     | health_check     | {"check_level": "comprehensive"}           | FRONTMATTER_MISSING .bot/standards/global/naming.md
mission bare    | info             | {}                                         | FRONTMATTER_MISSING .bot/product/mission.md
naming no YAML  | standards_list   | {}                                         | FRONTMATTER_INVALID .bot/standards/global/naming.md
naming member   | health_check     | {"check_level": "comprehensive"}           | !FRONTMATTER_INVALID .bot/standards/global/naming.md
mission member  | info             | {}                                         | FRONTMATTER_INVALID .bot/product/mission.md
text to nothing | health_check     | {"check_level": "comprehensive"}           | !BROKEN_FILE_REFERENCE .bot/agents/builder.md
no such agent   | health_check     | {"check_level": "comprehensive"}           | !BROKEN_FILE_REFERENCE .bot/workflows/planning/plan-feature.md
file outside    | health_check     | {"check_level": "comprehensive"}           | !BROKEN_FILE_REFERENCE .bot/workflows/implementation/build-feature.md
circle          | health_check     | {"check_level": "comprehensive"}           | !CIRCULAR_DEPENDENCY .bot/product/mission.md
good            | info             | {"mission": true}                          | !INVALID_PARAMETER
good            | structure        | {"include_dependencies": "yes"}            | !INVALID_PARAMETER
good            | health_check     | {"check_level": "deep"}                    | !INVALID_PARAMETER
good            | project_register | {"alias": "FE"}                            | !INVALID_PARAMETER
good            | project_register | null                                       | !INVALID_PARAMETER
good            | standards_list   | {"domain": "backened"}                     | !INVALID_PARAMETER
state large     | info             | {}                                         | !IO_ERROR .bot/.dotbot-state.json
naming no text  | standards_list   | {}                                         | IO_ERROR .bot/standards/global/naming.md
naming no text  | health_check     | {"check_level": "comprehensive"}           | !IO_ERROR .bot/standards/global/naming.md
registry folder | project_register | {"project_name": "harbour-web"}            | !IO_ERROR .bot/solution/projects.json
folder a file   | project_register | {"project_name": "harbour-web"}            | !IO_ERROR .bot/solution/projects.json
no roadmap      | info             | {"include_roadmap": true}                  | PARTIAL_RESULT .bot/product/roadmap.md
deep projects   | structure        | {}                                         | PARTIAL_RESULT
deep agents     | health_check     | {"check_level": "basic"}                   | PARTIAL_RESULT .bot/agents
"#;

/// The same table for links that lead out of the solution.
#[cfg(unix)]
const LINKS: &str = r#"
out .bot          | info             | {} | !UNAUTHORIZED_OPERATION .bot
out .bot/solution | project_register | {"project_name": "harbour-web"} | !UNAUTHORIZED_OPERATION .bot/solution
out .bot/solution/projects.json | structure | {} | UNAUTHORIZED_OPERATION .bot/solution/projects.json
out .bot/solution/projects.json | project_register | {"project_name": "harbour-web"} | !UNAUTHORIZED_OPERATION .bot/solution/projects.json
out .bot/standards | standards_list  | {} | UNAUTHORIZED_OPERATION .bot/standards, STANDARDS_NOT_FOUND .bot/standards
out .bot/agents   | health_check     | {} | !UNAUTHORIZED_OPERATION .bot/agents
out web           | structure        | {} | PROJECT_NOT_FOUND .bot/solution/projects.json
"#;
#[cfg(not(unix))]
const LINKS: &str = "";

fn spoil(scene: &Scene, how: &str) {
    match how {
        "good" => {}
        "no .bot" => scene.remove(".bot"),
        ".bot is a file" => {
            scene.remove(".bot");
            scene.put(".bot", "");
        }
        "no state" => scene.remove(STATE),
        "state no JSON" => scene.put(STATE, "{"),
        "state empty" => scene.put(STATE, "{}"),
        "state large" => scene.put(STATE, "x".repeat(2 << 20)),
        "project gone" => scene.remove("web"),
        "alias twice" => {
            let more = r#""projects": {"Harbour.Api": {"alias": "fe"},"#;
            scene.edit(REGISTRY, r#""projects": {"#, more);
        }
        "registry broken" => scene.put(REGISTRY, "{"),
        "registry folder" => {
            scene.remove(REGISTRY);
            fs::create_dir(scene.path(REGISTRY)).unwrap();
        }
        "folder a file" => {
            scene.remove(".bot/solution");
            scene.put(".bot/solution", "");
        }
        "no stack" => scene.remove(".bot/product/tech-stack.md"),
        "no roadmap" => scene.remove(".bot/product/roadmap.md"),
        "no standards" => scene.remove(".bot/standards"),
        "naming bare" => scene.put(NAMING, "# Naming\n"),
        "naming no YAML" => scene.edit(NAMING, "id: naming", "id: ["),
        "naming member" => scene.edit(NAMING, "domain: global", "domian: global"),
        "naming no text" => {
            scene.edit(".bot/agents/builder.md", "@.bot/", ".bot/");
            scene.put(NAMING, [0xff]);
        }
        "mission bare" => scene.put(MISSION, "# Mission\n"),
        "mission member" => scene.edit(MISSION, "version: 1.0.0", "version: []"),
        "text to nothing" => scene.edit(".bot/agents/builder.md", "naming.md", "namings.md"),
        "no such agent" => scene.edit(PLAN, "agent: planner", "agent: plannr"),
        "file outside" => scene.edit(BUILD, ".bot/product/tech-stack.md", "../../etc/passwd"),
        "circle" => scene.edit(MISSION, "## Users", &format!("@{PLAN}\n## Users")),
        "deep projects" => scene.put(&format!("web/{}package.json", "a/".repeat(20)), "{}"),
        "deep agents" => scene.put(&format!(".bot/agents/{}a.md", "a/".repeat(20)), ""),
        #[cfg(unix)]
        link if link.starts_with("out ") => {
            let path = scene.path(link.trim_start_matches("out "));
            let moved = scene.outside().join("elsewhere");
            fs::rename(&path, &moved).unwrap();
            std::os::unix::fs::symlink(moved, path).unwrap();
        }
        other => panic!("nobody knows how to make: {other}"),
    }
}

/// Formats the issues of an answer as in the table.
fn told(document: &Value) -> String {
    let mut told = Vec::new();
    for (name, mark) in [("errors", "!"), ("warnings", "")] {
        for issue in document[name].as_array().unwrap() {
            let (code, path) = (issue["code"].as_str().unwrap(), issue["path"].as_str());
            told.push(format!("{mark}{code} {}", path.unwrap_or_default()).trim().to_owned());
        }
    }
    told.join(", ")
}

fn cases() -> impl Iterator<Item = [&'static str; 4]> {
    let lines = CASES.lines().chain(LINKS.lines()).filter(|line| !line.is_empty());
    lines.map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        cells.try_into().unwrap_or_else(|_| panic!("four cells: {line}"))
    })
}

#[test]
fn every_code_comes_from_what_it_stands_for() {
    for [how, tool, arguments, expected] in cases() {
        let scene = Scene::harbour();
        spoil(&scene, how);
        let arguments = serde_json::from_str(arguments).unwrap();
        let document = scene.call(&format!("solution_{tool}"), &arguments);
        assert_eq!(told(&document), expected, "{how}: {tool} {arguments}\n{document:#}");
        // A suggested next tool must be one of ours.
        if let Some(next) = document["intent"]["recommended_next"].as_str() {
            let called = next.replace('.', "_");
            assert!(scene.tools.definitions().any(|tool| tool.name == called), "{document:#}");
        }
        let text = document.to_string();
        assert!(!text.contains(scene.path("").to_str().unwrap()), "a path of this machine: {text}");
    }
}

#[test]
fn no_code_is_left_out() {
    let mut seen = BTreeSet::new();
    for [_, _, _, expected] in cases() {
        let codes = expected.split(", ").filter_map(|told| told.split(' ').next());
        seen.extend(codes.map(|code| code.trim_start_matches('!')).filter(|code| !code.is_empty()));
    }
    let wanted = [
        "DOTBOT_NOT_FOUND",
        "STATE_FILE_INVALID",
        "PROJECT_NOT_FOUND",
        "ALIAS_CONFLICT",
        "REGISTRY_PARSE_ERROR",
        "TECH_STACK_MISSING",
        "STANDARDS_NOT_FOUND",
        "BROKEN_FILE_REFERENCE",
        "FRONTMATTER_MISSING",
        "FRONTMATTER_INVALID",
        "CIRCULAR_DEPENDENCY",
        "INVALID_PARAMETER",
        "IO_ERROR",
        "UNAUTHORIZED_OPERATION",
        "PARTIAL_RESULT",
    ];
    // The test creates links only on Unix.
    let wanted = wanted.into_iter().filter(|code| cfg!(unix) || *code != "UNAUTHORIZED_OPERATION");
    assert_eq!(seen, wanted.collect());
}
