//! Every code of the catalogue that can occur, each brought about once in every tool that can give it.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::scene::Scene;

const REGISTRY: &str = ".bot/solution/projects.json";
const STATE: &str = ".bot/.dotbot-state.json";
const MISSION: &str = ".bot/product/mission.md";
const NAMING: &str = ".bot/standards/global/naming.md";

/// What is done to a good solution, the call, and the issues that come of it: `!CODE path` an error, `CODE path` a
/// warning, in the order of the answer, errors first.
type Case = (&'static str, fn(&Scene), &'static str, Value, &'static [&'static str]);

fn cases() -> Vec<Case> {
    let none = json!({});
    let full = json!({"check_level": "comprehensive"});
    let web = json!({"project_name": "harbour-web"});
    vec![
        // A good solution.
        (
            "good",
            |_| {},
            "solution_info",
            json!({"include_mission": true, "include_roadmap": true}),
            &[],
        ),
        ("good", |_| {}, "solution_structure", json!({"include_dependencies": true}), &[]),
        ("good", |_| {}, "solution_standards_list", none.clone(), &[]),
        (
            "good",
            |_| {},
            "solution_standards_list",
            json!({"applicable_to": "fe", "domain": "frontend"}),
            &[],
        ),
        ("good", |_| {}, "solution_project_register", web.clone(), &[]),
        ("good", |_| {}, "solution_health_check", full.clone(), &[]),
        // No solution.
        (
            "no .bot",
            |scene| scene.remove(".bot"),
            "solution_info",
            none.clone(),
            &["!DOTBOT_NOT_FOUND -"],
        ),
        (
            "no .bot",
            |scene| scene.remove(".bot"),
            "solution_structure",
            none.clone(),
            &["!DOTBOT_NOT_FOUND -"],
        ),
        (
            "no .bot",
            |scene| scene.remove(".bot"),
            "solution_standards_list",
            none.clone(),
            &["!DOTBOT_NOT_FOUND -"],
        ),
        (
            "no .bot",
            |scene| scene.remove(".bot"),
            "solution_project_register",
            web.clone(),
            &["!DOTBOT_NOT_FOUND -"],
        ),
        (
            "no .bot",
            |scene| scene.remove(".bot"),
            "solution_health_check",
            none.clone(),
            &["!DOTBOT_NOT_FOUND -"],
        ),
        (
            ".bot is a file",
            |scene| {
                scene.remove(".bot");
                scene.put(".bot", "");
            },
            "solution_info",
            none.clone(),
            &["!DOTBOT_NOT_FOUND -"],
        ),
        // The state.
        (
            "no state",
            |scene| scene.remove(STATE),
            "solution_info",
            none.clone(),
            &["!STATE_FILE_INVALID .bot/.dotbot-state.json"],
        ),
        (
            "broken state",
            |scene| scene.put(STATE, "{"),
            "solution_info",
            none.clone(),
            &["!STATE_FILE_INVALID .bot/.dotbot-state.json"],
        ),
        (
            "empty state",
            |scene| scene.put(STATE, "{}"),
            "solution_health_check",
            json!({"check_level": "basic"}),
            &["!STATE_FILE_INVALID .bot/.dotbot-state.json"],
        ),
        // Projects.
        (
            "unknown project",
            |_| {},
            "solution_project_register",
            json!({"project_name": "habour-web"}),
            &["!PROJECT_NOT_FOUND -"],
        ),
        (
            "unknown project",
            |_| {},
            "solution_standards_list",
            json!({"applicable_to": "be-2"}),
            &["!PROJECT_NOT_FOUND -"],
        ),
        (
            "project gone",
            |scene| scene.remove("web"),
            "solution_structure",
            none.clone(),
            &["PROJECT_NOT_FOUND .bot/solution/projects.json"],
        ),
        (
            "project gone",
            |scene| scene.remove("web"),
            "solution_health_check",
            none.clone(),
            &["PROJECT_NOT_FOUND .bot/solution/projects.json"],
        ),
        (
            "alias taken",
            |_| {},
            "solution_project_register",
            json!({"project_name": "be", "alias": "fe"}),
            &["!ALIAS_CONFLICT .bot/solution/projects.json"],
        ),
        (
            "alias twice",
            alias_twice,
            "solution_structure",
            none.clone(),
            &["ALIAS_CONFLICT .bot/solution/projects.json"],
        ),
        (
            "alias twice",
            alias_twice,
            "solution_health_check",
            none.clone(),
            &["!ALIAS_CONFLICT .bot/solution/projects.json"],
        ),
        // The registry.
        (
            "broken registry",
            |scene| scene.put(REGISTRY, "{"),
            "solution_structure",
            none.clone(),
            &["REGISTRY_PARSE_ERROR .bot/solution/projects.json"],
        ),
        (
            "broken registry",
            |scene| scene.put(REGISTRY, "[]"),
            "solution_project_register",
            web.clone(),
            &["!REGISTRY_PARSE_ERROR .bot/solution/projects.json"],
        ),
        (
            "broken registry",
            |scene| scene.put(REGISTRY, ""),
            "solution_health_check",
            none.clone(),
            &["!REGISTRY_PARSE_ERROR .bot/solution/projects.json"],
        ),
        // Files.
        (
            "no stack",
            |scene| scene.remove(".bot/product/tech-stack.md"),
            "solution_health_check",
            none.clone(),
            &["TECH_STACK_MISSING .bot/product/tech-stack.md"],
        ),
        (
            "no standards",
            |scene| scene.remove(".bot/standards"),
            "solution_standards_list",
            none.clone(),
            &["STANDARDS_NOT_FOUND .bot/standards"],
        ),
        (
            "no standards",
            |scene| scene.remove(".bot/standards"),
            "solution_health_check",
            none.clone(),
            &["STANDARDS_NOT_FOUND .bot/standards"],
        ),
        (
            "no front matter",
            |scene| scene.put(NAMING, "# Naming\n"),
            "solution_standards_list",
            none.clone(),
            &["FRONTMATTER_MISSING .bot/standards/global/naming.md"],
        ),
        (
            "no front matter",
            |scene| scene.put(NAMING, "# Naming\n"),
            "solution_health_check",
            full.clone(),
            &["FRONTMATTER_MISSING .bot/standards/global/naming.md"],
        ),
        (
            "no front matter",
            |scene| scene.put(MISSION, "# Mission\n"),
            "solution_info",
            none.clone(),
            &["FRONTMATTER_MISSING .bot/product/mission.md"],
        ),
        (
            "bad YAML",
            |scene| scene.edit(NAMING, "id: naming", "id: ["),
            "solution_standards_list",
            none.clone(),
            &["FRONTMATTER_INVALID .bot/standards/global/naming.md"],
        ),
        (
            "bad member",
            |scene| scene.edit(NAMING, "domain: global", "domian: global"),
            "solution_health_check",
            full.clone(),
            &["!FRONTMATTER_INVALID .bot/standards/global/naming.md"],
        ),
        (
            "bad member",
            |scene| scene.edit(MISSION, "version: 1.0.0", "version: []"),
            "solution_info",
            none.clone(),
            &["FRONTMATTER_INVALID .bot/product/mission.md"],
        ),
        // References.
        (
            "nothing there",
            |scene| scene.edit(".bot/agents/builder.md", "naming.md", "namings.md"),
            "solution_health_check",
            full.clone(),
            &["!BROKEN_FILE_REFERENCE .bot/agents/builder.md"],
        ),
        (
            "no such agent",
            |scene| {
                scene.edit(
                    ".bot/workflows/planning/plan-feature.md",
                    "agent: planner",
                    "agent: plannr",
                )
            },
            "solution_health_check",
            full.clone(),
            &["!BROKEN_FILE_REFERENCE .bot/workflows/planning/plan-feature.md"],
        ),
        (
            "leads out",
            |scene| {
                scene.edit(
                    ".bot/workflows/implementation/build-feature.md",
                    ".bot/product/tech-stack.md",
                    "../../etc/passwd",
                )
            },
            "solution_health_check",
            full.clone(),
            &["!BROKEN_FILE_REFERENCE .bot/workflows/implementation/build-feature.md"],
        ),
        (
            "circle",
            |scene| {
                scene.edit(
                    ".bot/product/mission.md",
                    "## Users",
                    "@.bot/workflows/planning/plan-feature.md\n## Users",
                )
            },
            "solution_health_check",
            full.clone(),
            &["!CIRCULAR_DEPENDENCY .bot/product/mission.md"],
        ),
        // Arguments.
        (
            "unknown argument",
            |_| {},
            "solution_info",
            json!({"mission": true}),
            &["!INVALID_PARAMETER -"],
        ),
        (
            "wrong type",
            |_| {},
            "solution_structure",
            json!({"include_dependencies": "yes"}),
            &["!INVALID_PARAMETER -"],
        ),
        (
            "wrong level",
            |_| {},
            "solution_health_check",
            json!({"check_level": "deep"}),
            &["!INVALID_PARAMETER -"],
        ),
        (
            "missing, wrong",
            |_| {},
            "solution_project_register",
            json!({"alias": "FE"}),
            &["!INVALID_PARAMETER -"],
        ),
        (
            "no arguments",
            |_| {},
            "solution_project_register",
            Value::Null,
            &["!INVALID_PARAMETER -"],
        ),
        (
            "unknown domain",
            |_| {},
            "solution_standards_list",
            json!({"domain": "backened"}),
            &["!INVALID_PARAMETER -"],
        ),
        // The file system.
        (
            "too large",
            |scene| scene.put(STATE, "x".repeat(2 << 20)),
            "solution_info",
            none.clone(),
            &["!IO_ERROR .bot/.dotbot-state.json"],
        ),
        (
            "not text",
            |scene| scene.put(NAMING, [0xff]),
            "solution_standards_list",
            none.clone(),
            &["IO_ERROR .bot/standards/global/naming.md"],
        ),
        (
            "a folder",
            |scene| folder_instead(scene, REGISTRY),
            "solution_project_register",
            web.clone(),
            &["!IO_ERROR .bot/solution/projects.json"],
        ),
        (
            "not a folder",
            |scene| folder_is_file(scene, ".bot/solution"),
            "solution_project_register",
            web.clone(),
            &["!IO_ERROR .bot/solution"],
        ),
        #[cfg(unix)]
        (
            "link out",
            |scene| link_out(scene, ".bot/solution"),
            "solution_project_register",
            web.clone(),
            &["!UNAUTHORIZED_OPERATION .bot/solution"],
        ),
        #[cfg(unix)]
        (
            "link out",
            |scene| link_out(scene, REGISTRY),
            "solution_structure",
            none.clone(),
            &["UNAUTHORIZED_OPERATION .bot/solution/projects.json"],
        ),
        #[cfg(unix)]
        (
            "link out",
            |scene| link_out(scene, ".bot/standards"),
            "solution_standards_list",
            none.clone(),
            &["UNAUTHORIZED_OPERATION .bot/standards", "STANDARDS_NOT_FOUND .bot/standards"],
        ),
        #[cfg(unix)]
        (
            "link out",
            |scene| link_out(scene, ".bot"),
            "solution_info",
            none.clone(),
            &["!UNAUTHORIZED_OPERATION .bot"],
        ),
        #[cfg(unix)]
        (
            "link out",
            |scene| link_out(scene, ".bot/agents"),
            "solution_health_check",
            none.clone(),
            &["!UNAUTHORIZED_OPERATION .bot/agents"],
        ),
        // Only a part.
        (
            "no roadmap",
            |scene| scene.remove(".bot/product/roadmap.md"),
            "solution_info",
            json!({"include_roadmap": true}),
            &["PARTIAL_RESULT .bot/product/roadmap.md"],
        ),
        (
            "too deep",
            |scene| scene.put(&format!("web/{}package.json", "a/".repeat(20)), "{}"),
            "solution_structure",
            none,
            &["PARTIAL_RESULT -"],
        ),
        (
            "too deep",
            |scene| scene.put(&format!(".bot/agents/{}a.md", "a/".repeat(20)), ""),
            "solution_health_check",
            json!({"check_level": "basic"}),
            &["PARTIAL_RESULT .bot/agents"],
        ),
    ]
}

fn alias_twice(scene: &Scene) {
    let more = "\"projects\": {\"Harbour.Api\": {\"alias\": \"fe\"},";
    scene.edit(REGISTRY, "\"projects\": {", more);
}

fn folder_instead(scene: &Scene, path: &str) {
    scene.remove(path);
    fs::create_dir(scene.path(path)).unwrap();
}

fn folder_is_file(scene: &Scene, path: &str) {
    scene.remove(path);
    scene.put(path, "");
}

/// Moves something out of the solution and leaves a link to it.
#[cfg(unix)]
fn link_out(scene: &Scene, path: &str) {
    let moved = scene.outside().join("elsewhere");
    fs::rename(scene.path(path), &moved).unwrap();
    std::os::unix::fs::symlink(moved, scene.path(path)).unwrap();
}

fn told(document: &Value) -> Vec<String> {
    let list = |name: &str, mark: &str| {
        let issues = document[name].as_array().unwrap();
        let told = |issue: &Value| {
            let path = issue["path"].as_str().unwrap_or("-");
            format!("{mark}{} {path}", issue["code"].as_str().unwrap())
        };
        issues.iter().map(told).collect::<Vec<_>>()
    };
    [list("errors", "!"), list("warnings", "")].concat()
}

#[test]
fn every_code_comes_from_what_it_stands_for() {
    for (name, spoil, tool, arguments, expected) in cases() {
        let scene = Scene::harbour();
        spoil(&scene);
        let document = scene.call(tool, &arguments);
        assert_eq!(told(&document), expected, "{name}: {tool} {arguments}\n{document:#}");
        // Whoever can be helped by one of our tools is told which.
        let next = document["intent"]["recommended_next"].as_str();
        let names: Vec<String> =
            scene.tools.definitions().map(|definition| definition.name.to_owned()).collect();
        assert!(next.is_none_or(|next| names.contains(&next.replace('.', "_"))), "{document:#}");
        let text = document.to_string();
        assert!(!text.contains(scene.path("").to_str().unwrap()), "a path of this machine: {text}");
    }
}

#[test]
fn no_code_is_left_out() {
    let mut seen = BTreeSet::new();
    for (_, _, _, _, expected) in cases() {
        let codes = expected.iter().filter_map(|told| told.split(' ').next());
        seen.extend(codes.map(|code| code.trim_start_matches('!')));
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
    // Links are made on Unix only.
    let wanted = wanted.into_iter().filter(|code| cfg!(unix) || *code != "UNAUTHORIZED_OPERATION");
    assert_eq!(seen, wanted.collect());
}
