//! `solution.structure`: lists the projects of the solution.

use answerback::contract::tool::{Action, Intent};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::shared_text::{registry_issues, unseen};
use super::{EnvelopeDraft, SolutionTool};
use crate::tools::bot::folder::BotFolder;
use crate::tools::bot::project::{BotProject, BotProjects};
use crate::tools::bot::registry::ProjectRegistry;
use crate::tools::call::BuiltinCallError;
use crate::tools::definition::{BuiltinToolDefinition, envelope_schema};
use crate::tools::issue::{Issues, count_noun, plain, quoted};

/// The largest number of suggested actions.
const MOST_ACTIONS: usize = 5;

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    include_dependencies: bool,
}

pub(super) fn definition() -> BuiltinToolDefinition {
    BuiltinToolDefinition::new(
        "solution_structure",
        "Solution structure",
        "Lists the projects of the solution: found by their manifests (.csproj, package.json, Cargo.toml, pyproject.toml, \
         go.mod), described by the registry .bot/solution/projects.json where they are registered. Each has an alias \
         by which other tools know it.",
        json!({
            "type": "object",
            "properties": {
                "include_dependencies": {
                    "type": "boolean",
                    "default": false,
                    "description": "Whether to count the dependencies that .csproj, package.json and Cargo.toml files declare.",
                },
            },
            "additionalProperties": false,
        }),
        envelope_schema(
            SolutionTool::Structure.name(),
            json!({
                "type": "object",
                "description": "The projects; empty when they could not be told.",
                "properties": {
                    "solution_name": {"type": "string"},
                    "solution_root": {"const": ".", "description": "All paths are relative to it."},
                    "projects": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "alias": {"type": "string"},
                                "name": {"type": "string"},
                                "type": {"type": "string"},
                                "path": {"type": "string"},
                                "version": {"type": "string"},
                                "framework": {"type": "string"},
                                "dependency_count": {"type": "integer", "minimum": 0},
                                "summary": {"type": "string"},
                                "tags": {"type": "array", "items": {"type": "string"}},
                                "owner": {"type": "string"},
                                "registered": {"type": "boolean"},
                            },
                            "required": ["alias", "name", "type", "path", "summary", "tags", "registered"],
                            "additionalProperties": false,
                        },
                    },
                },
                "additionalProperties": false,
            }),
        ),
    )
}

pub(super) fn run(
    arguments: &Value,
    folder: &BotFolder,
) -> Result<EnvelopeDraft, BuiltinCallError> {
    let Arguments { include_dependencies } = Arguments::deserialize(arguments)?;
    let mut issues = Issues::default();
    let registry = ProjectRegistry::read(folder)?.unwrap_or_else(|issue| {
        // The projects can be listed without the registry.
        issues.warning(issue);
        ProjectRegistry::empty()
    });
    let projects = BotProjects::find(folder, &registry);
    unseen(&projects.walk, &mut issues);
    for (issue, _) in registry_issues(&registry, &projects) {
        issues.warning(issue);
    }
    let listed: Vec<Value> = projects
        .all
        .iter()
        .map(|project| described(project, &registry, include_dependencies))
        .collect();
    let unregistered: Vec<&str> =
        projects.names().filter(|name| registry.entry(name).is_none()).collect();

    let count = count_noun(projects.all.len(), "project");
    let name = plain(&folder.name(), 80);
    let summary = match (issues.has_warnings(), unregistered.len()) {
        (true, _) => {
            let issues = count_noun(issues.count(), "issue");
            format!("Found {count} in {name} solution, with {issues}.")
        }
        (false, 0) => format!("Found {count} in {name} solution."),
        (false, missing) => format!("Found {count} in {name} solution, {missing} not registered."),
    };
    let mut data = Map::new();
    data.insert("solution_name".to_owned(), folder.name().into());
    data.insert("solution_root".to_owned(), ".".into());
    data.insert("projects".to_owned(), listed.into());
    let mut draft = EnvelopeDraft { summary, data, issues, ..EnvelopeDraft::default() };
    draft.intent = Some(match unregistered.first() {
        Some(first) => {
            let reason = "It is not registered: say what it is for and who owns it.";
            let intent = Intent::new(SolutionTool::ProjectRegister.name(), reason);
            intent.with_parameter("project_name", *first)
        }
        None => Intent::new(
            SolutionTool::StandardsList.name(),
            "The projects are known: see by which standards they are written.",
        ),
    });
    for (index, name) in unregistered.iter().take(MOST_ACTIONS).enumerate() {
        let action = Action::suggestion(
            format!("register-{}", index + 1),
            format!("Register {}", quoted(name)),
            "Its summary, tags and owner are not known yet",
            SolutionTool::ProjectRegister.name(),
        );
        draft = draft.with_action(action.with_parameter("project_name", *name));
    }
    Ok(draft)
}

/// Describes a project. Registered values take precedence over the manifest.
fn described(
    project: &BotProject,
    registry: &ProjectRegistry,
    include_dependencies: bool,
) -> Value {
    let entry = registry.entry(&project.name);
    let registered = |name: &str| {
        let text = entry?.get(name)?.as_str()?;
        (!text.trim().is_empty()).then(|| text.to_owned())
    };
    let tags =
        entry.and_then(|entry| entry.get("tags")?.as_array()).filter(|tags| !tags.is_empty());
    let mut told = json!({
        "alias": project.alias,
        "name": project.name,
        "type": project.kind,
        "path": project.path,
    });
    if let Some(version) = &project.version {
        told["version"] = version.as_str().into();
    }
    if let Some(framework) = &project.framework {
        told["framework"] = framework.as_str().into();
    }
    if let (true, Some(count)) = (include_dependencies, project.dependencies) {
        told["dependency_count"] = count.into();
    }
    told["summary"] =
        registered("summary").unwrap_or_else(|| project.described().to_owned()).into();
    told["tags"] = tags.map_or_else(|| project.tags().into(), |tags| tags.clone().into());
    if let Some(owner) = registered("owner") {
        told["owner"] = owner.into();
    }
    told["registered"] = entry.is_some().into();
    told
}
