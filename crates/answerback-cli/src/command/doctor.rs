//! `answerback doctor`: checks everything that `serve` and `wrap` need, and shows how to fix problems.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use answerback_gateway::serve::Backend;
use answerback_gateway::{SecretSource, ServiceSettings, Weight, remarks};
use answerback_http::{HttpListener, ListenSettings, Principal, Tokens};
use anyhow::Context;
use serde_json::json;

use super::serve;
use crate::exit::Exit;
use crate::gateway::attestor;
use crate::ledger_location::{EMPTY, LedgerLocation, is_empty};
use crate::options::OutputFormat;
use crate::output::{ClosableOutput, push_line, sanitise};
use crate::plural::count_noun;
use crate::shell::quoted;
use crate::tokens::{check_scopes, with_configured_tokens, with_existing_tokens_only};
use crate::user_folders;

/// Check the configuration, the servers, their tools' schemas and the store, and show how to fix problems
///
/// Every configured server is started or contacted and asked for its list of tools. No tool is called.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback doctor
  answerback doctor --config .agent/config.yml --format json
  answerback doctor --only files

Exit codes: 0 no problems (advice does not count), 1 at least one problem.")]
pub(crate) struct Arguments {
    /// Check only this server
    #[arg(long, value_name = "NAME")]
    only: Option<String>,

    /// The output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,

    #[command(flatten)]
    location: LedgerLocation,
}

/// The result of one check.
struct DoctorFinding {
    status: CheckStatus,
    subject: String,
    message: String,
    remedy: Option<String>,
}

impl DoctorFinding {
    fn push(&self, text: &mut String, format: OutputFormat) -> anyhow::Result<()> {
        let Self { status, subject, message, remedy } = self;
        let status = status.as_str();
        match format {
            OutputFormat::Json => {
                let line =
                    json!({"standing": status, "about": subject, "what": message, "mend": remedy});
                push_line(text, &line)?;
            }
            OutputFormat::Text => {
                writeln!(text, "{status:<8} {}: {}", sanitise(subject), sanitise(message))?;
                if let Some(remedy) = remedy {
                    writeln!(text, "{:<8}   {}", "", sanitise(remedy))?;
                }
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum CheckStatus {
    Good,
    Advice,
    Problem,
}

impl CheckStatus {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Advice => "advice",
            Self::Problem => "problem",
        }
    }
}

/// The findings so far.
#[derive(Default)]
struct DoctorReport {
    all: Vec<DoctorFinding>,
    /// The number of findings that were printed.
    printed: usize,
}

impl DoctorReport {
    /// Prints the new findings. Some servers are slow, so findings are shown as they come.
    fn print_new(&mut self, format: OutputFormat) -> anyhow::Result<()> {
        let mut text = String::new();
        for finding in &self.all[self.printed..] {
            finding.push(&mut text, format)?;
        }
        self.printed = self.all.len();
        let mut output = ClosableOutput::new(anstream::stdout());
        output.write_all(text.as_bytes())?;
        output.flush()?;
        Ok(())
    }

    fn good(&mut self, subject: &str, message: impl Into<String>) {
        self.add(CheckStatus::Good, subject, message, None);
    }

    fn add(
        &mut self,
        status: CheckStatus,
        subject: &str,
        message: impl Into<String>,
        remedy: Option<&str>,
    ) {
        let (subject, remedy) = (subject.to_owned(), remedy.map(str::to_owned));
        self.all.push(DoctorFinding { status, subject, message: message.into(), remedy });
    }

    fn problem(&mut self, subject: &str, error: &anyhow::Error, remedy: &str) {
        self.add(CheckStatus::Problem, subject, format!("{error:#}"), Some(remedy));
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let mut findings = DoctorReport::default();
    let settings = check_configuration(arguments, &mut findings);
    // The configuration names the store, so without it the store cannot be checked.
    if arguments.location.configuration().is_ok() {
        check_store(arguments, &mut findings);
        check_governance(arguments, &mut findings);
    }
    findings.print_new(arguments.format)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start")?;
    if let Some(settings) = &settings {
        check_tokens(arguments, settings, &mut findings);
        runtime.block_on(check_port(settings, &mut findings));
        let location = &arguments.location;
        let backends = location
            .configuration()
            .and_then(|configuration| serve::backends(configuration, settings, |_| Ok(None)));
        match backends {
            Ok(backends) => {
                let is_meant = |backend: &&Backend| {
                    arguments.only.as_deref().is_none_or(|only| backend.name() == only)
                };
                let meant: Vec<&Backend> = backends.iter().filter(is_meant).collect();
                if meant.is_empty() {
                    let names: Vec<&str> = backends.iter().map(Backend::name).collect();
                    anyhow::bail!("there is no such server; the servers are {}", names.join(", "));
                }
                for backend in meant {
                    findings.print_new(arguments.format)?;
                    runtime.block_on(check_server(backend, &mut findings));
                }
            }
            Err(error) => {
                findings.problem(
                    "servers",
                    &error,
                    "correct gateway.upstreams in the configuration",
                );
            }
        }
    }
    runtime.shutdown_background();
    findings.print_new(arguments.format)?;
    let is_broken = findings.all.iter().any(|finding| finding.status == CheckStatus::Problem);
    Ok(if is_broken { Exit::NotGood } else { Exit::Good })
}

fn check_configuration(
    arguments: &Arguments,
    findings: &mut DoctorReport,
) -> Option<ServiceSettings> {
    const ABOUT: &str = "configuration";
    let configuration = match arguments.location.configuration() {
        Ok(configuration) => configuration,
        Err(error) => {
            findings.problem(ABOUT, &error, "correct the file; `answerback init` writes a new one");
            return None;
        }
    };
    let Some(file) = arguments.location.configuration_file() else {
        findings.add(
            CheckStatus::Good,
            ABOUT,
            "none; the defaults apply and `answerback tools` is served",
            Some("`answerback init` writes one in which every setting is explained"),
        );
        return Some(ServiceSettings::default());
    };
    let shown = file.display().to_string();
    let config = &configuration.config;
    if !config.ignored.is_empty() {
        let ignored = config.ignored.join(", ");
        let what = format!("{shown} is not trusted, so it does not set {ignored}");
        let remedy = format!("read it, then: answerback trust {}", quoted(&shown));
        findings.add(CheckStatus::Problem, ABOUT, what, Some(&remedy));
    }
    match configuration.as_served(&shown) {
        Ok((settings, warnings)) => {
            if config.ignored.is_empty() && warnings.is_empty() {
                // Unknown keys may belong to other programs, so they are only listed.
                let foreign = config.foreign.join(", ");
                findings.good(
                    ABOUT,
                    if foreign.is_empty() {
                        shown
                    } else {
                        format!("{shown}; keys of other programs, which are not read: {foreign}")
                    },
                );
            }
            for warning in warnings {
                findings.add(
                    CheckStatus::Problem,
                    ABOUT,
                    warning,
                    Some("correct the key; docs/reference/configuration.md lists the keys"),
                );
            }
            Some(settings)
        }
        Err(error) => {
            findings.problem(ABOUT, &error, "correct the setting");
            None
        }
    }
}

fn check_tokens(arguments: &Arguments, settings: &ServiceSettings, findings: &mut DoctorReport) {
    if settings.tokens.is_empty() {
        return;
    }
    let read = arguments.location.configuration().and_then(|configuration| {
        check_scopes(settings)?;
        for token in &settings.tokens {
            if let SecretSource::File(path) = &token.secret {
                check_creatable(&configuration.path(path))?;
            }
        }
        let there = with_existing_tokens_only(configuration, settings, |_| true);
        with_configured_tokens(Tokens::new(), configuration, &there)
    });
    match read {
        Ok(tokens) => {
            let names: Vec<&str> = tokens.principals().map(Principal::name).collect();
            findings.good(
                "tokens",
                match (names.len(), settings.tokens.len()) {
                    (there, all) if there == all => names.join(", "),
                    (0, all) => {
                        format!("0 of {all} exist; the others are created when the server starts")
                    }
                    (there, all) => format!(
                        "{there} of {all} exist: {}; the others are created when the server starts",
                        names.join(", ")
                    ),
                },
            );
        }
        Err(error) => {
            findings.problem("tokens", &error, "correct gateway.tokens, or the file in it");
        }
    }
}

/// Checks that a file exists or could be created.
fn check_creatable(file: &Path) -> anyhow::Result<()> {
    if file.exists() { Ok(()) } else { user_folders::check_creatable(file) }
}

/// Checks the governance files, and the agent that attests results.
fn check_governance(arguments: &Arguments, findings: &mut DoctorReport) {
    let read = arguments.location.configuration().and_then(|configuration| {
        let attestor = attestor(configuration)?;
        Ok((serve::governance(configuration)?.in_force.is_some(), attestor.is_some()))
    });
    match read {
        Ok((false, _)) => {}
        Ok((true, is_attested)) => {
            let what = if is_attested {
                "manifest and lock are valid, and the agent can attest under them"
            } else {
                "manifest and lock are valid"
            };
            findings.good("governance", what);
        }
        Err(error) => {
            findings.problem(
                "governance",
                &error,
                "correct governance in the configuration, or the file in it",
            );
        }
    }
}

fn check_store(arguments: &Arguments, findings: &mut DoctorReport) {
    const ABOUT: &str = "store";
    let location = &arguments.location;
    let path = match location.path() {
        Ok(path) => path,
        Err(error) => return findings.problem(ABOUT, &error, "name one with --store FILE"),
    };
    let is_file = !matches!(location.url(), Ok(Some(_)));
    if is_file && !path.exists() {
        // If the store cannot be created now, the first call could not create it either.
        match location.check_can_start() {
            Ok(()) => {
                findings
                    .good(ABOUT, format!("none yet; the first call creates {}", path.display()));
            }
            Err(error) => findings.problem(ABOUT, &error, "name another place with --store FILE"),
        }
        return;
    }
    if is_file && is_empty(&path) {
        let remedy =
            "a gateway turns it into a ledger when it starts; name another with --store FILE";
        let what = format!("{}: {EMPTY}", path.display());
        return findings.add(CheckStatus::Advice, ABOUT, what, Some(remedy));
    }
    // Opening compares the store with its key and its anchor, as a gateway does before its first write.
    let opened = location
        .write()
        .and_then(|store| Ok((store.origin()?, store.head()?.size, store.stats().warnings)));
    match opened {
        Ok((origin, size, warnings)) => {
            findings.good(ABOUT, format!("{origin}, {}", count_noun(size, "entry")));
            for warning in warnings {
                let remedy = "set it in the configuration of the database";
                findings.add(CheckStatus::Advice, ABOUT, warning, Some(remedy));
            }
        }
        Err(error) => {
            let verify = format!("answerback ledger verify{}", location.options());
            findings.problem(ABOUT, &error, &format!("find the damage with: {verify}"));
        }
    }
}

async fn check_port(settings: &ServiceSettings, findings: &mut DoctorReport) {
    let usual: SocketAddr = (Ipv4Addr::LOCALHOST, serve::PORT).into();
    let address = settings.listen.unwrap_or(usual);
    match HttpListener::bind(ListenSettings::from(address)).await {
        Ok(listener) => findings.good("port", format!("{} is free", listener.address())),
        Err(error) => findings.add(
            CheckStatus::Advice,
            "port",
            format!("{:#}", anyhow::Error::from(error)),
            Some("a gateway may be running already; otherwise set gateway.listen, or start with: answerback serve --listen 127.0.0.1:0"),
        ),
    }
}

async fn check_server(backend: &Backend, findings: &mut DoctorReport) {
    let about = format!("server {}", backend.name());
    let inspected = match backend.inspect().await {
        Ok(inspected) => inspected,
        Err(reason) => {
            let remedy = "run its command by hand, or open its URL, and read its output";
            return findings.add(CheckStatus::Problem, &about, reason, Some(remedy));
        }
    };
    let said = |member: &str| inspected.info[member].as_str().unwrap_or("?").to_owned();
    let (name, version, revision) = (said("name"), said("version"), &inspected.revision);
    let tools = count_noun(inspected.tools.len(), "tool");
    findings.good(&about, format!("{name} {version}, revision {revision}, {tools}"));
    for tool in &inspected.tools {
        let name = answerback::finding::display_name(tool["name"].as_str().unwrap_or("(nameless)"));
        for remark in remarks(tool) {
            let status = match remark.weight {
                Weight::Problem => CheckStatus::Problem,
                Weight::Advice => CheckStatus::Advice,
            };
            let about = format!("{about}, tool {name}");
            findings.add(status, &about, remark.what, Some(remark.fix));
        }
    }
}
