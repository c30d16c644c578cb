use std::sync::Arc;

use answerback::UuidV7;
use answerback::case::{Decision, DecisionSubmission};
use answerback_record::InForce;
use answerback_store::{CaseRecord, StoreError, Ticket};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The parts of the console that the host program provides.
pub trait Behind: Send + Sync + 'static {
    /// Decides a case and applies the consequences.
    ///
    /// # Errors
    ///
    /// If the store does not accept the write.
    fn decide(
        &self,
        case: UuidV7,
        submission: DecisionSubmission,
        surface: &str,
    ) -> Result<Ticket<CaseRecord>, StoreError>;

    /// Reports that a case was decided here, so that waiting tasks need not poll the store.
    fn tell_decided(&self) {}

    /// Returns a decision as submitted, if the stored one is redacted.
    fn as_given(&self, record: &CaseRecord) -> Option<Decision> {
        let _ = record;
        None
    }

    /// Returns the servers of the gateway with their known tools.
    fn servers(&self) -> Vec<ServerView> {
        Vec::new()
    }

    /// Returns the manifest and lock that governed responses are verified against.
    fn in_force(&self) -> Option<Arc<InForce>> {
        None
    }

    /// Returns the agents of manifest and lock.
    fn agents(&self) -> AgentsView {
        AgentsView::default()
    }

    /// Renders a reply as a terminal shows it, without colors.
    fn terminal(&self, document: &Value) -> Option<String> {
        let _ = document;
        None
    }

    /// Verifies the whole log.
    ///
    /// # Errors
    ///
    /// If the log cannot be verified from here, with the reason.
    fn verify(&self) -> Result<answerback_verify::Report, String> {
        Err("the log cannot be verified from here".to_owned())
    }

    /// Returns the commands that users can run in a terminal, for example to create a link or to verify the log.
    fn commands(&self) -> Commands {
        Commands::default()
    }
}

/// Commands that pages name.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the pages use these members")]
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
#[expect(clippy::exhaustive_structs, reason = "the host program fills it in")]
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
#[expect(clippy::exhaustive_structs, reason = "the host program fills it in")]
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
#[expect(clippy::exhaustive_structs, reason = "the host program fills it in")]
pub struct RemarkView {
    /// `error`, `warning` or `info`.
    pub weight: String,
    /// What, and what to do.
    pub text: String,
}

/// Manifest and lock, and how the prompts stand to them.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the host program fills it in")]
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
#[expect(clippy::exhaustive_structs, reason = "the host program fills it in")]
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
