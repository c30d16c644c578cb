use std::io::Write;
use std::path::PathBuf;

use answerback::contract::governed::AgentIdentity;
use answerback::contract::{Contract, Profile, recognise};
use answerback::governance::Verification;
use answerback::json::{Limits, read};
use answerback::{Timestamp, UuidV4, ValidationError};
use answerback_gateway::{InForce, identified};
use answerback_ledger::leaf::{Attestation, Outcome};
use answerback_ledger::{Draft, Id, Kind, Token};
use answerback_store::{Filter, Store};
use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::authority::AuthorityOptions;
use super::handoff::HandedOff;
use super::location::Location;
use crate::exit::Exit;
use crate::input::Input;
use crate::options::{Format, LimitOptions};
use crate::output::{push_line, say};
use crate::surroundings::random;

/// Record replies in the ledger, and print their receipts
///
/// Each document is judged under its contract and recorded with its exact bytes: as a response, or as a rejected one
/// when it breaks its contract. A governed response is verified against --manifest and --lock; without them it is
/// recorded as unverified. A response answers a request; where the log has none with the document's request id, one
/// is recorded before it: with --handoff the handoff, whose id that is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger record reply.json > receipt.txt
  answerback ledger record --request call.json --tool weather.now reply.json
  answerback ledger record --manifest prompt-manifest.json --lock prompt-lock.json response.json
  answerback ledger record --manifest prompt-manifest.json --lock prompt-lock.json --handoff handoff.json response.json
  answerback ledger record --format json replies/*.json

The ledger and its key begin with the first record. A response id that is in the log is not recorded again.
Exit codes: 0 recorded, 1 recorded as rejected, 2 not recorded.")]
pub(crate) struct Arguments {
    /// The documents; '-' is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The contract of the documents, instead of recognising it
    #[arg(long = "as", value_name = "CONTRACT", value_parser = crate::options::contract())]
    contract: Option<Contract>,

    /// What was asked; its bytes are recorded as they are
    #[arg(long, value_name = "FILE")]
    request: Option<PathBuf>,

    /// The handoff that the response answers; it is verified and recorded as the request
    #[arg(long, value_name = "FILE", conflicts_with = "request")]
    handoff: Option<PathBuf>,

    /// The tool that answered; otherwise only a digest of the name in the document is kept
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    #[command(flatten)]
    authority: AuthorityOptions,

    /// On whose behalf
    #[arg(long, value_name = "NAME", value_parser = token)]
    pub(super) principal: Option<Token>,

    /// How to print receipts
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    limits: LimitOptions,
}

fn token(text: &str) -> Result<Token, String> {
    Token::new(text).map_err(|error| error.to_string())
}

pub(crate) fn run(arguments: &Arguments, location: &Location) -> anyhow::Result<Exit> {
    let limits = arguments.limits.limits();
    let asked =
        arguments.request.as_ref().map(|path| Input::new(path).bytes(limits)).transpose()?;
    if (asked.is_some() || arguments.handoff.is_some()) && arguments.files.len() > 1 {
        bail!("--request and --handoff go with one document");
    }
    let in_force = arguments.authority.read(location.configuration()?, limits)?;
    let handoff = match (&arguments.handoff, &in_force) {
        (Some(path), Some(in_force)) => Some(HandedOff::read(&Input::new(path), limits, in_force)?),
        (Some(_), None) => bail!(
            "--handoff is verified against --manifest and --lock; name them, or as governance in the configuration"
        ),
        (None, _) => None,
    };
    // All of them are read and judged before the log is touched.
    let documents: Vec<Document<'_>> = arguments
        .files
        .iter()
        .map(|file| {
            let against = (in_force.as_ref(), handoff.as_ref());
            Document::read(&Input::new(file), arguments, limits, against)
        })
        .collect::<anyhow::Result<_>>()?;
    let store = location.start()?;
    if let Some(handoff) = &handoff {
        handoff.check_recorded(&store)?;
    }
    if let Some(in_force) = &in_force {
        in_force.log(&store)?;
    }
    let mut exit = Exit::Good;
    for document in &documents {
        let index = match document.recorded(&store)? {
            Some(index) => {
                say(&format!("{} was recorded before, as entry {index}", document.name));
                index
            }
            None => document.record(&store, asked.as_deref(), arguments)?,
        };
        if document.is_rejected() {
            exit = Exit::NotGood;
            say(&format!("{} is recorded as rejected:", document.name));
            for finding in &document.errors {
                say(&format!("  {finding}"));
            }
        }
        print(&store, index, document.kind(), arguments.format)?;
    }
    Ok(exit)
}

fn print(store: &Store, index: u64, kind: Kind, format: Format) -> anyhow::Result<()> {
    let receipt = store.receipt(index)?.to_string();
    let text = match format {
        Format::Text => receipt,
        Format::Json => {
            let mut line = String::new();
            let value =
                json!({"index": index.to_string(), "kind": kind.as_str(), "receipt": receipt});
            push_line(&mut line, &value)?;
            line
        }
    };
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes())?;
    Ok(output.flush()?)
}

/// A reply that was read and judged.
struct Document<'a> {
    name: String,
    bytes: Vec<u8>,
    value: Value,
    contract: Contract,
    /// What breaks its contract, or keeps its agent from being believed.
    errors: Vec<ValidationError>,
    /// Who answered, where manifest and lock vouch for it.
    agent: Option<&'a AgentIdentity>,
    /// What it was verified against.
    verified: Option<&'a InForce>,
    /// What it answers, where that is a handoff.
    handoff: Option<&'a HandedOff>,
}

impl<'a> Document<'a> {
    fn read(
        input: &Input,
        arguments: &Arguments,
        limits: Limits,
        (in_force, handoff): (Option<&'a InForce>, Option<&'a HandedOff>),
    ) -> anyhow::Result<Self> {
        let name = input.name();
        let bytes = input.bytes(limits)?;
        let document = read(&bytes, limits).with_context(|| name.clone())?;
        let contract = match arguments.contract {
            Some(contract) => contract,
            None => {
                let found = recognise(&document.value);
                found
                    .with_context(|| {
                        format!("{name}: not recognised as any contract; name it with --as")
                    })?
                    .contract
            }
        };
        match contract {
            Contract::Handoff => {
                bail!("{name}: a handoff is no reply; name it with --handoff beside its response")
            }
            Contract::Descriptor | Contract::Manifest | Contract::Lock => {
                bail!("{name}: a {} is no reply", contract.title().trim_start_matches("ATDF "))
            }
            Contract::Governed => {}
            _ if handoff.is_some() => bail!("{name}: only a governed response answers a handoff"),
            _ => {}
        }
        let verified = in_force.filter(|_| contract == Contract::Governed);
        let (found, agent) = match verified {
            Some(in_force) => {
                let handoff = handoff.map(|handoff| &handoff.value);
                match in_force.authority().verify_document(&document, handoff, Profile::Strict) {
                    Verification::Accepted(accepted) => (Vec::new(), Some(accepted.agent)),
                    Verification::Refused(refused) => (refused.findings, None),
                }
            }
            None => {
                let found = contract.check(&document.value, Profile::Strict);
                (document.findings.into_iter().chain(found).collect(), None)
            }
        };
        let errors = found.into_iter().filter(ValidationError::is_error).collect();
        let value = document.value;
        Ok(Self { name, bytes, value, contract, errors, agent, verified, handoff })
    }

    /// Whether it breaks a rule, or was to be verified and was not accepted: what is in doubt is refused.
    fn is_rejected(&self) -> bool {
        !self.errors.is_empty() || self.verified.is_some() && self.agent.is_none()
    }

    fn kind(&self) -> Kind {
        if self.is_rejected() { Kind::Rejected } else { Kind::Response }
    }

    /// The entry that has this response already.
    fn recorded(&self, store: &Store) -> anyhow::Result<Option<u64>> {
        let Some(id) = self.response_id() else { return Ok(None) };
        let page = store.entries(&Filter::default().with_response_id(id), None, 1)?;
        Ok(page.entries.first().map(|entry| entry.index))
    }

    /// Appends the reply, behind its request.
    fn record(
        &self,
        store: &Store,
        asked: Option<&[u8]>,
        arguments: &Arguments,
    ) -> anyhow::Result<u64> {
        // What it was given for, not what it says: one that names another request is refused, and still answers this.
        let request_id = match (self.handoff, self.id("/request_context/request_id")) {
            (Some(handoff), _) => handoff.id,
            (None, Some(id)) => id,
            (None, None) => Id::try_from(&UuidV4::from_random(random()?))?,
        };
        let mut request = match self.handoff {
            Some(handoff) => handoff.request(store, arguments)?,
            None => arguments.told(self, Draft::request().with_request_id(request_id)),
        };
        if let Some(bytes) = asked {
            request = request.with_part(store.part("as_seen", bytes)?);
        }
        let part = store.part("response", self.bytes.as_slice())?;
        let reply = arguments.told(self, self.draft().with_request_id(request_id)).with_part(part);
        let ticket = store.write_weighing(self.bytes.len() + 8192, move |transaction| {
            if transaction.request_index(request_id)?.is_none() {
                transaction.append(&request)?;
            }
            transaction.append(&reply)
        })?;
        Ok(ticket.wait().with_context(|| self.name.clone())?.value.index)
    }

    /// What the leaf says of the reply. A document's own words go in where they are tokens.
    fn draft(&self) -> Draft {
        let codes = || {
            self.errors.iter().filter_map(|finding| Token::new(finding.error_code.as_ref()).ok())
        };
        let mut draft = if self.is_rejected() {
            Draft::rejected().with_codes(codes())
        } else {
            Draft::response()
        };
        if let Some(id) = self.response_id() {
            draft = draft.with_response_id(id);
        }
        if let Some(id) = self.id("/audit/correlation_id") {
            draft = draft.with_correlation_id(id);
        }
        if let Some(status) = self.status().and_then(|status| Token::new(status).ok()) {
            draft = draft.with_status(&status);
        }
        if let Some(time) = self.time() {
            draft = draft.with_claimed_time(time);
        }
        if let Ok(outcome) = Token::new(self.outcome()) {
            draft = draft.with_outcome(&outcome);
        }
        if self.contract == Contract::Governed {
            draft = match self.claimed() {
                Some(claimed) => draft.with_claimed(claimed),
                None => draft,
            };
            draft = draft.with_verdict(self.verdict(), codes());
        }
        if let Some(in_force) = self.verified {
            draft = in_force.name(draft);
        }
        match self.agent {
            Some(agent) => identified(draft, agent),
            None => draft,
        }
    }

    fn verdict(&self) -> Outcome {
        match self.verified {
            _ if self.is_rejected() => Outcome::Refused,
            Some(_) => Outcome::Accepted,
            None => Outcome::Unverified,
        }
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.value.pointer(pointer).and_then(Value::as_str)
    }

    fn id(&self, pointer: &str) -> Option<Id> {
        self.text(pointer).and_then(|text| Id::parse(text).ok())
    }

    fn response_id(&self) -> Option<Id> {
        self.id("/response_id").filter(|_| self.contract == Contract::Governed)
    }

    /// The status in the contract's own word.
    fn status(&self) -> Option<&str> {
        match self.contract {
            Contract::Governed => self.text("/response/status"),
            Contract::Ui => self.text("/response_type"),
            _ => self.text("/status"),
        }
    }

    /// What became of it, in the words that all contracts share.
    fn outcome(&self) -> &str {
        if self.is_rejected() {
            return "refused";
        }
        let is_ui_error = self.value.pointer("/metadata/error") == Some(&Value::Bool(true));
        match (self.contract, self.status()) {
            (Contract::Ui, _) if is_ui_error => "error",
            (Contract::Ui, _) | (_, Some("success")) => "ok",
            (_, Some(word @ ("ok" | "warning" | "partial" | "error" | "refused"))) => word,
            _ => "error",
        }
    }

    fn time(&self) -> Option<Timestamp> {
        let pointer = match self.contract {
            Contract::Atdf => "/meta/timestamp",
            Contract::Tool => "/audit/timestamp",
            _ => "/timestamp",
        };
        Timestamp::parse(self.text(pointer)?).ok().map(|(time, _)| time)
    }

    fn claimed(&self) -> Option<Attestation> {
        let flag = |name: &str| self.value.get("governance")?.get(name)?.as_bool();
        Some(Attestation {
            within_scope: flag("within_scope")?,
            boundaries_respected: flag("boundaries_respected")?,
            quality_standards_met: flag("quality_standards_met")?,
            constraints_followed: flag("constraints_followed")?,
        })
    }
}

impl Arguments {
    /// What is said of the request as of its reply.
    fn told(&self, document: &Document<'_>, draft: Draft) -> Draft {
        let mut draft = match Token::new(document.contract.as_str()) {
            Ok(contract) => draft.with_contract(&contract),
            Err(_) => draft,
        };
        if let Some(principal) = &self.principal {
            draft = draft.with_principal(principal);
        }
        // A name that only the document vouches for is kept as its digest.
        match (&self.tool, document.text("/tool")) {
            (Some(tool), _) => draft.with_tool(tool),
            (None, Some(tool)) if document.contract == Contract::Tool => {
                draft.with_unknown_tool(tool)
            }
            _ => draft,
        }
    }
}
