//! `solution.project.register`: registers the metadata of a project.

use answerback::contract::tool::{Action, ErrorObject, Intent};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::shared_text::no_project;
use super::{EnvelopeDraft, SolutionTool, ToolRun};
use crate::tools::bot::file_error::BotFileError;
use crate::tools::bot::folder::BotFolder;
use crate::tools::bot::project::{BotProjects, free_alias};
use crate::tools::bot::registry::{ProjectRegistry, REGISTRY, RegistryMetadata, WriterTurn};
use crate::tools::call::BuiltinCallError;
use crate::tools::definition::{BuiltinToolDefinition, envelope_schema};
use crate::tools::issue::{code, count_noun, quoted};

#[derive(Deserialize)]
struct Arguments {
    project_name: String,
    alias: Option<String>,
    summary: Option<String>,
    tags: Option<Vec<String>>,
    owner: Option<String>,
}

pub(super) fn definition() -> BuiltinToolDefinition {
    let entry = json!({
        "type": "object",
        "properties": {
            "alias": {"type": ["string", "null"]},
            "summary": {"type": ["string", "null"]},
            "tags": {"type": ["array", "null"], "items": {"type": "string"}},
            "owner": {"type": ["string", "null"]},
            "registered_at": {"type": ["string", "null"]},
        },
        "required": ["alias", "summary", "tags", "owner", "registered_at"],
    });
    BuiltinToolDefinition::new(
        "solution_project_register",
        "Register a project",
        "Registers a project of the solution, or updates what is registered: alias, summary, tags, owner. What is left \
         out stays as it is. The project must exist: solution_structure lists them. Writes \
         .bot/solution/projects.json.",
        json!({
            "type": "object",
            "properties": {
                "project_name": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 128,
                    "description": "The project, by its name or alias as solution_structure tells it.",
                    "examples": ["harbour-web"],
                },
                "alias": {
                    "type": "string",
                    "pattern": "^[a-z][a-z0-9-]{0,31}$",
                    "description": "A short name that no other project has: a lower-case letter, then lower-case letters, digits and hyphens.",
                    "examples": ["fe", "be-core"],
                },
                "summary": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 500,
                    "description": "What the project is for, in a sentence.",
                },
                "tags": {
                    "type": "array",
                    "maxItems": 20,
                    "uniqueItems": true,
                    "items": {"type": "string", "minLength": 1, "maxLength": 64},
                    "description": "Words by which standards address it; they replace the registered ones.",
                    "examples": [["api", "backend"]],
                },
                "owner": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 128,
                    "description": "The team or person that answers for it.",
                },
            },
            "required": ["project_name"],
            "additionalProperties": false,
        }),
        envelope_schema(
            SolutionTool::ProjectRegister.name(),
            json!({
                "type": "object",
                "description": "What is registered now; empty when nothing was.",
                "properties": {
                    "success": {"const": true},
                    "project_name": {"type": "string"},
                    "updated": {"type": "boolean", "description": "Whether it was registered before."},
                    "registered_metadata": entry,
                },
                "additionalProperties": false,
            }),
        ),
    )
    .writes()
}

pub(super) fn run(
    arguments: &Value,
    folder: &BotFolder,
    run: &ToolRun<'_>,
) -> Result<EnvelopeDraft, BuiltinCallError> {
    let Arguments { project_name, alias, summary, tags, owner } =
        Arguments::deserialize(arguments)?;
    // The lock covers reading and writing, so that no other process writes in between.
    let _turn = match WriterTurn::take(folder) {
        Ok(turn) => turn,
        Err(trouble) => return Ok(not_written(&trouble)),
    };
    let mut registry = match ProjectRegistry::read(folder)? {
        Ok(registry) => registry,
        Err(issue) => return Ok(unreadable(issue)),
    };
    let projects = BotProjects::find(folder, &registry);
    let Some(project) = projects.named(&project_name) else {
        return Ok(no_project(SolutionTool::ProjectRegister, &project_name, &projects));
    };
    let name = &project.name;
    if let Some(alias) = &alias
        && let Some(holder) = registry
            .names()
            .find(|other| other != name && registry.alias(other) == Some(alias.as_str()))
    {
        return Ok(alias_conflict(alias, holder, name, &registry));
    }
    let is_update = registry.entry(name).is_some();
    let entry =
        registry.register(name, RegistryMetadata { alias, summary, tags, owner }, run.now());
    if let Err(trouble) = registry.write(folder) {
        return Ok(not_written(&trouble));
    }
    let verb = if is_update { "Updated" } else { "Registered" };
    let tags = count_noun(entry.get("tags").and_then(Value::as_array).map_or(0, Vec::len), "tag");
    let summary = match entry.get("alias").and_then(Value::as_str) {
        Some(alias) => format!("{verb} {} with alias {} and {tags}.", quoted(name), quoted(alias)),
        None => format!("{verb} {} with {tags}.", quoted(name)),
    };
    let mut data = Map::new();
    data.insert("success".to_owned(), true.into());
    data.insert("project_name".to_owned(), name.as_str().into());
    data.insert("updated".to_owned(), is_update.into());
    data.insert("registered_metadata".to_owned(), entry.into());
    let view = Action::suggestion(
        "view-structure",
        "View solution structure",
        "See updated project metadata in context",
        SolutionTool::Structure.name(),
    );
    let standards = Action::suggestion(
        "view-standards",
        "List standards for the project",
        "Its tags decide which standards apply",
        SolutionTool::StandardsList.name(),
    );
    let standards = standards.with_parameter("applicable_to", name.as_str());
    let draft =
        EnvelopeDraft { summary, data, write_to: Some(REGISTRY), ..EnvelopeDraft::default() };
    Ok(draft
        .with_intent(Intent::new(
            SolutionTool::Structure.name(),
            "See the project among the others.",
        ))
        .with_action(view)
        .with_action(standards))
}

fn not_written(trouble: &BotFileError) -> EnvelopeDraft {
    EnvelopeDraft::failed(
        "Failed to register project: the registry was not written.",
        trouble.issue(),
    )
}

/// Reports an unreadable registry, which is never overwritten.
fn unreadable(issue: ErrorObject) -> EnvelopeDraft {
    let reason = "The registry has to be mended by hand first: see what else is broken.";
    let intent = Intent::new(SolutionTool::HealthCheck.name(), reason);
    let summary = "Failed to register project: the registry cannot be read and was left as it is.";
    EnvelopeDraft::failed(summary, issue)
        .with_intent(intent.with_parameter("check_level", "standard"))
}

fn alias_conflict(
    alias: &str,
    holder: &str,
    name: &str,
    registry: &ProjectRegistry,
) -> EnvelopeDraft {
    let taken: Vec<String> =
        registry.names().filter_map(|name| registry.alias(name)).map(str::to_owned).collect();
    let free = free_alias(alias, &taken);
    let message = format!("The alias {} belongs to {}", quoted(alias), quoted(holder));
    let error = ErrorObject::new(code::ALIAS_CONFLICT, message)
        .with_path(REGISTRY)
        .with_detail("alias", alias)
        .with_detail("registered_to", holder)
        .with_detail("free_alias", &*free);
    let action = Action::suggestion(
        "use-free-alias",
        format!("Register with alias {}", quoted(&free)),
        "Nobody has this alias",
        SolutionTool::ProjectRegister.name(),
    );
    EnvelopeDraft::failed("Failed to register project: the alias is taken.", error)
        .with_intent(
            Intent::new(SolutionTool::ProjectRegister.name(), "Choose another alias.")
                .with_parameter("project_name", name)
                .with_parameter("alias", &*free),
        )
        .with_action(action.with_parameter("project_name", name).with_parameter("alias", &*free))
}
