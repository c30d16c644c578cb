use std::io::{self, Write};
use std::path::{Path, PathBuf};

use answerback::UuidV4;
use answerback::contract::atdf::descriptor;
use answerback::contract::{Contract, Invalid, recognise};
use answerback::convert::{ConvertError, Inputs, convert};
use answerback::governance::{Authority, Lock};
use answerback::json::Limits;
use anyhow::{Context, bail};
use clap::ValueEnum;
use serde_json::{Map, Value};

use crate::exit::Exit;
use crate::governance_inputs::document;
use crate::input::InputSource;
use crate::options::LimitOptions;
use crate::output::{ClosableOutput, quiet_json, sanitise};
use answerback_store::system::random;

/// Write a reply in another contract
///
/// Members without a place in the target contract are listed on standard error and stored in its extension slot, so
/// converting back restores the document. Values that the target requires and the source lacks must be given as
/// options; they are never invented.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback convert --to ui reply.json
  answerback convert --to tool --tool weather.lookup@1.2.0 reply.json
  answerback convert --to governed --lock prompt-lock.json --agent domain-02-analysis --attest attest.json reply.json
  answerback convert --to descriptor mcp-tool.json

The file given to --attest:
  {\"governance\": {\"within_scope\": true, \"boundaries_respected\": true,
                  \"quality_standards_met\": true, \"constraints_followed\": true},
   \"request_context\": {\"request_type\": \"task\", \"request_summary\": \"what was asked\"},
   \"confidence\": \"high\"}

The time comes from the source. A tool envelope converted from another reply has the source answerback/convert.")]
pub(crate) struct Arguments {
    /// The document; '-' is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The contract to write
    #[arg(long, value_enum)]
    to: ConvertTarget,

    /// The contract of the document, instead of recognizing it
    #[arg(long, value_name = "CONTRACT", value_parser = crate::options::contract())]
    from: Option<Contract>,

    /// The tool and its version, for a tool envelope
    #[arg(long, value_name = "NAME@VERSION", value_parser = tool_with_version)]
    tool: Option<(String, String)>,

    /// The prompt lock with the agent, for a governed response
    #[arg(long, value_name = "LOCK")]
    lock: Option<PathBuf>,

    /// The manifest that gives agents their ids; without it an agent's id is its key in the lock
    #[arg(long, value_name = "MANIFEST", requires = "lock")]
    manifest: Option<PathBuf>,

    /// The agent's id, for a governed response
    #[arg(long, value_name = "ID", requires = "lock")]
    agent: Option<String>,

    /// The file with the attested claims, for a governed response
    #[arg(long, value_name = "FILE")]
    attest: Option<PathBuf>,

    /// The output format
    #[arg(long, value_enum, default_value_t = OutputLayout::Pretty)]
    format: OutputLayout,

    #[command(flatten)]
    limits: LimitOptions,
}

/// The contract or form to write.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum ConvertTarget {
    /// An ATDF enriched response
    Atdf,
    /// A governed response
    Governed,
    /// A UI envelope
    Ui,
    /// A tool envelope
    Tool,
    /// An MCP tool definition, from an ATDF tool descriptor
    McpTool,
    /// An ATDF tool descriptor, from an MCP tool definition
    Descriptor,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum OutputLayout {
    /// Indented
    Pretty,
    /// One line
    Json,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let limits = arguments.limits.limits();
    let input = InputSource::new(&arguments.file);
    let document = input.document(limits)?;
    if let Some(finding) = document.findings.iter().find(|finding| finding.is_error()) {
        anstream::eprintln!("error: {}: {}", input.name(), sanitise(&finding.to_string()));
        return Ok(Exit::NotGood);
    }
    let document = document.value;
    let to = match arguments.to {
        ConvertTarget::Atdf => Contract::Atdf,
        ConvertTarget::Governed => Contract::Governed,
        ConvertTarget::Ui => Contract::Ui,
        ConvertTarget::Tool => Contract::Tool,
        ConvertTarget::McpTool => {
            return match descriptor::descriptor_to_mcp(&document) {
                Ok(tool) => print(&tool, arguments.format),
                Err(invalid) => Ok(print_invalid("not a valid ATDF tool descriptor", &invalid)),
            };
        }
        ConvertTarget::Descriptor => {
            let converted =
                descriptor::mcp_to_descriptor(&document).with_context(|| input.name())?;
            return print(&converted, arguments.format);
        }
    };
    let from = match (arguments.from, recognise(&document)) {
        (Some(contract), _) => contract,
        (None, Some(found)) => found.contract,
        (None, None) => bail!(
            "{} is not recognized as one of the contracts; name its contract with --from atdf, governed, ui or tool",
            input.name()
        ),
    };
    let inputs = inputs(arguments, limits)?;
    match convert(&document, from, to, &inputs) {
        Ok(converted) => {
            let exit = print(&converted.document, arguments.format)?;
            if !converted.carried.is_empty() {
                anstream::eprintln!(
                    "note: a {} has no member for these values, so they are stored in its extension slot:",
                    to.title()
                );
                for place in &converted.carried {
                    anstream::eprintln!("  {}", sanitise(place.as_str()));
                }
            }
            Ok(exit)
        }
        Err(ConvertError::Source(invalid)) => Ok(print_invalid(
            &format!("{} is not a valid {}", input.name(), from.title()),
            &invalid,
        )),
        Err(ConvertError::Target(invalid)) => {
            Ok(print_invalid(&format!("the result would not be a valid {}", to.title()), &invalid))
        }
        Err(ConvertError::Missing(missing)) => bail!("{missing}; add {}", option_for(to)),
        Err(other) => bail!("{other}"),
    }
}

fn option_for(to: Contract) -> &'static str {
    match to {
        Contract::Tool => "--tool NAME@VERSION",
        _ => "--lock LOCK --agent ID --attest FILE",
    }
}

fn print_invalid(what: &str, invalid: &Invalid) -> Exit {
    anstream::eprintln!("error: {}:", sanitise(what));
    for finding in invalid.findings.iter().filter(|finding| finding.is_error()) {
        anstream::eprintln!("  {}", sanitise(&finding.to_string()));
    }
    Exit::NotGood
}

fn print(document: &Value, layout: OutputLayout) -> anyhow::Result<Exit> {
    let text = match layout {
        OutputLayout::Pretty => serde_json::to_string_pretty(document)?,
        OutputLayout::Json => serde_json::to_string(document)?,
    };
    writeln!(ClosableOutput::new(io::stdout()), "{}", quiet_json(&text))?;
    Ok(Exit::Good)
}

fn inputs(arguments: &Arguments, limits: Limits) -> anyhow::Result<Inputs> {
    let mut inputs = Inputs::default();
    if let Some((name, version)) = &arguments.tool {
        inputs = inputs.with_tool(name, version);
    }
    if let (Some(path), Some(agent)) = (&arguments.lock, &arguments.agent) {
        let lock = document(&InputSource::new(path), Contract::Lock, limits)?;
        let identity = if let Some(manifest) = &arguments.manifest {
            let manifest = document(&InputSource::new(manifest), Contract::Manifest, limits)?;
            Authority::new(&manifest, &lock).identity(agent)?.clone()
        } else {
            let lock = Lock::from_document(&lock).with_context(|| path.display().to_string())?;
            lock.identity(agent).with_context(|| path.display().to_string())?
        };
        let identity = serde_json::to_value(identity)?;
        inputs = inputs.with_agent(identity.as_object().cloned().unwrap_or_default());
        inputs = inputs.with_response_id(UuidV4::from_random(random()?));
    } else if arguments.lock.is_some() {
        bail!("--lock requires --agent ID, the agent of the lock that answers");
    }
    if let Some(path) = &arguments.attest {
        inputs = attested(inputs, path, limits)?;
    }
    Ok(inputs)
}

fn attested(mut inputs: Inputs, path: &Path, limits: Limits) -> anyhow::Result<Inputs> {
    let document = InputSource::new(path).document(limits)?.value;
    let object = |name: &str| -> anyhow::Result<Map<String, Value>> {
        match document.get(name) {
            Some(Value::Object(members)) => Ok(members.clone()),
            _ => bail!("{} has no object {name:?}; see answerback convert --help", path.display()),
        }
    };
    inputs = inputs.with_governance(object("governance")?).with_request(object("request_context")?);
    match document.get("confidence").and_then(Value::as_str) {
        Some(confidence) => Ok(inputs.with_confidence(confidence)),
        None => {
            bail!("{} has no \"confidence\": high, medium, low or not_applicable", path.display())
        }
    }
}

fn tool_with_version(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('@') {
        Some((name, version)) if !name.is_empty() && !version.is_empty() => {
            Ok((name.to_owned(), version.to_owned()))
        }
        _ => Err("expected a tool with its version, such as weather.lookup@1.2.0".to_owned()),
    }
}
