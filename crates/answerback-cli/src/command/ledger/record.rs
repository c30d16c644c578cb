use std::io::Write;
use std::path::PathBuf;

use answerback::UuidV4;
use answerback::contract::{Contract, Profile};
use answerback::json::Limits;
use answerback_ledger::{Draft, LeafId, LeafKind, LeafToken};
use answerback_store::Store;
use answerback_store::recording::{
    ActiveGovernance, RESPONSE, RecordingOutcome, ReplyError, ReplyRecording, ReviewedReply,
    parts_of_bytes,
};
use anyhow::{Context, bail};
use serde_json::json;

use super::authority::AuthorityOptions;
use super::handoff::RecordedHandoff;
use crate::exit::Exit;
use crate::input::InputSource;
use crate::ledger_location::LedgerLocation;
use crate::options::{LimitOptions, OutputFormat};
use crate::output::{ClosableOutput, push_line, say};
use answerback_store::system::{now, random};

/// Record replies in the ledger, and print their receipts
///
/// Each document is checked against its contract and recorded without its secrets: as a response, or as rejected if it
/// breaks its contract. A governed response is verified against --manifest and --lock; without them it is recorded as
/// unverified. Each response belongs to a request. If the log has no request with the document's request id, one is
/// recorded first: with --handoff that handoff, whose id then applies.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback ledger record reply.json > receipt.txt
  answerback ledger record --request call.json --tool weather.now reply.json
  answerback ledger record --manifest prompt-manifest.json --lock prompt-lock.json response.json
  answerback ledger record --manifest prompt-manifest.json --lock prompt-lock.json --handoff handoff.json response.json
  answerback ledger record --format json replies/*.json

The first record creates the ledger and its key. A response whose response id is already in the log is not recorded
again, and a different one with that id is recorded as rejected. A document without such an id is recorded each time.
Exit codes: 0 recorded, 1 recorded as rejected, 2 not recorded.")]
pub(crate) struct Arguments {
    /// The documents; '-' is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The contract of the documents, instead of recognizing it
    #[arg(long = "as", value_name = "CONTRACT", value_parser = crate::options::contract())]
    contract: Option<Contract>,

    /// The request, which is recorded without its secrets
    #[arg(long, value_name = "FILE")]
    request: Option<PathBuf>,

    /// The handoff that the response answers; it is verified and recorded as the request
    #[arg(long, value_name = "FILE", conflicts_with = "request")]
    handoff: Option<PathBuf>,

    /// The tool that answered; without it only a digest of the name in the document is recorded
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    #[command(flatten)]
    authority: AuthorityOptions,

    /// The principal on whose behalf to record
    #[arg(long, value_name = "NAME", value_parser = token)]
    pub(super) principal: Option<LeafToken>,

    /// The output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,

    #[command(flatten)]
    limits: LimitOptions,
}

fn token(text: &str) -> Result<LeafToken, String> {
    LeafToken::new(text).map_err(|error| error.to_string())
}

pub(crate) fn run(arguments: &Arguments, location: &LedgerLocation) -> anyhow::Result<Exit> {
    let limits = arguments.limits.limits();
    let asked =
        arguments.request.as_ref().map(|path| InputSource::new(path).bytes(limits)).transpose()?;
    if (asked.is_some() || arguments.handoff.is_some()) && arguments.files.len() > 1 {
        bail!("--request and --handoff require exactly one document");
    }
    let in_force = arguments.authority.read(location.configuration()?, limits)?;
    let handoff = match (&arguments.handoff, &in_force) {
        (Some(path), Some(in_force)) => {
            Some(RecordedHandoff::read(&InputSource::new(path), limits, in_force)?)
        }
        (Some(_), None) => bail!(
            "--handoff requires --manifest and --lock; name them, or set governance in the configuration"
        ),
        (None, _) => None,
    };
    // All documents are read and checked before anything is written.
    let documents: Vec<CheckedReply<'_>> = arguments
        .files
        .iter()
        .map(|file| {
            let against = (in_force.as_ref(), handoff.as_ref());
            CheckedReply::read(&InputSource::new(file), arguments, limits, against)
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
        let (name, reply) = (&document.name, &document.reply);
        let (index, kind) = match document.record(&store, asked.as_deref(), arguments)? {
            RecordingOutcome::New(appended) => (appended.index, reply.kind()),
            RecordingOutcome::Repeated(index) => {
                say(&format!("{name} was recorded before, as entry {index}"));
                (index, reply.kind())
            }
            RecordingOutcome::Conflict { appended, first } => {
                exit = Exit::NotGood;
                say(&format!(
                    "{name} is recorded as rejected: another reply, entry {first}, already has its response id; use a new one"
                ));
                (appended.index, LeafKind::Rejected)
            }
        };
        if reply.is_rejected() {
            exit = Exit::NotGood;
            say(&format!("{name} is recorded as rejected:"));
            for finding in reply.errors() {
                say(&format!("  {finding}"));
            }
        }
        if let Some(warning) = reply.contract.check_time(&reply.value, now()) {
            say(&format!("warning: {name}: {warning}"));
        }
        print(&store, index, kind, arguments.format)?;
    }
    Ok(exit)
}

fn print(store: &Store, index: u64, kind: LeafKind, format: OutputFormat) -> anyhow::Result<()> {
    let receipt = store.receipt(index)?.to_string();
    let text = match format {
        OutputFormat::Text => receipt,
        OutputFormat::Json => {
            let mut line = String::new();
            let value =
                json!({"index": index.to_string(), "kind": kind.as_str(), "receipt": receipt});
            push_line(&mut line, &value)?;
            line
        }
    };
    let mut output = ClosableOutput::new(std::io::stdout().lock());
    output.write_all(text.as_bytes())?;
    Ok(output.flush()?)
}

/// A parsed and checked reply.
struct CheckedReply<'a> {
    name: String,
    reply: ReviewedReply<'a>,
    /// The handoff that the reply answers, if there is one.
    handoff: Option<&'a RecordedHandoff>,
}

impl<'a> CheckedReply<'a> {
    fn read(
        input: &InputSource,
        arguments: &Arguments,
        limits: Limits,
        (in_force, handoff): (Option<&'a ActiveGovernance>, Option<&'a RecordedHandoff>),
    ) -> anyhow::Result<Self> {
        let name = input.name();
        let against = (in_force, handoff.map(|handoff| &handoff.value));
        let bytes = input.bytes(limits)?;
        let read = ReviewedReply::read(bytes, arguments.contract, Profile::Strict, limits, against);
        let reply = match read {
            Ok(reply) => reply,
            Err(ReplyError::Unrecognised) => {
                bail!("{name}: {}", crate::options::unrecognised())
            }
            Err(ReplyError::NotAReply(Contract::Handoff)) => {
                bail!(
                    "{name}: a handoff is not a reply; name it with --handoff together with its response"
                )
            }
            Err(ReplyError::Read(error)) => return Err(error).context(name),
            Err(error) => bail!("{name}: {error}"),
        };
        if handoff.is_some() && reply.contract != Contract::Governed {
            bail!("{name}: only a governed response answers a handoff");
        }
        Ok(Self { name, reply, handoff })
    }

    /// Appends the reply after its request.
    fn record(
        &self,
        store: &Store,
        asked: Option<&[u8]>,
        arguments: &Arguments,
    ) -> anyhow::Result<RecordingOutcome> {
        // The handoff's id has precedence over the id in the reply. A reply that names another request is rejected, but
        // still answers this one.
        let request_id = match (self.handoff, self.reply.request_id()) {
            (Some(handoff), _) => handoff.id,
            (None, Some(id)) => id,
            (None, None) => LeafId::try_from(&UuidV4::from_random(random()?))?,
        };
        let mut request = match self.handoff {
            Some(handoff) => handoff.request(store, arguments)?,
            None => arguments.add_claims(self, Draft::request().with_request_id(request_id)),
        };
        if let Some(bytes) = asked {
            let parts = parts_of_bytes(store, "as_seen", bytes)?;
            request = parts.into_iter().fold(request, Draft::with_part);
        }
        let bytes = &self.reply.bytes;
        let draft = arguments.add_claims(self, self.reply.draft().with_request_id(request_id));
        let parts = parts_of_bytes(store, RESPONSE, bytes)?;
        let reply = parts.into_iter().fold(draft, Draft::with_part);
        let (principal, tool) = (arguments.principal.as_ref(), arguments.tool.as_deref());
        let recording = ReplyRecording::new(&self.reply, (request, reply), principal, tool)?;
        let weight = bytes.len() + 8192;
        let ticket =
            store.write_weighing(weight, move |transaction| recording.append(transaction))?;
        Ok(ticket.wait().with_context(|| self.name.clone())?.value)
    }
}

impl Arguments {
    fn add_claims(&self, document: &CheckedReply<'_>, draft: Draft) -> Draft {
        document.reply.add_caller_and_tool(draft, self.principal.as_ref(), self.tool.as_deref())
    }
}
