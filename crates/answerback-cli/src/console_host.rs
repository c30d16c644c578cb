//! Provides the console of `answerback serve` with data of the gateway, the configuration and this program.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use answerback::UuidV7;
use answerback::case::{Decision, DecisionSubmission};
use answerback::config::StoreConfig;
use answerback::contract::recognise;
use answerback::governance::{Lock, Manifest};
use answerback::json::Limits;
use answerback_gateway::serve::GatewayService;
use answerback_gateway::{Weight, remarks};
use answerback_store::recording::ActiveGovernance;
use answerback_store::system::now;
use answerback_store::{CaseRecord, Store, StoreError, Ticket};
use answerback_verify::{VerifyOptions, VerifyReport};
use answerback_web::{
    AgentView, AgentsView, Commands, ConsoleHost, RemarkView, ServerView, ToolView,
};
use anyhow::Context;
use serde_json::{Value, json};

use crate::input::InputSource;
use crate::prompts::PromptFolder;
use crate::shell::file_option;
use crate::show::{Charset, Sheet, draw};
use crate::verify_source;

/// The width of a reply in the terminal view of the console.
const WIDTH: usize = 100;

/// Gives the console the data of the gateway and the configuration.
pub(crate) struct GatewayConsoleHost {
    store: Store,
    service: Arc<GatewayService>,
    /// The ledger's file, or the URL of its database.
    ledger: PathBuf,
    governance: RwLock<ConfiguredGovernance>,
}

/// The configured manifest and lock, with their paths.
#[derive(Default)]
pub(crate) struct ConfiguredGovernance {
    pub(crate) files: Option<(PathBuf, PathBuf)>,
    pub(crate) in_force: Option<Arc<ActiveGovernance>>,
}

impl GatewayConsoleHost {
    pub(crate) fn new(store: Store, service: Arc<GatewayService>, ledger: PathBuf) -> Self {
        Self { store, service, ledger, governance: RwLock::default() }
    }

    /// Verifies governed responses against this manifest and lock from now on. They are logged first if they are new,
    /// because verifying the log requires them. This blocks on the store.
    pub(crate) fn set_governance(&self, governance: ConfiguredGovernance) -> anyhow::Result<()> {
        if let Some(in_force) = &governance.in_force {
            in_force.log(&self.store).context("manifest and lock could not be recorded")?;
        }
        *self.governance.write().unwrap_or_else(PoisonError::into_inner) = governance;
        Ok(())
    }

    fn command(&self, words: &str) -> String {
        // A database's URL may contain a password.
        if self.ledger.to_str().is_some_and(StoreConfig::is_url) {
            return format!("answerback {words} --config FILE");
        }
        format!("answerback {words}{}", file_option("store", &self.ledger))
    }
}

impl ConsoleHost for GatewayConsoleHost {
    fn decide(
        &self,
        case: UuidV7,
        submission: DecisionSubmission,
        surface: &str,
    ) -> Result<Ticket<CaseRecord>, StoreError> {
        answerback_gateway::decide(&self.store, case, submission, surface)
    }

    fn notify_decided(&self) {
        self.service.notify_decided();
    }

    fn submitted_decision(&self, record: &CaseRecord) -> Option<Decision> {
        answerback_gateway::complete_decision(&self.store, record)
    }

    fn servers(&self) -> Vec<ServerView> {
        let servers = self.service.backend_states().into_iter();
        servers
            .map(|server| {
                let upstream = server.upstream.as_deref();
                let tools = upstream.map(|upstream| {
                    let tool = |(name, source): (&str, &Value)| {
                        tool(name, source, upstream.has_changed(name))
                    };
                    upstream.tools.sources().map(tool).collect()
                });
                ServerView {
                    name: server.name,
                    is_up: server.is_up,
                    place: server.address,
                    tools: tools.unwrap_or_default(),
                }
            })
            .collect()
    }

    fn active_governance(&self) -> Option<Arc<ActiveGovernance>> {
        self.governance.read().unwrap_or_else(PoisonError::into_inner).in_force.clone()
    }

    fn agents(&self) -> AgentsView {
        let files = {
            let governance = self.governance.read().unwrap_or_else(PoisonError::into_inner);
            governance.files.clone()
        };
        let Some((manifest, lock)) = files else { return AgentsView::default() };
        match agents(&manifest, &lock) {
            Ok(view) => view,
            Err(error) => AgentsView {
                configured: true,
                problem: Some(format!("{error:#}")),
                ..AgentsView::default()
            },
        }
    }

    fn terminal(&self, document: &Value) -> Option<String> {
        let contract = recognise(document)?.contract;
        let sheet = Sheet { width: WIDTH, rows: 50, charset: Charset::Unicode };
        Some(draw(sheet, contract, document, false))
    }

    fn verify(&self) -> Result<VerifyReport, String> {
        let mut source = verify_source::open(&self.ledger).map_err(|error| format!("{error:#}"))?;
        let now = now().unix_millis().saturating_mul(1000);
        answerback_verify::verify(source.as_mut(), &VerifyOptions::new().with_time(now))
            .map_err(|error| error.to_string())
    }

    fn commands(&self) -> Commands {
        Commands {
            link: self.command("link"),
            verify: self.command("ledger verify"),
            inbox: self.command("inbox list"),
        }
    }
}

fn tool(name: &str, source: &Value, is_changed: bool) -> ToolView {
    let text = |member: &str| source[member].as_str().map(ToOwned::to_owned);
    let remarks = remarks(source)
        .into_iter()
        .map(|remark| RemarkView {
            weight: match remark.weight {
                Weight::Problem => "error".to_owned(),
                Weight::Advice => "warning".to_owned(),
            },
            text: format!("{}: {}", remark.what, remark.fix),
        })
        .collect();
    ToolView {
        name: name.to_owned(),
        title: text("title"),
        description: text("description"),
        input_schema: source["inputSchema"].clone(),
        is_changed,
        remarks,
    }
}

/// Compares the prompts of manifest and lock with their files.
fn agents(manifest_file: &Path, lock_file: &Path) -> anyhow::Result<AgentsView> {
    let limits = Limits::default();
    let manifest = InputSource::new(manifest_file).document(limits)?.value;
    let lock = InputSource::new(lock_file).document(limits)?.value;
    let entries = Lock::entries(&lock);
    let root = manifest_file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = PromptFolder::open(root.unwrap_or_else(|| Path::new(".")), limits)?;
    let files = folder.read(entries.values().map(|prompt| prompt.file.as_str()))?;
    let manifest = Manifest::from_document(&manifest).context("the manifest")?;
    // Replies contain an agent's canonical id, but the lock contains its key.
    let canonical = |key: &str| {
        let prompt = manifest.prompts().find(|prompt| prompt.key == key);
        prompt.map_or_else(|| key.to_owned(), |prompt| prompt.canonical_id.to_string())
    };
    let mut agents: Vec<AgentView> = entries
        .iter()
        .map(|(key, prompt)| {
            let actual = files.hash(&prompt.file).map(ToString::to_string);
            let expected = prompt.hash.to_string();
            let state = match &actual {
                None => "missing",
                Some(actual) if *actual == expected => "ok",
                Some(_) => "mismatch",
            };
            AgentView {
                id: canonical(key),
                kind: Some(prompt.agent_type.to_string()),
                version: Some(prompt.version.to_string()),
                file: Some(prompt.file.clone()),
                expected_hash: Some(expected),
                actual_hash: actual,
                state: state.to_owned(),
            }
        })
        .collect();
    let locked: Vec<&str> = entries.values().map(|prompt| prompt.file.as_str()).collect();
    let unlocked = manifest.prompts().filter(|prompt| !locked.contains(&prompt.file));
    agents.extend(unlocked.map(|prompt| AgentView {
        id: prompt.canonical_id.to_string(),
        kind: Some(prompt.agent_type.to_string()),
        version: Some(prompt.version.to_string()),
        file: Some(prompt.file.to_owned()),
        expected_hash: None,
        actual_hash: None,
        state: "unlocked".to_owned(),
    }));
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(AgentsView {
        configured: true,
        manifest: Some(json!({"file": name(manifest_file), "prompts": manifest.prompts().count()})),
        lock: Some(
            json!({"file": name(lock_file), "prompts": entries.len(), "generated": lock["generated"]}),
        ),
        problem: None,
        agents,
    })
}
