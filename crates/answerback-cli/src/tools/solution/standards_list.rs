//! `solution.standards.list`: lists the standards of the solution.

use std::collections::BTreeMap;
use std::fmt::Write;

use answerback::contract::tool::{Action, ErrorObject, Intent};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::shared_text::{cut, no_project};
use super::{EnvelopeDraft, SolutionTool};
use crate::tools::bot::artifact::{BotArtifact, BotArtifactKind};
use crate::tools::bot::folder::BotFolder;
use crate::tools::bot::markdown::Markdown;
use crate::tools::bot::project::{BotProject, BotProjects};
use crate::tools::bot::registry::ProjectRegistry;
use crate::tools::call::BuiltinCallError;
use crate::tools::definition::{BuiltinToolDefinition, envelope_schema};
use crate::tools::issue::{Issues, code, count_noun, plain, quoted};

/// The value of `domain` that selects all domains.
const ALL: &str = "all";
/// The largest number of domains in the summary.
const MOST_DOMAINS: usize = 6;

#[derive(Deserialize)]
struct Arguments {
    domain: Option<String>,
    include_summaries: Option<bool>,
    applicable_to: Option<String>,
}

pub(super) fn definition() -> BuiltinToolDefinition {
    BuiltinToolDefinition::new(
        "solution_standards_list",
        "List standards",
        "Lists the standards of the solution, from .bot/standards: which there are, for which domain, and to what they \
         apply. Read the ones that apply to a project before you change it.",
        json!({
            "type": "object",
            "properties": {
                "domain": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 64,
                    "default": ALL,
                    "description": "Only standards of this domain; the domains are told in data.summary.by_domain.",
                    "examples": [ALL, "global", "backend", "frontend"],
                },
                "include_summaries": {
                    "type": "boolean",
                    "default": true,
                    "description": "Whether to tell the first paragraph of each standard.",
                },
                "applicable_to": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 128,
                    "description": "Only standards that apply to this project, by its name or alias as solution_structure tells it.",
                },
            },
            "additionalProperties": false,
        }),
        envelope_schema(
            SolutionTool::StandardsList.name(),
            json!({
                "type": "object",
                "description": "The standards; empty when they could not be told.",
                "properties": {
                    "standards": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "file": {"type": "string"},
                                "id": {"type": "string"},
                                "domain": {"type": "string"},
                                "title": {"type": "string"},
                                "version": {"type": "string"},
                                "summary": {"type": "string"},
                                "applies_to": {"type": "array", "items": {"type": "string"}},
                            },
                            "required": ["file", "domain", "applies_to"],
                            "additionalProperties": false,
                        },
                    },
                    "summary": {
                        "type": "object",
                        "properties": {
                            "total": {"type": "integer", "minimum": 0},
                            "by_domain": {
                                "type": "object",
                                "additionalProperties": {"type": "integer", "minimum": 1},
                            },
                        },
                        "required": ["total", "by_domain"],
                        "additionalProperties": false,
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
    let arguments = Arguments::deserialize(arguments)?;
    let mut issues = Issues::default();
    let walk = BotArtifactKind::Standard.files(folder);
    let mut standards = Vec::new();
    for path in &walk.files {
        match folder.read(path) {
            Ok(text) => standards.push(BotStandard::of(path, &text)?),
            Err(trouble) => issues.warning(trouble.issue()),
        }
    }
    for trouble in &walk.troubles {
        issues.warning(trouble.issue());
    }
    if walk.is_cut {
        issues.warning(cut());
    }
    if walk.files.is_empty() {
        let message = "The standards folder is missing or has no .md files";
        issues.warning(
            ErrorObject::new(code::STANDARDS_NOT_FOUND, message)
                .with_path(BotArtifactKind::Standard.folder()),
        );
    }

    let project = match &arguments.applicable_to {
        None => None,
        Some(name) => {
            // This tool ignores an unreadable registry; `solution.structure` reports it.
            let registry =
                ProjectRegistry::read(folder)?.unwrap_or_else(|_| ProjectRegistry::empty());
            let projects = BotProjects::find(folder, &registry);
            match projects.named(name) {
                Some(project) => Some((project.clone(), registry)),
                None => return Ok(no_project(SolutionTool::StandardsList, name, &projects)),
            }
        }
    };
    if let Some(domain) = &arguments.domain
        && domain != ALL
        && !standards.is_empty()
        && !standards.iter().any(|standard| standard.domain == *domain)
    {
        return Ok(no_domain(domain, &standards));
    }

    standards.retain(|standard| {
        let in_domain = arguments
            .domain
            .as_ref()
            .is_none_or(|domain| domain == ALL || *domain == standard.domain);
        let applies = project
            .as_ref()
            .is_none_or(|(project, registry)| standard.applies_to(project, registry));
        in_domain && applies
    });
    let include_summaries = arguments.include_summaries != Some(false);
    let mut by_domain: BTreeMap<&str, usize> = BTreeMap::new();
    for standard in &standards {
        *by_domain.entry(&standard.domain).or_default() += 1;
        if let Some(flaw) = &standard.artifact.flaw {
            issues.warning(flaw.clone());
        }
    }
    let mut data = Map::new();
    let listed: Vec<Value> =
        standards.iter().map(|standard| standard.told(include_summaries)).collect();
    data.insert("standards".to_owned(), listed.into());
    data.insert("summary".to_owned(), json!({"total": standards.len(), "by_domain": by_domain}));
    let summary = told(&by_domain, standards.len(), &issues);
    let mut draft = EnvelopeDraft { summary, data, issues, ..EnvelopeDraft::default() };
    if draft.issues.has_warnings() {
        let reason =
            "Some standards are not as they should be: see all that is wrong with the solution.";
        let intent = Intent::new(SolutionTool::HealthCheck.name(), reason);
        draft.intent = Some(intent.with_parameter("check_level", "comprehensive"));
    } else if project.is_none() {
        let action = Action::suggestion(
            "view-structure",
            "View solution structure",
            "A project's alias narrows the list with applicable_to",
            SolutionTool::Structure.name(),
        );
        draft = draft.with_action(action);
    }
    Ok(draft)
}

fn told(by_domain: &BTreeMap<&str, usize>, total: usize, issues: &Issues) -> String {
    let mut summary = format!("Found {}", count_noun(total, "standard"));
    if total > 0 {
        let named = by_domain.iter().take(MOST_DOMAINS);
        let named = named.map(|(domain, count)| format!("{}: {count}", plain(domain, 40)));
        let more = if by_domain.len() > MOST_DOMAINS { ", …" } else { "" };
        let domains = count_noun(by_domain.len(), "domain");
        let named = named.collect::<Vec<_>>().join(", ");
        // Writing to a string cannot fail.
        let _ = write!(summary, " across {domains} ({named}{more})");
    }
    if issues.has_warnings() {
        let _ = write!(summary, ", with {}", count_noun(issues.count(), "issue"));
    }
    summary.push('.');
    summary
}

fn no_domain(domain: &str, standards: &[BotStandard]) -> EnvelopeDraft {
    let mut domains: Vec<&str> =
        standards.iter().map(|standard| standard.domain.as_str()).collect();
    domains.sort_unstable();
    domains.dedup();
    let message = format!("No standard has the domain {}", quoted(domain));
    let error = ErrorObject::new(code::INVALID_PARAMETER, message)
        .with_detail("parameter", "domain")
        .with_detail("available_domains", domains);
    let reason = "All domains are listed without the argument.";
    EnvelopeDraft::failed("Failed to list the standards: no such domain.", error)
        .with_intent(Intent::new(SolutionTool::StandardsList.name(), reason))
}

/// A parsed standard.
struct BotStandard {
    artifact: BotArtifact,
    text: Markdown,
    domain: String,
}

impl BotStandard {
    fn of(path: &str, text: &str) -> Result<Self, BuiltinCallError> {
        let artifact = BotArtifact::of(BotArtifactKind::Standard, path, text)?;
        let text = Markdown::read(&artifact.body);
        // If a standard declares no domain, its folder is the domain.
        let below = path
            .strip_prefix(BotArtifactKind::Standard.folder())
            .unwrap_or(path)
            .trim_start_matches('/');
        let folder = below.split_once('/').map_or("global", |(folder, _)| folder);
        let domain = artifact.text("domain").filter(|domain| !domain.trim().is_empty());
        let domain = domain.unwrap_or(folder).to_owned();
        Ok(Self { artifact, text, domain })
    }

    /// True if the standard applies to all projects, or to this project's name, alias, type or a tag.
    fn applies_to(&self, project: &BotProject, registry: &ProjectRegistry) -> bool {
        let named = self.artifact.texts("applies_to");
        let entry = registry.entry(&project.name);
        let registered = entry.and_then(|entry| entry.get("tags")?.as_array());
        let has_tag = |word: &str| {
            project.tags().contains(&word)
                || registered.is_some_and(|tags| tags.iter().any(|tag| tag.as_str() == Some(word)))
        };
        named.is_empty()
            || named.iter().any(|word| {
                matches!(*word, ALL | "all-projects" | "*")
                    || [project.name.as_str(), &project.alias, project.kind].contains(word)
                    || has_tag(word)
            })
    }

    fn told(&self, include_summary: bool) -> Value {
        let mut told = json!({"file": self.artifact.path});
        if let Some(id) = self.artifact.text("id") {
            told["id"] = id.into();
        }
        told["domain"] = self.domain.as_str().into();
        if let Some(title) = &self.text.title {
            told["title"] = title.as_str().into();
        }
        if let Some(version) = self.artifact.version() {
            told["version"] = version.into();
        }
        if let (true, Some(summary)) = (include_summary, &self.text.summary) {
            told["summary"] = summary.as_str().into();
        }
        told["applies_to"] = self.artifact.texts("applies_to").into();
        told
    }
}
