use std::sync::Arc;

use answerback::UuidV7;
use answerback::case::{Decision, Submission};
use answerback_record::InForce;
use answerback_store::{CaseRecord, StoreError, Ticket};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// What the console shows and does that is another's: the program hands it in.
pub trait Behind: Send + Sync + 'static {
    /// Decides a case, with all that follows from it.
    ///
    /// # Errors
    ///
    /// When the store takes nothing.
    fn decide(
        &self,
        case: UuidV7,
        submission: Submission,
        surface: &str,
    ) -> Result<Ticket<CaseRecord>, StoreError>;

    /// Says that a case was decided here: whoever waits for it need not look.
    fn tell_decided(&self) {}

    /// A decision as the person gave it, where something in it is hidden in what is kept.
    fn as_given(&self, record: &CaseRecord) -> Option<Decision> {
        let _ = record;
        None
    }

    /// The servers behind the gateway, and their tools as they are known now.
    fn servers(&self) -> Vec<ServerView> {
        Vec::new()
    }

    /// What governed responses are verified against.
    fn in_force(&self) -> Option<Arc<InForce>> {
        None
    }

    /// The agents of manifest and lock.
    fn agents(&self) -> AgentsView {
        AgentsView::default()
    }

    /// A reply as a terminal shows it, without colours.
    fn terminal(&self, document: &Value) -> Option<String> {
        let _ = document;
        None
    }

    /// Verifies the whole log.
    ///
    /// # Errors
    ///
    /// When it cannot be verified from here; why.
    fn verify(&self) -> Result<answerback_verify::Report, String> {
        Err("the log cannot be verified from here".to_owned())
    }

    /// What a person types to do the same elsewhere: a new link, the log verified.
    fn commands(&self) -> Commands {
        Commands::default()
    }
}

/// Commands that pages name.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the pages name these")]
pub struct Commands {
    /// Prints a new link.
    pub link: String,
    /// Verifies the log.
    pub verify: String,
    /// Lists what waits.
    pub inbox: String,
}

/// A server behind the gateway.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the program fills it in")]
pub struct ServerView {
    /// Its name in the configuration.
    pub name: String,
    /// Whether it is there.
    pub is_up: bool,
    /// Where it is: a program or a URL.
    pub place: String,
    /// Its tools.
    #[serde(skip)]
    pub tools: Vec<ToolView>,
}

/// A tool of a server.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the program fills it in")]
pub struct ToolView {
    /// Its name.
    pub name: String,
    /// What people call it.
    pub title: Option<String>,
    /// What it says of itself.
    pub description: Option<String>,
    /// What it takes.
    pub input_schema: Value,
    /// Whether it is another than when it was first seen.
    pub is_changed: bool,
    /// What speaks against its schema.
    pub remarks: Vec<RemarkView>,
}

/// Something about a schema.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the program fills it in")]
pub struct RemarkView {
    /// `error`, `warning` or `info`.
    pub weight: String,
    /// What, and what to do.
    pub text: String,
}

/// Manifest and lock, and how the prompts stand to them.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the program fills it in")]
pub struct AgentsView {
    /// Whether the configuration names a manifest and a lock.
    pub configured: bool,
    /// The manifest, in short.
    pub manifest: Option<Value>,
    /// The lock, in short.
    pub lock: Option<Value>,
    /// Why they cannot be used.
    pub problem: Option<String>,
    /// Each prompt.
    pub agents: Vec<AgentView>,
}

/// A prompt of manifest and lock.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the program fills it in")]
pub struct AgentView {
    /// Its id.
    pub id: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Its file, relative to the manifest.
    pub file: Option<String>,
    /// The hash in the lock.
    pub expected_hash: Option<String>,
    /// The hash of the file as it is.
    pub actual_hash: Option<String>,
    /// `ok`, `mismatch`, `missing` or `unlocked`.
    pub state: String,
}
