//! `solution.info`: describes a solution.

use answerback::contract::tool::{Action, ErrorObject, Intent};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{EnvelopeDraft, SolutionTool};
use crate::tools::bot::artifact::{BotArtifact, BotArtifactKind};
use crate::tools::bot::folder::BotFolder;
use crate::tools::bot::markdown::Markdown;
use crate::tools::bot::state::{InstallationState, STATE};
use crate::tools::call::BuiltinCallError;
use crate::tools::definition::{BuiltinToolDefinition, envelope_schema};
use crate::tools::issue::{Issues, code, plain};

pub(crate) const MISSION: &str = ".bot/product/mission.md";
pub(crate) const ROADMAP: &str = ".bot/product/roadmap.md";

#[derive(Deserialize)]
struct Arguments {
    /// Included by default. A missing mission is reported only if it was requested explicitly.
    include_mission: Option<bool>,
    include_roadmap: Option<bool>,
}

pub(super) fn definition() -> BuiltinToolDefinition {
    let product_file = |more: Value| {
        let mut properties = json!({
            "path": {"type": "string"},
            "title": {"type": "string"},
            "version": {"type": "string"},
            "summary": {"type": "string", "description": "The first paragraph."},
        });
        if let (Value::Object(properties), Value::Object(more)) = (&mut properties, more) {
            properties.extend(more);
        }
        json!({
            "type": "object",
            "properties": properties,
            "required": ["path"],
            "additionalProperties": false,
        })
    };
    BuiltinToolDefinition::new(
        "solution_info",
        "Solution info",
        "Tells what a solution with a .bot folder is: its name, the dotbot version and profile it was set up with, \
         and on request its product mission and roadmap. Call it first when you come to a solution.",
        json!({
            "type": "object",
            "properties": {
                "include_mission": {
                    "type": "boolean",
                    "default": true,
                    "description": "Whether to tell the product mission, from .bot/product/mission.md.",
                },
                "include_roadmap": {
                    "type": "boolean",
                    "default": false,
                    "description": "Whether to tell the roadmap's phases and how far each is, from .bot/product/roadmap.md.",
                },
            },
            "additionalProperties": false,
        }),
        envelope_schema(
            SolutionTool::Info.name(),
            json!({
                "type": "object",
                "description": "What the solution is; empty when that could not be told.",
                "properties": {
                    "solution": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "dotbot_version": {"type": "string"},
                            "profile": {"type": "string"},
                            "installed_at": {"type": "string"},
                        },
                        "required": ["name"],
                        "additionalProperties": false,
                    },
                    "mission": product_file(json!({
                        "sections": {"type": "array", "items": {"type": "string"}},
                    })),
                    "roadmap": product_file(json!({
                        "phases": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "name": {"type": "string"},
                                    "items": {"type": "integer", "minimum": 0},
                                    "done": {"type": "integer", "minimum": 0},
                                },
                                "required": ["name", "items", "done"],
                                "additionalProperties": false,
                            },
                        },
                    })),
                    "file_references": {
                        "type": "object",
                        "properties": {
                            "primary_files": {"type": "array", "items": {"type": "string"}},
                        },
                        "required": ["primary_files"],
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
    let Arguments { include_mission, include_roadmap } = Arguments::deserialize(arguments)?;
    let mut issues = Issues::default();
    let mut data = Map::new();
    let mut files = Vec::new();

    let name = folder.name();
    let mut about = plain(&name, 80) + " solution";
    let mut solution = json!({"name": name});
    match InstallationState::read(folder)? {
        Ok(InstallationState { version, profile, installed_at }) => {
            about.push_str(" (dotbot ");
            about.push_str(&plain(&version, 40));
            about.push_str(", ");
            about.push_str(&plain(&profile, 40));
            about.push_str(" profile)");
            solution["dotbot_version"] = version.into();
            solution["profile"] = profile.into();
            solution["installed_at"] = installed_at.into();
            files.push(STATE);
        }
        Err(issue) => issues.error(issue),
    }
    data.insert("solution".to_owned(), solution);

    let mut has_mission = false;
    if include_mission != Some(false) {
        let file = ProductFile { path: MISSION, is_asked_for: include_mission == Some(true) };
        if let Some(ProductDocument { members: mut told, text: read }) =
            file.read(folder, &mut issues)?
        {
            let sections: Vec<String> =
                read.sections.into_iter().map(|section| section.heading).collect();
            told.insert("sections".to_owned(), sections.into());
            data.insert("mission".to_owned(), told.into());
            files.push(MISSION);
            has_mission = true;
        }
    }
    let mut has_roadmap = false;
    if include_roadmap == Some(true) {
        let file = ProductFile { path: ROADMAP, is_asked_for: true };
        if let Some(ProductDocument { members: mut told, text: read }) =
            file.read(folder, &mut issues)?
        {
            let phases: Vec<Value> = read
                .sections
                .into_iter()
                .map(|phase| json!({"name": phase.heading, "items": phase.boxes, "done": phase.ticked}))
                .collect();
            told.insert("phases".to_owned(), phases.into());
            data.insert("roadmap".to_owned(), told.into());
            files.push(ROADMAP);
            has_roadmap = true;
        }
    }
    data.insert("file_references".to_owned(), json!({"primary_files": files}));

    let defined = match (has_mission, has_roadmap) {
        (true, true) => " with product mission and roadmap defined",
        (true, false) => " with product mission defined",
        (false, true) => " with roadmap defined",
        (false, false) => "",
    };
    let has_broken_state = issues.has_errors();
    let summary = if has_broken_state {
        format!("{about}{defined}, but its state could not be read.")
    } else {
        format!("{about}{defined}.")
    };
    let mut draft = EnvelopeDraft { summary, data, issues, ..EnvelopeDraft::default() };
    draft = if has_broken_state {
        let intent = Intent::new(
            SolutionTool::HealthCheck.name(),
            "The state file is broken: see what else of the installation is.",
        );
        draft.with_intent(intent.with_parameter("check_level", "basic"))
    } else {
        draft.with_intent(Intent::new(
            SolutionTool::Structure.name(),
            "The solution is known: see which projects it has.",
        ))
    };
    if include_roadmap.is_none() && folder.has_file(ROADMAP) {
        let action = Action::suggestion(
            "include-roadmap",
            "Show the roadmap",
            "There is a roadmap with phases",
            SolutionTool::Info.name(),
        );
        draft = draft.with_action(action.with_parameter("include_roadmap", true));
    }
    Ok(draft)
}

/// The content of a product file: the members that every such file has, and its text.
struct ProductDocument {
    members: Map<String, Value>,
    text: Markdown,
}

/// A product file to read.
struct ProductFile {
    path: &'static str,
    is_asked_for: bool,
}

impl ProductFile {
    /// Reads the file. A missing file is reported only if it was requested explicitly.
    fn read(
        &self,
        folder: &BotFolder,
        issues: &mut Issues,
    ) -> Result<Option<ProductDocument>, BuiltinCallError> {
        let text = match folder.read(self.path) {
            Ok(text) => text,
            Err(missing) if missing.is_missing() => {
                if self.is_asked_for {
                    let message = "The file that was asked for does not exist";
                    issues.warning(
                        ErrorObject::new(code::PARTIAL_RESULT, message).with_path(self.path),
                    );
                }
                return Ok(None);
            }
            Err(trouble) => {
                issues.warning(trouble.issue());
                return Ok(None);
            }
        };
        let artifact = BotArtifact::of(BotArtifactKind::Product, self.path, &text)?;
        let read = Markdown::read(&artifact.body);
        let mut told = Map::new();
        told.insert("path".to_owned(), self.path.into());
        for (name, value) in [
            ("title", read.title.clone()),
            ("version", artifact.version()),
            ("summary", read.summary.clone()),
        ] {
            told.extend(value.map(|value| (name.to_owned(), value.into())));
        }
        if let Some(flaw) = artifact.flaw {
            issues.warning(flaw);
        }
        Ok(Some(ProductDocument { members: told, text: read }))
    }
}
