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

use super::ledger::location::{EMPTY, Location, is_empty};
use super::serve;
use crate::exit::Exit;
use crate::folders;
use crate::gateway::attestor;
use crate::options::OutputFormat;
use crate::output::{Leavable, push_line, sanitise};
use crate::plural::counted;
use crate::shell::quoted;
use crate::tokens::{check_scopes, that_are_there, with_named};

/// Check the configuration, the servers, their tools' schemas and the store, and say how to mend what is wrong
///
/// Every server of the configuration is started or reached, greeted, and asked for its tools; nothing is called.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback doctor
  answerback doctor --config .agent/config.yml --format json
  answerback doctor --only files

Ends with 0 when nothing is broken (advice does not count), with 1 when something is.")]
pub(crate) struct Arguments {
    /// Look at this server only
    #[arg(long, value_name = "NAME")]
    only: Option<String>,

    /// How to print what was found
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,

    #[command(flatten)]
    location: Location,
}

/// The result of one check.
struct Finding {
    standing: CheckStatus,
    about: String,
    what: String,
    mend: Option<String>,
}

impl Finding {
    fn push(&self, text: &mut String, format: OutputFormat) -> anyhow::Result<()> {
        let Self { standing, about, what, mend } = self;
        let standing = standing.as_str();
        match format {
            OutputFormat::Json => {
                let line =
                    json!({"standing": standing, "about": about, "what": what, "mend": mend});
                push_line(text, &line)?;
            }
            OutputFormat::Text => {
                writeln!(text, "{standing:<8} {}: {}", sanitise(about), sanitise(what))?;
                if let Some(mend) = mend {
                    writeln!(text, "{:<8}   {}", "", sanitise(mend))?;
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
struct DoctorFindings {
    all: Vec<Finding>,
    /// The number of findings that were printed.
    told: usize,
}

impl DoctorFindings {
    /// Prints the new findings. Some servers are slow, so findings are shown as they come.
    fn tell(&mut self, format: OutputFormat) -> anyhow::Result<()> {
        let mut text = String::new();
        for finding in &self.all[self.told..] {
            finding.push(&mut text, format)?;
        }
        self.told = self.all.len();
        let mut output = Leavable::new(anstream::stdout());
        output.write_all(text.as_bytes())?;
        output.flush()?;
        Ok(())
    }

    fn good(&mut self, about: &str, what: impl Into<String>) {
        self.add(CheckStatus::Good, about, what, None);
    }

    fn add(
        &mut self,
        standing: CheckStatus,
        about: &str,
        what: impl Into<String>,
        mend: Option<&str>,
    ) {
        let (about, mend) = (about.to_owned(), mend.map(str::to_owned));
        self.all.push(Finding { standing, about, what: what.into(), mend });
    }

    fn problem(&mut self, about: &str, error: &anyhow::Error, mend: &str) {
        self.add(CheckStatus::Problem, about, format!("{error:#}"), Some(mend));
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let mut findings = DoctorFindings::default();
    let settings = look_at_configuration(arguments, &mut findings);
    // The configuration names the store, so without it the store cannot be checked.
    if arguments.location.configuration().is_ok() {
        look_at_store(arguments, &mut findings);
        look_at_governance(arguments, &mut findings);
    }
    findings.tell(arguments.format)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start")?;
    if let Some(settings) = &settings {
        look_at_tokens(arguments, settings, &mut findings);
        runtime.block_on(look_at_port(settings, &mut findings));
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
                    anyhow::bail!("there is no such server; there are {}", names.join(", "));
                }
                for backend in meant {
                    findings.tell(arguments.format)?;
                    runtime.block_on(look_at_server(backend, &mut findings));
                }
            }
            Err(error) => {
                findings.problem("servers", &error, "mend gateway.upstreams of the configuration");
            }
        }
    }
    runtime.shutdown_background();
    findings.tell(arguments.format)?;
    let is_broken = findings.all.iter().any(|finding| finding.standing == CheckStatus::Problem);
    Ok(if is_broken { Exit::NotGood } else { Exit::Good })
}

fn look_at_configuration(
    arguments: &Arguments,
    findings: &mut DoctorFindings,
) -> Option<ServiceSettings> {
    const ABOUT: &str = "configuration";
    let configuration = match arguments.location.configuration() {
        Ok(configuration) => configuration,
        Err(error) => {
            findings.problem(
                ABOUT,
                &error,
                "mend the file; `answerback init` writes one to begin with",
            );
            return None;
        }
    };
    let Some(file) = arguments.location.configuration_file() else {
        findings.add(
            CheckStatus::Good,
            ABOUT,
            "none; the defaults hold and `answerback tools` is served",
            Some("`answerback init` writes one with everything explained"),
        );
        return Some(ServiceSettings::default());
    };
    let shown = file.display().to_string();
    let config = &configuration.config;
    if !config.ignored.is_empty() {
        let ignored = config.ignored.join(", ");
        let what = format!("{shown} is not trusted, so it does not set {ignored}");
        let mend = format!("read it, then: answerback trust {}", quoted(&shown));
        findings.add(CheckStatus::Problem, ABOUT, what, Some(&mend));
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
                    Some("correct the key; docs/config.md lists those that are known"),
                );
            }
            Some(settings)
        }
        Err(error) => {
            findings.problem(ABOUT, &error, "mend what is named");
            None
        }
    }
}

fn look_at_tokens(
    arguments: &Arguments,
    settings: &ServiceSettings,
    findings: &mut DoctorFindings,
) {
    if settings.tokens.is_empty() {
        return;
    }
    let read = arguments.location.configuration().and_then(|configuration| {
        check_scopes(settings)?;
        for token in &settings.tokens {
            if let SecretSource::File(path) = &token.secret {
                could_be(&configuration.path(path))?;
            }
        }
        let there = that_are_there(configuration, settings, |_| true);
        with_named(Tokens::new(), configuration, &there)
    });
    match read {
        Ok(tokens) => {
            let names: Vec<&str> = tokens.principals().map(Principal::name).collect();
            findings.good(
                "tokens",
                match (names.len(), settings.tokens.len()) {
                    (there, all) if there == all => names.join(", "),
                    (0, all) => {
                        format!("0 of {all} are there; the others are made when the server starts")
                    }
                    (there, all) => format!(
                        "{there} of {all} are there: {}; the others are made when the server starts",
                        names.join(", ")
                    ),
                },
            );
        }
        Err(error) => {
            findings.problem("tokens", &error, "mend gateway.tokens, or the file it names");
        }
    }
}

/// Checks that a file exists or could be created.
fn could_be(file: &Path) -> anyhow::Result<()> {
    if file.exists() { Ok(()) } else { folders::could_make(file) }
}

/// Checks the governance files, and the agent that attests results.
fn look_at_governance(arguments: &Arguments, findings: &mut DoctorFindings) {
    let read = arguments.location.configuration().and_then(|configuration| {
        let attestor = attestor(configuration)?;
        Ok((serve::governance(configuration)?.in_force.is_some(), attestor.is_some()))
    });
    match read {
        Ok((false, _)) => {}
        Ok((true, is_attested)) => {
            let what = if is_attested {
                "manifest and lock are there, and the agent may speak under them"
            } else {
                "manifest and lock are there"
            };
            findings.good("governance", what);
        }
        Err(error) => {
            findings.problem(
                "governance",
                &error,
                "mend governance of the configuration, or the file it names",
            );
        }
    }
}

fn look_at_store(arguments: &Arguments, findings: &mut DoctorFindings) {
    const ABOUT: &str = "store";
    let location = &arguments.location;
    let path = match location.path() {
        Ok(path) => path,
        Err(error) => return findings.problem(ABOUT, &error, "name one with --store FILE"),
    };
    let is_file = !matches!(location.url(), Ok(Some(_)));
    if is_file && !path.exists() {
        // If the store cannot be created now, the first call could not create it either.
        match location.could_start() {
            Ok(()) => {
                findings.good(ABOUT, format!("none yet; the first call makes {}", path.display()));
            }
            Err(error) => findings.problem(ABOUT, &error, "name another place with --store FILE"),
        }
        return;
    }
    if is_file && is_empty(&path) {
        let mend = "a gateway makes it one when it starts; name another with --store FILE";
        let what = format!("{}: {EMPTY}", path.display());
        return findings.add(CheckStatus::Advice, ABOUT, what, Some(mend));
    }
    // Opening compares the store with its key and its anchor, as a gateway does before its first write.
    let opened = location
        .write()
        .and_then(|store| Ok((store.origin()?, store.head()?.size, store.stats().warnings)));
    match opened {
        Ok((origin, size, warnings)) => {
            findings.good(ABOUT, format!("{origin}, {}", counted(size, "entry")));
            for warning in warnings {
                let mend = "set it in the configuration of the database";
                findings.add(CheckStatus::Advice, ABOUT, warning, Some(mend));
            }
        }
        Err(error) => {
            let verify = format!("answerback ledger verify{}", location.options());
            findings.problem(ABOUT, &error, &format!("see what is wrong with: {verify}"));
        }
    }
}

async fn look_at_port(settings: &ServiceSettings, findings: &mut DoctorFindings) {
    let usual: SocketAddr = (Ipv4Addr::LOCALHOST, serve::PORT).into();
    let address = settings.listen.unwrap_or(usual);
    match HttpListener::bind(ListenSettings::from(address)).await {
        Ok(listener) => findings.good("port", format!("{} is free", listener.address())),
        Err(error) => findings.add(
            CheckStatus::Advice,
            "port",
            format!("{:#}", anyhow::Error::from(error)),
            Some("a gateway may be running already; otherwise set gateway.listen, or start with: answerback serve --listen"),
        ),
    }
}

async fn look_at_server(backend: &Backend, findings: &mut DoctorFindings) {
    let about = format!("server {}", backend.name());
    let inspected = match backend.inspect().await {
        Ok(inspected) => inspected,
        Err(reason) => {
            let mend = "run its command by hand, or open its URL, and see what it says";
            return findings.add(CheckStatus::Problem, &about, reason, Some(mend));
        }
    };
    let said = |member: &str| inspected.info[member].as_str().unwrap_or("?").to_owned();
    let (name, version, revision) = (said("name"), said("version"), &inspected.revision);
    let tools = counted(inspected.tools.len(), "tool");
    findings.good(&about, format!("{name} {version}, revision {revision}, {tools}"));
    for tool in &inspected.tools {
        let name = answerback::finding::shown_name(tool["name"].as_str().unwrap_or("(nameless)"));
        for remark in remarks(tool) {
            let standing = match remark.weight {
                Weight::Problem => CheckStatus::Problem,
                Weight::Advice => CheckStatus::Advice,
            };
            let about = format!("{about}, tool {name}");
            findings.add(standing, &about, remark.what, Some(remark.fix));
        }
    }
}
