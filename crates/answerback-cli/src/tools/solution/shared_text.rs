//! Builds the messages that several tools share, about projects, the registry and searches.

use answerback::contract::tool::{ErrorObject, Intent};
use answerback::message::suggest::nearest;

use super::{EnvelopeDraft, SolutionTool};
use crate::tools::bot::file_error::BotFileErrorKind;
use crate::tools::bot::project::BotProjects;
use crate::tools::bot::registry::{ProjectRegistry, REGISTRY};
use crate::tools::bot::walk::FolderWalk;
use crate::tools::issue::{Issues, code, quoted};

/// Builds the answer if no project has this name or alias.
pub(super) fn no_project(tool: SolutionTool, name: &str, projects: &BotProjects) -> EnvelopeDraft {
    let known: Vec<&str> = projects.names().collect();
    let aliases = projects.all.iter().map(|project| project.alias.as_str());
    let near = nearest(name, known.iter().copied().chain(aliases));
    let message = match near.first() {
        Some(near) => format!(
            "Project {} not found in solution; did you mean {}?",
            quoted(name),
            quoted(near.candidate)
        ),
        None => format!("Project {} not found in solution", quoted(name)),
    };
    let error = ErrorObject::new(code::PROJECT_NOT_FOUND, message)
        .with_detail("searched_name", name)
        .with_detail("available_projects", known);
    let reason = "See which projects there are and how they are called.";
    EnvelopeDraft::failed(format!("Failed to {}: project not found.", tool.aim()), error)
        .with_intent(Intent::new(SolutionTool::Structure.name(), reason))
}

/// Returns the problems of a readable registry. The flag is true for those that the health check reports as errors.
pub(super) fn registry_issues(
    registry: &ProjectRegistry,
    projects: &BotProjects,
) -> Vec<(ErrorObject, bool)> {
    let mut found = Vec::new();
    for (alias, names) in registry.shared_aliases() {
        let message = format!("{} projects have the alias {}", names.len(), quoted(alias));
        let issue = ErrorObject::new(code::ALIAS_CONFLICT, message)
            .with_path(REGISTRY)
            .with_detail("alias", alias)
            .with_detail("projects", names);
        found.push((issue, true));
    }
    // If the search was cut short, a project may exist without being found.
    let gone = registry.names().filter(|name| !projects.names().any(|known| known == *name));
    for name in gone.filter(|_| !projects.walk.is_cut) {
        let message = format!("The project {} is registered and not in the solution", quoted(name));
        let issue = ErrorObject::new(code::PROJECT_NOT_FOUND, message)
            .with_path(REGISTRY)
            .with_detail("searched_name", name);
        found.push((issue, false));
    }
    found
}

/// Reports the files that a search could not read. Links out of the solution are ignored, because their targets are not
/// part of it.
pub(super) fn unseen(walk: &FolderWalk, issues: &mut Issues) {
    for trouble in walk.troubles.iter().filter(|trouble| trouble.kind != BotFileErrorKind::Outside)
    {
        issues.warning(trouble.issue());
    }
    if walk.is_cut {
        issues.warning(cut());
    }
}

/// Builds the warning for a search that a limit ended.
pub(super) fn cut() -> ErrorObject {
    let message =
        "There are more files, or deeper folders, than are looked at; the rest is not told";
    ErrorObject::new(code::PARTIAL_RESULT, message)
}
