use std::sync::Arc;

use answerback::UuidV7;
use answerback::case::{Decision, DecisionSubmission};
use answerback_store::recording::ActiveGovernance;
use answerback_store::{CaseRecord, StoreError, Ticket};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The data and actions that the host program provides to the console.
pub trait ConsoleHost: Send + Sync + 'static {
    /// Decides a case and applies the decision.
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
    fn notify_decided(&self) {}

    /// Returns a decision as submitted, if the stored one is redacted.
    fn submitted_decision(&self, record: &CaseRecord) -> Option<Decision> {
        let _ = record;
        None
    }

    /// Returns the servers of the gateway with their known tools.
    fn servers(&self) -> Vec<ServerView> {
        Vec::new()
    }

    /// Returns the manifest and lock that governed responses are verified against.
    fn active_governance(&self) -> Option<Arc<ActiveGovernance>> {
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
    fn verify(&self) -> Result<answerback_verify::VerifyReport, String> {
        Err("the log cannot be verified from here".to_owned())
    }

    /// Returns the commands that users can run in a terminal, for example to create a link or to verify the log.
    fn commands(&self) -> Commands {
        Commands::default()
    }
}

/// The terminal commands that pages show, for this server's ledger.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the pages use these members")]
pub struct Commands {
    /// The command that prints a new launch link.
    pub link: String,
    /// The command that verifies the log.
    pub verify: String,
    /// The command that lists the open cases.
    pub inbox: String,
}

/// An MCP server that the gateway forwards calls to.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the host program fills it in")]
pub struct ServerView {
    /// The server's name in the configuration.
    pub name: String,
    /// True if the server is reachable.
    pub is_up: bool,
    /// The server's program or URL.
    pub place: String,
    /// The server's tools.
    #[serde(skip)]
    pub tools: Vec<ToolView>,
}

/// A tool of a server.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the host program fills it in")]
pub struct ToolView {
    /// The tool's name.
    pub name: String,
    /// The tool's title for people.
    pub title: Option<String>,
    /// The tool's own description.
    pub description: Option<String>,
    /// The JSON Schema of the arguments.
    pub input_schema: Value,
    /// True if the definition differs from the one that was first recorded.
    pub is_changed: bool,
    /// The problems with the tool's schema.
    pub remarks: Vec<RemarkView>,
}

/// A problem with a tool's schema.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the host program fills it in")]
pub struct RemarkView {
    /// `error`, `warning` or `info`.
    pub weight: String,
    /// The problem and its solution.
    pub text: String,
}

/// The configured manifest and lock, with the state of each prompt.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the host program fills it in")]
pub struct AgentsView {
    /// True if the configuration names a manifest and a lock.
    pub configured: bool,
    /// A summary of the manifest.
    pub manifest: Option<Value>,
    /// A summary of the lock.
    pub lock: Option<Value>,
    /// The reason why manifest and lock cannot be used.
    pub problem: Option<String>,
    /// The prompts of manifest and lock.
    pub agents: Vec<AgentView>,
}

/// A prompt of manifest and lock.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the host program fills it in")]
pub struct AgentView {
    /// The agent's id.
    pub id: String,
    /// The agent's type.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The prompt's version.
    pub version: Option<String>,
    /// The prompt's file, relative to the manifest.
    pub file: Option<String>,
    /// The hash in the lock.
    pub expected_hash: Option<String>,
    /// The hash of the file on disk.
    pub actual_hash: Option<String>,
    /// `ok`, `mismatch`, `missing` or `unlocked`.
    pub state: String,
}
