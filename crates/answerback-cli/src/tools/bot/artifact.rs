//! Defines the kinds of artifacts in `.bot` and the front matter that each kind requires.

use std::path::Path;
use std::sync::LazyLock;

use answerback::ValidationError;
use answerback::call::{Schema, SchemaError, check};
use answerback::contract::tool::ErrorObject;
use serde_json::{Map, Value, json};

use super::folder::BotFolder;
use super::front_matter::FrontMatter;
use super::walk::FolderWalk;
use crate::tools::issue::{code, count_noun};

/// A kind of artifact. Each kind has its own folder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BotArtifactKind {
    Workflow,
    Agent,
    Standard,
    Command,
    Product,
}

impl BotArtifactKind {
    pub(crate) const ALL: [Self; 5] =
        [Self::Workflow, Self::Agent, Self::Standard, Self::Command, Self::Product];

    /// Returns the folder of this kind.
    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Self::Workflow => ".bot/workflows",
            Self::Agent => ".bot/agents",
            Self::Standard => ".bot/standards",
            Self::Command => ".bot/commands",
            Self::Product => ".bot/product",
        }
    }

    /// Returns the plural name of this kind for messages.
    pub(crate) const fn plural(self) -> &'static str {
        match self {
            Self::Workflow => "workflows",
            Self::Agent => "agents",
            Self::Standard => "standards",
            Self::Command => "commands",
            Self::Product => "product files",
        }
    }

    /// Finds the files of this kind.
    pub(crate) fn files(self, folder: &BotFolder) -> FolderWalk {
        folder.walk(self.folder(), |_| true, is_markdown)
    }

    /// Checks a front matter against the schema of this kind and returns all findings.
    pub(crate) fn check(
        self,
        members: &Map<String, Value>,
    ) -> Result<Vec<ValidationError>, SchemaError> {
        let schema = SCHEMAS[self as usize].as_ref().map_err(Clone::clone)?;
        check(schema, &Value::Object(members.clone()), ())
    }

    fn schema(self) -> Value {
        let text = json!({"type": "string", "minLength": 1});
        let texts = json!({
            "type": ["string", "array"],
            "minLength": 1,
            "minItems": 1,
            "items": {"type": "string", "minLength": 1},
        });
        // YAML parses 1.0 as a number.
        let version = json!({"type": ["string", "number"], "minLength": 1});
        let mut members = json!({"type": text, "id": text, "version": version});
        let mut required = vec!["type", "id", "version"];
        let own: &[(&str, Value)] = match self {
            Self::Workflow => &[
                (
                    "category",
                    json!({"enum": ["planning", "specification", "implementation", "verification"]}),
                ),
                ("agent", text),
            ],
            Self::Agent => &[("role", text), ("expertise", texts)],
            Self::Standard => &[("domain", text), ("applies_to", texts)],
            Self::Command => &[("category", text.clone()), ("triggers_workflow", text)],
            Self::Product => {
                required.retain(|name| *name != "id");
                &[]
            }
        };
        match self {
            Self::Workflow => members["type"] = json!({"const": "workflow"}),
            Self::Agent => members["type"] = json!({"const": "agent"}),
            Self::Standard => members["type"] = json!({"const": "standard"}),
            Self::Command => members["type"] = json!({"const": "command"}),
            // A mission, a roadmap and a technology stack each have their own type.
            Self::Product => {}
        }
        for (name, schema) in own {
            members[*name] = schema.clone();
            required.push(name);
        }
        json!({"type": "object", "properties": members, "required": required})
    }
}

/// True if the name is that of a Markdown file.
pub(crate) fn is_markdown(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

static SCHEMAS: LazyLock<[Result<Schema, SchemaError>; 5]> =
    LazyLock::new(|| BotArtifactKind::ALL.map(|kind| Schema::compile(kind.schema())));

/// A parsed artifact file, as far as it could be parsed.
#[derive(Debug)]
pub(crate) struct BotArtifact {
    pub(crate) path: String,
    /// The front matter, or an empty map if none could be parsed.
    pub(crate) members: Map<String, Value>,
    /// The error in the front matter, if there is one.
    pub(crate) flaw: Option<ErrorObject>,
    /// The text after the front matter.
    pub(crate) body: String,
}

impl BotArtifact {
    /// Parses and checks the text of a file.
    pub(crate) fn of(kind: BotArtifactKind, path: &str, text: &str) -> Result<Self, SchemaError> {
        let (front_matter, body) = FrontMatter::read(text);
        let (members, flaw) = match front_matter {
            FrontMatter::Missing => {
                let message = "The file does not begin with YAML front matter between --- lines";
                (Map::new(), Some(ErrorObject::new(code::FRONTMATTER_MISSING, message)))
            }
            FrontMatter::Unreadable(reason) => {
                let message = format!("The front matter is not valid YAML: {reason}");
                (Map::new(), Some(ErrorObject::new(code::FRONTMATTER_INVALID, message)))
            }
            FrontMatter::Read(members) => {
                let findings = kind.check(&members)?;
                // Unknown members alone are allowed. Next to real errors they are listed too, because they may be
                // typos.
                let is_flawed = findings.iter().any(ValidationError::is_error);
                let flaw = is_flawed.then(|| breaks_schema(kind, &findings));
                (members, flaw)
            }
        };
        let flaw = flaw.map(|flaw| flaw.with_path(path));
        Ok(Self { path: path.to_owned(), members, flaw, body: body.to_owned() })
    }

    /// Returns a member that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name)?.as_str()
    }

    /// Returns a member that is a string or a list of strings.
    pub(crate) fn texts(&self, name: &str) -> Vec<&str> {
        match self.members.get(name) {
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the version, which YAML may parse as a string or a number.
    pub(crate) fn version(&self) -> Option<String> {
        match self.members.get("version")? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }
}

fn breaks_schema(kind: BotArtifactKind, findings: &[ValidationError]) -> ErrorObject {
    let mut errors = findings.iter().filter(|finding| finding.is_error());
    let first = errors.next().map(|finding| finding.message.as_str()).unwrap_or_default();
    let problems = count_noun(errors.count() + 1, "problem");
    let message = format!(
        "The front matter breaks the schema of {}: {problems}, the first: {first}",
        kind.plural()
    );
    // Findings are plain data, so serializing them cannot fail.
    let listed = serde_json::to_value(findings).unwrap_or_default();
    ErrorObject::new(code::FRONTMATTER_INVALID, message).with_detail("errors", listed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pointers of the errors, the error's code if it lists none, or `good`.
    fn judged(kind: BotArtifactKind, front_matter: &str) -> String {
        let artifact =
            BotArtifact::of(kind, "a.md", &format!("---\n{front_matter}\n---\nText\n")).unwrap();
        let Some(flaw) = artifact.flaw else { return "good".to_owned() };
        assert_eq!(flaw.path.as_deref(), Some("a.md"));
        match flaw.details.get("errors").and_then(Value::as_array) {
            Some(errors) => {
                let errors = errors.iter().filter(|error| error["severity"] == "error");
                let places = errors.map(|error| error["field_path"].as_str().unwrap());
                places.collect::<Vec<_>>().join(" ")
            }
            None => flaw.code,
        }
    }

    #[test]
    fn each_kind_has_its_members() {
        let all = "id: a\nversion: 1.0.0";
        for (kind, front_matter, outcome) in [
            (
                BotArtifactKind::Workflow,
                "type: workflow\nID\ncategory: planning\nagent: planner",
                "good",
            ),
            (
                BotArtifactKind::Workflow,
                "type: workflow\nID\ncategory: painting\nagent: planner",
                "/category",
            ),
            (BotArtifactKind::Workflow, "type: workflow\nID", "/category /agent"),
            (BotArtifactKind::Workflow, "type: agent\nID\ncategory: planning\nagent: a", "/type"),
            (BotArtifactKind::Agent, "type: agent\nID\nrole: Plans\nexpertise: [a, b]", "good"),
            (BotArtifactKind::Agent, "type: agent\nID\nrole: Plans\nexpertise: planning", "good"),
            (
                BotArtifactKind::Agent,
                "type: agent\nID\nrole: \"\"\nexpertise: []",
                "/expertise /role",
            ),
            (
                BotArtifactKind::Standard,
                "type: standard\nID\ndomain: global\napplies_to: [all]",
                "good",
            ),
            (
                BotArtifactKind::Standard,
                "type: standard\ndomain: global\napplies_to: [all]",
                "/id /version",
            ),
            (
                BotArtifactKind::Command,
                "type: command\nID\ncategory: x\ntriggers_workflow: plan",
                "good",
            ),
            (BotArtifactKind::Command, "type: command\nID\ncategory: x", "/triggers_workflow"),
            (BotArtifactKind::Product, "type: mission\nversion: 1.0", "good"),
            (BotArtifactKind::Product, "type: mission", "/version"),
            (BotArtifactKind::Product, "a: [", "FRONTMATTER_INVALID"),
        ] {
            let front_matter = front_matter.replace("ID", all);
            let mut places: Vec<_> =
                judged(kind, &front_matter).split(' ').map(str::to_owned).collect();
            places.sort();
            let mut expected: Vec<_> = outcome.split(' ').collect();
            expected.sort_unstable();
            assert_eq!(places, expected, "{kind:?} {front_matter}");
        }
        let bare = BotArtifact::of(BotArtifactKind::Agent, "a.md", "# No front matter").unwrap();
        assert_eq!(bare.flaw.unwrap().code, code::FRONTMATTER_MISSING);
    }
}
