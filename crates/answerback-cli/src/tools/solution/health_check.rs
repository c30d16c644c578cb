//! `solution.health.check`: checks a solution for problems and possible improvements.

use std::collections::{BTreeMap, BTreeSet};

use answerback::contract::tool::{Action, ErrorObject, Intent};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::info::{MISSION, ROADMAP};
use super::shared_text::{cut, registry_issues, unseen};
use super::{EnvelopeDraft, SolutionTool};
use crate::tools::bot::artifact::{BotArtifact, BotArtifactKind};
use crate::tools::bot::folder::BotFolder;
use crate::tools::bot::project::BotProjects;
use crate::tools::bot::reference::{circles, references};
use crate::tools::bot::registry::ProjectRegistry;
use crate::tools::bot::state::InstallationState;
use crate::tools::bot::walk::FolderWalk;
use crate::tools::call::BuiltinCallError;
use crate::tools::definition::{BuiltinToolDefinition, envelope_schema};
use crate::tools::issue::{Issues, code, count_noun, quoted};

const TECH_STACK: &str = ".bot/product/tech-stack.md";
/// The largest number of files that a recommendation names.
const MOST_NAMED: usize = 10;

/// The depth of a check. Each level includes the ones before.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "lowercase")]
enum CheckLevel {
    Basic,
    #[default]
    Standard,
    Comprehensive,
}

impl CheckLevel {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Standard => "standard",
            Self::Comprehensive => "comprehensive",
        }
    }
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    check_level: CheckLevel,
    include_recommendations: Option<bool>,
}

pub(super) fn definition() -> BuiltinToolDefinition {
    let status = json!({
        "enum": ["pass", "note", "warning", "error"],
        "description": "A note is a recommendation; warnings and errors stand in the envelope.",
    });
    BuiltinToolDefinition::new(
        "solution_health_check",
        "Check the solution's health",
        "Checks the .bot folder: the state file and what is installed (basic); product files, projects and the registry \
         (standard); every front matter, every reference between files and circles among them (comprehensive). Every \
         problem is an error or a warning with its file.",
        json!({
            "type": "object",
            "properties": {
                "check_level": {
                    "type": "string",
                    "enum": ["basic", "standard", "comprehensive"],
                    "default": "standard",
                    "description": "How much to look at; each level includes the ones before.",
                },
                "include_recommendations": {
                    "type": "boolean",
                    "default": true,
                    "description": "Whether to tell what is not wrong and could be better.",
                },
            },
            "additionalProperties": false,
        }),
        envelope_schema(
            SolutionTool::HealthCheck.name(),
            json!({
                "type": "object",
                "description": "What was checked; empty when nothing could be.",
                "properties": {
                    "status": {"enum": ["healthy", "warning", "error"]},
                    "check_level": {"enum": ["basic", "standard", "comprehensive"]},
                    "checks": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "category": {"type": "string"},
                                "status": status,
                                "checks": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "properties": {
                                            "name": {"type": "string"},
                                            "status": status,
                                            "count": {"type": "integer", "minimum": 0},
                                        },
                                        "required": ["name", "status"],
                                        "additionalProperties": false,
                                    },
                                },
                            },
                            "required": ["category", "status", "checks"],
                            "additionalProperties": false,
                        },
                    },
                    "recommendations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "category": {"type": "string"},
                                "message": {"type": "string"},
                                "files": {"type": "array", "items": {"type": "string"}},
                            },
                            "required": ["category", "message"],
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
    let Arguments { check_level, include_recommendations } = Arguments::deserialize(arguments)?;
    let mut examination = Examination::new(folder);
    let files = BotArtifactKind::ALL.map(|kind| kind.files(folder));
    examination.installation(&files)?;
    if check_level >= CheckLevel::Standard {
        examination.product();
        examination.projects()?;
    }
    if check_level >= CheckLevel::Comprehensive {
        let artifacts = examination.artifacts(&files)?;
        examination.references(&artifacts);
    }
    Ok(examination.told(check_level, include_recommendations != Some(false)))
}

/// The verdict of a check, from best to worst.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum HealthVerdict {
    Pass,
    Note,
    Warning,
    Error,
}

impl HealthVerdict {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The checks of one category, in the order in which they ran.
struct IssueCategory {
    name: &'static str,
    checks: Vec<(String, HealthVerdict, Option<usize>)>,
}

impl IssueCategory {
    fn new(name: &'static str) -> Self {
        Self { name, checks: Vec::new() }
    }

    fn add(&mut self, name: impl Into<String>, verdict: HealthVerdict, count: Option<usize>) {
        self.checks.push((name.into(), verdict, count));
    }

    fn verdict(&self) -> HealthVerdict {
        self.checks.iter().map(|(_, verdict, _)| *verdict).max().unwrap_or(HealthVerdict::Pass)
    }

    fn told(&self) -> Value {
        let check = |(name, verdict, count): &(String, HealthVerdict, Option<usize>)| {
            let mut told = json!({"name": name, "status": verdict.as_str()});
            if let Some(count) = count {
                told["count"] = (*count).into();
            }
            told
        };
        let checks: Vec<Value> = self.checks.iter().map(check).collect();
        json!({"category": self.name, "status": self.verdict().as_str(), "checks": checks})
    }
}

/// The results of a health check so far.
struct Examination<'f> {
    folder: &'f BotFolder,
    categories: Vec<IssueCategory>,
    issues: Issues,
    recommendations: Vec<Value>,
}

impl<'f> Examination<'f> {
    fn new(folder: &'f BotFolder) -> Self {
        Self {
            folder,
            categories: Vec::new(),
            issues: Issues::default(),
            recommendations: Vec::new(),
        }
    }

    fn recommend(&mut self, category: &str, message: impl Into<String>, files: &[&str]) {
        let mut told = json!({"category": category, "message": message.into()});
        if !files.is_empty() {
            told["files"] = files[..files.len().min(MOST_NAMED)].into();
        }
        self.recommendations.push(told);
    }

    /// Checks the state file and the installed artifacts.
    fn installation(&mut self, files: &[FolderWalk; 5]) -> Result<(), BuiltinCallError> {
        let mut category = IssueCategory::new("dotbot-installation");
        category.add(".bot folder exists", HealthVerdict::Pass, None);
        let state = match InstallationState::read(self.folder)? {
            Ok(_) => HealthVerdict::Pass,
            Err(issue) => {
                self.issues.error(issue);
                HealthVerdict::Error
            }
        };
        category.add("state file valid", state, None);
        for (kind, walk) in BotArtifactKind::ALL.into_iter().zip(files) {
            let mut verdict = HealthVerdict::Pass;
            for trouble in &walk.troubles {
                self.issues.error(trouble.issue());
                verdict = HealthVerdict::Error;
            }
            if walk.is_cut {
                self.issues.warning(cut().with_path(kind.folder()));
                verdict = verdict.max(HealthVerdict::Warning);
            }
            if kind == BotArtifactKind::Standard && walk.files.is_empty() {
                let message = "The standards folder is missing or has no .md files";
                let issue = ErrorObject::new(code::STANDARDS_NOT_FOUND, message);
                self.issues.warning(issue.with_path(kind.folder()));
                verdict = verdict.max(HealthVerdict::Warning);
            } else if kind != BotArtifactKind::Product && walk.files.is_empty() {
                let message = format!("No {} are installed in {}", kind.plural(), kind.folder());
                self.recommend(category.name, message, &[]);
                verdict = verdict.max(HealthVerdict::Note);
            }
            if kind != BotArtifactKind::Product {
                category.add(
                    format!("{} installed", kind.plural()),
                    verdict,
                    Some(walk.files.len()),
                );
            }
        }
        self.categories.push(category);
        Ok(())
    }

    /// Checks the product files.
    fn product(&mut self) {
        let mut category = IssueCategory::new("product-artifacts");
        for (name, path) in [("mission.md", MISSION), ("roadmap.md", ROADMAP)] {
            let has = self.folder.has_file(path);
            if !has {
                let message = format!("Write {path}, so that agents know what they work towards");
                self.recommend(category.name, message, &[]);
            }
            let verdict = if has { HealthVerdict::Pass } else { HealthVerdict::Note };
            category.add(format!("{name} exists"), verdict, None);
        }
        let has = self.folder.has_file(TECH_STACK);
        if !has {
            let message = "The technology stack is not described";
            self.issues
                .warning(ErrorObject::new(code::TECH_STACK_MISSING, message).with_path(TECH_STACK));
        }
        let verdict = if has { HealthVerdict::Pass } else { HealthVerdict::Warning };
        category.add("tech-stack.md exists", verdict, None);
        self.categories.push(category);
    }

    /// Checks the projects and their registry.
    fn projects(&mut self) -> Result<(), BuiltinCallError> {
        let mut category = IssueCategory::new("projects");
        let mut verdict = HealthVerdict::Pass;
        let registry = match ProjectRegistry::read(self.folder)? {
            Ok(registry) => registry,
            Err(issue) => {
                self.issues.error(issue);
                verdict = HealthVerdict::Error;
                ProjectRegistry::empty()
            }
        };
        category.add("registry readable", verdict, None);
        let projects = BotProjects::find(self.folder, &registry);
        unseen(&projects.walk, &mut self.issues);
        let found = if projects.all.is_empty() { HealthVerdict::Note } else { HealthVerdict::Pass };
        category.add("projects detected", found, Some(projects.all.len()));
        let mut verdict = HealthVerdict::Pass;
        for (issue, is_error) in registry_issues(&registry, &projects) {
            if is_error {
                self.issues.error(issue);
                verdict = HealthVerdict::Error;
            } else {
                self.issues.warning(issue);
                verdict = verdict.max(HealthVerdict::Warning);
            }
        }
        category.add("registry agrees with the projects", verdict, Some(registry.names().count()));
        let unregistered: Vec<&str> =
            projects.names().filter(|name| registry.entry(name).is_none()).collect();
        if !unregistered.is_empty() {
            let message = format!("Register {}", count_noun(unregistered.len(), "project"));
            self.recommend(category.name, message, &[]);
        }
        self.categories.push(category);
        Ok(())
    }

    /// Checks every front matter and returns the artifacts that could be read.
    fn artifacts(
        &mut self,
        files: &[FolderWalk; 5],
    ) -> Result<Vec<(BotArtifactKind, BotArtifact)>, BuiltinCallError> {
        let mut category = IssueCategory::new("frontmatter-validation");
        let mut artifacts = Vec::new();
        for (kind, walk) in BotArtifactKind::ALL.into_iter().zip(files) {
            let mut verdict = HealthVerdict::Pass;
            let mut flawed = 0;
            for path in &walk.files {
                let artifact = match self.folder.read(path) {
                    Ok(text) => BotArtifact::of(kind, path, &text)?,
                    Err(trouble) => {
                        self.issues.error(trouble.issue());
                        verdict = HealthVerdict::Error;
                        flawed += 1;
                        continue;
                    }
                };
                if let Some(flaw) = &artifact.flaw {
                    flawed += 1;
                    if flaw.code == code::FRONTMATTER_MISSING {
                        self.issues.warning(flaw.clone());
                        verdict = verdict.max(HealthVerdict::Warning);
                    } else {
                        self.issues.error(flaw.clone());
                        verdict = HealthVerdict::Error;
                    }
                }
                artifacts.push((kind, artifact));
            }
            let name = format!("{} have valid front matter", kind.plural());
            category.add(name, verdict, (flawed > 0).then_some(flawed));
        }
        self.categories.push(category);
        Ok(artifacts)
    }

    /// Checks the references between files: broken ones, cycles, and files without references.
    fn references(&mut self, artifacts: &[(BotArtifactKind, BotArtifact)]) {
        let mut ids = BTreeMap::new();
        for (_, artifact) in artifacts {
            if let (Some(kind), Some(id)) = (artifact.text("type"), artifact.text("id")) {
                ids.entry((kind.to_owned(), id.to_owned()))
                    .or_insert_with(|| artifact.path.clone());
            }
        }
        let mut edges: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut broken = 0;
        for (kind, artifact) in artifacts {
            for reference in references(*kind, artifact, &ids) {
                let target = reference.target.filter(|target| self.folder.has_file(target));
                if let Some(target) = target {
                    edges.entry(artifact.path.clone()).or_default().push(target);
                } else {
                    broken += 1;
                    let message = format!("Nothing is found under {}", quoted(&reference.written));
                    let issue = ErrorObject::new(code::BROKEN_FILE_REFERENCE, message)
                        .with_path(&*artifact.path)
                        .with_detail("reference", reference.written);
                    self.issues.error(issue);
                }
            }
        }
        let circles = circles(&edges);
        for circle in &circles {
            let message =
                format!("{} refer to each other in a circle", count_noun(circle.len(), "file"));
            let issue = ErrorObject::new(code::CIRCULAR_DEPENDENCY, message)
                .with_path(circle.first().cloned().unwrap_or_default())
                .with_detail("circle", circle.clone());
            self.issues.error(issue);
        }
        let mut category = IssueCategory::new("file-references");
        let verdict = |count| if count == 0 { HealthVerdict::Pass } else { HealthVerdict::Error };
        category.add("references lead to files", verdict(broken), (broken > 0).then_some(broken));
        category.add(
            "no circles",
            verdict(circles.len()),
            (!circles.is_empty()).then_some(circles.len()),
        );

        let referred: BTreeSet<&str> = edges.values().flatten().map(String::as_str).collect();
        // Other kinds need no references: people start commands, everyone reads product files, and `applies_to` selects
        // standards.
        let orphans: Vec<&str> = artifacts
            .iter()
            .filter(|(kind, _)| matches!(kind, BotArtifactKind::Workflow | BotArtifactKind::Agent))
            .map(|(_, artifact)| artifact.path.as_str())
            .filter(|path| !referred.contains(path))
            .collect();
        let verdict = if orphans.is_empty() { HealthVerdict::Pass } else { HealthVerdict::Note };
        category.add(
            "every workflow and agent is used",
            verdict,
            (!orphans.is_empty()).then_some(orphans.len()),
        );
        if !orphans.is_empty() {
            let message = "Nothing refers to these files: link them, or remove them";
            self.recommend(category.name, message, &orphans);
        }
        self.categories.push(category);
    }

    fn told(self, level: CheckLevel, include_recommendations: bool) -> EnvelopeDraft {
        let Self { categories, issues, recommendations, .. } = self;
        let status = match (issues.has_errors(), issues.has_warnings()) {
            (true, _) => "error",
            (false, true) => "warning",
            (false, false) => "healthy",
        };
        let checks: usize = categories.iter().map(|category| category.checks.len()).sum();
        let checks = count_noun(checks, "check");
        let summary = match issues.count() {
            0 => format!("The solution is healthy: {checks} at level {}.", level.as_str()),
            count => {
                let issues = count_noun(count, "issue");
                format!("The solution has {issues}: {checks} at level {}.", level.as_str())
            }
        };
        let mut data = Map::new();
        data.insert("status".to_owned(), status.into());
        data.insert("check_level".to_owned(), level.as_str().into());
        let told: Vec<Value> = categories.iter().map(IssueCategory::told).collect();
        data.insert("checks".to_owned(), told.into());
        if include_recommendations {
            data.insert("recommendations".to_owned(), recommendations.into());
        }
        let intent = next(level, &issues);
        let mut draft = EnvelopeDraft { summary, data, issues, intent, ..EnvelopeDraft::default() };
        if level < CheckLevel::Comprehensive {
            let action = Action::suggestion(
                "check-everything",
                "Check everything",
                "Front matter and references are looked at only then",
                SolutionTool::HealthCheck.name(),
            );
            draft = draft.with_action(action.with_parameter("check_level", "comprehensive"));
        }
        draft
    }
}

/// Suggests the next call: the tool that shows most about the problem, or else the next level.
fn next(level: CheckLevel, issues: &Issues) -> Option<Intent> {
    if issues.has_error(code::ALIAS_CONFLICT) {
        let reason = "Two projects share an alias: see them, and register one with another.";
        return Some(Intent::new(SolutionTool::Structure.name(), reason));
    }
    if issues.has_errors() || level == CheckLevel::Comprehensive {
        // Other errors need edits to files, and none of our tools does that.
        return None;
    }
    let (next, reason) = match level {
        CheckLevel::Basic => {
            ("standard", "The installation stands: look at product files and projects too.")
        }
        _ => {
            ("comprehensive", "Nothing is broken so far: look at front matter and references too.")
        }
    };
    Some(Intent::new(SolutionTool::HealthCheck.name(), reason).with_parameter("check_level", next))
}
