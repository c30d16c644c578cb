//! `answerback serve`: one endpoint in front of several MCP servers.

use std::collections::BTreeMap;
use std::fs;
use std::io::IsTerminal;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use answerback::config::EventsConfig;
use answerback::json::Limits;
use answerback_gateway::serve::{Backend, BackendTransport, GatewayService};
use answerback_gateway::{
    EnvironmentValue, Recorder, SecretSource, ServerSettings, ServiceSettings, TransportSettings,
};
use answerback_http::{
    BearerToken, BrowserSessions, Guard, HealthChecks, HttpListener, ListenSettings, Metrics,
    Scope, TokenTable, Tokens,
};
use answerback_mcp::link::{Program, Remote};
use answerback_store::Store;
use answerback_web::{Console, ConsoleSettings, Retention};
use anyhow::Context;
use serde_json::json;
use tracing_subscriber::filter::LevelFilter;

use crate::agent_tools::AgentTools;
use crate::command::ledger::authority::AuthorityOptions;
use crate::command::reaper::shared_reaper;
use crate::configuration::Configuration;
use crate::console_host::{ConfiguredGovernance, GatewayConsoleHost};
use crate::demo::{self, DemoFolder};
use crate::exit::Exit;
use crate::gateway::GatewayOptions;
use crate::log_format::LogOptions;
use crate::output::say;
use crate::runtime::{log, log_from, stop};
use crate::server_address::ServerAddress;
use crate::tokens::{LAUNCHER, LAUNCHER_FILE, OWN, OWN_FILE, OWN_SCOPES, with_configured_tokens};
use crate::user_folders;
use crate::webhook::Webhook;

/// The default port.
pub(super) const PORT: u16 = 7311;
/// The principal of people in a browser.
const CONSOLE: &str = "console";
/// The file with the digests of open sessions.
const SESSIONS_FILE: &str = "console.sessions";
/// The file with the webhook's position in the log.
const WEBHOOK_FILE: &str = "console.webhook";
/// The time for running work to finish after the server has stopped.
const LAST_WORK: Duration = Duration::from_secs(1);

/// Serve several MCP servers behind one endpoint, each call checked, answered and recorded
///
/// Clients connect over Streamable HTTP to /mcp, which has the tools of all servers, or to /mcp/NAME for one server.
/// Without a configuration the only server is `answerback tools`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback serve --demo
  answerback serve
  answerback serve --config .agent/config.yml --listen 127.0.0.1:0
  answerback serve --no-record --token-file ./token

The servers are listed in the configuration:
  gateway:
    upstreams:
      files: {command: npx, args: [-y, \"@modelcontextprotocol/server-filesystem\", /data]}
      search: {url: \"https://example.org/mcp\", headers: {Authorization: {env: TOKEN}}}

Every request needs a token: the one in --token-file, created on first use, or one from gateway.tokens. Cases that wait
for a person are in `answerback inbox` and at /api/cases. SIGHUP reloads the configuration without dropping calls.
/healthz and /readyz need no token, /metrics needs the scope read.
$ANSWERBACK_LOG (error, warn, info, debug) sets the log level on standard error.")]
pub(crate) struct Arguments {
    /// The address to listen on; port 0 selects a free port [default: gateway.listen in the configuration, or
    /// 127.0.0.1:7311]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    listen: Option<SocketAddr>,

    /// Allow an address that other machines can reach; put a proxy with TLS in front
    #[arg(long)]
    allow_remote: bool,

    /// The file with the server's own token, created on first use [default: serve.token next to the store]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Run a demo: a scripted conversation in a temporary folder fills every page of the console
    #[arg(long, conflicts_with_all = ["no_record", "store", "key", "anchor", "config", "token_file"])]
    demo: bool,

    #[command(flatten)]
    gateway: GatewayOptions,

    #[command(flatten)]
    log: LogOptions,
}

/// Parses an address with a port. Host names are not supported, because one name could mean several addresses.
fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "expected an address with a port, such as 127.0.0.1:7311")
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    if !arguments.demo {
        log(arguments.log)?;
        return serve(arguments);
    }
    // Calls in the demo fail on purpose, so their warnings are not logged.
    log_from(LevelFilter::ERROR, arguments.log)?;
    let demo = DemoFolder::prepare()?;
    let options = GatewayOptions::within(demo.path());
    // Another demo or server may use the default port.
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    serve(&Arguments {
        listen: arguments.listen.or(Some(any)),
        allow_remote: arguments.allow_remote,
        token_file: None,
        demo: true,
        gateway: options,
        log: arguments.log,
    })
}

fn serve(arguments: &Arguments) -> anyhow::Result<Exit> {
    let location = &arguments.gateway.location;
    let configuration = location.configuration()?;
    let settings = settings(configuration)?;
    let backends = backends(configuration, &settings, |name| arguments.gateway.pins(name))?;
    warn_about_missing(&backends);
    let listen = arguments.listen.or(settings.listen);
    let listen = listen.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, PORT).into());
    // This check comes first, so that a rejected start leaves no ledger, key or token behind.
    if !listen.ip().is_loopback() && !arguments.allow_remote {
        anyhow::bail!(
            "other machines can reach {listen}, without TLS; listen on 127.0.0.1, or add --allow-remote and put a proxy with TLS in front"
        );
    }
    let listen = ListenSettings::from(listen).with_remote_allowed(arguments.allow_remote);
    let token_file = match &arguments.token_file {
        Some(file) => file.clone(),
        None => location.folder()?.join(OWN_FILE),
    };
    user_folders::create_parent(&token_file)?;
    let (tokens, token) = arguments.tokens(&token_file, configuration, &settings)?;
    let governance = governance(configuration)?;
    let metrics = Metrics::install()?;
    // The console offers full-text search, so the index is kept up to date.
    let gateway = arguments.gateway.gateway(true)?;
    let recorder = gateway.recorder().cloned();
    // A call passes through several tasks and needs little CPU time, so waking more threads costs more than it saves.
    // Half of the cores forward messages; the rest is for the ledger and the servers.
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads((cores / 2).max(1))
        .enable_all()
        .build()
        .context("cannot start the gateway")?;
    let ended = runtime.block_on(async {
        let stopped = stop();
        let limits = gateway.settings().limits;
        let listen = listen
            .with_max_connections(limits.connections)
            .with_max_connections_per_token(limits.connections_per_token)
            .with_max_half_open(limits.half_open);
        let listener = HttpListener::bind(listen).await?;
        let console = recorder.is_some().then(|| console_of(listener.address())).flatten();
        let gateway = gateway.with_console(console.clone());
        let agent_tools = AgentTools::default();
        let own = recorder.is_some().then(|| agent_tools.backend_unless_name_clash(&settings.servers)).flatten();
        let backends = backends.into_iter().chain(own);
        let service = GatewayService::new(Arc::new(gateway), backends);
        service.start().await.context("the ledger cannot be written, so nothing is served; check it with `answerback doctor`")?;
        let shown = Arc::clone(&service);
        let metrics = metrics.routes_with_update(move || shown.update_metrics());
        let mut routes = service.routes().merge(health(&service).routes()).merge(metrics);
        let table = TokenTable::new(tokens);
        let mut guard = Guard::new(table.clone());
        let opened = match &recorder {
            Some(recorder) => {
                let store = recorder.store();
                Some(arguments.console(store, &service, governance, &listener, configuration)?)
            }
            None => None,
        };
        if let Some((console, _, sessions)) = &opened {
            agent_tools.set_console(console);
            routes = routes.merge(console.routes());
            guard = guard.with_sessions(sessions.clone());
            tokio::spawn(Arc::clone(console).follow());
            let EventsConfig { keep_days, keep_count, .. } = configuration.config.console.events;
            let retention = Retention::new(keep_days, keep_count.into());
            tokio::spawn(Arc::clone(console).prune_events_periodically(retention));
            if let Some(url) = configuration.config.console.webhook.clone() {
                let file = arguments.gateway.location.folder()?.join(WEBHOOK_FILE);
                let webhook = Webhook::new(url, file);
                let (from, positions) = (webhook.next(), webhook.clone());
                let notify = move |decision| webhook.clone().send(decision);
                let save_position = move |next| positions.save_position(next);
                tokio::spawn(Arc::clone(console).notify_decisions(from, notify, save_position));
            }
        }
        let published = match &opened {
            Some(_) => {
                Some(ServerAddress::publish(&arguments.gateway.location.folder()?, listener.address())?)
            }
            None => None,
        };
        print_endpoint(&listener, &service, arguments, &token, &token_file);
        if let Some((_, _, sessions)) = &opened {
            print_launch_link(&listener, sessions, arguments)?;
        }
        if arguments.demo {
            say("demo     a scripted conversation is running; Ctrl-C ends it and removes its folder");
            let (address, token) = (listener.address(), token.clone());
            let folder = arguments.gateway.location.folder()?;
            // The thread ends with the process.
            std::thread::spawn(move || demo::play(address, token.text(), &folder));
        }
        let host = opened.as_ref().map(|(_, host, _)| host);
        let was_at_terminal = std::io::stderr().is_terminal();
        let reloading = async {
            let mut requests = ReloadRequest::new();
            loop {
                requests.next().await;
                // The terminal was closed, so this hang-up is not a request to reload.
                if was_at_terminal && !std::io::stderr().is_terminal() {
                    return;
                }
                let reloaded = reload(
                    arguments,
                    &token_file,
                    &service,
                    &table,
                    (recorder.clone(), console.clone()),
                    (host, &agent_tools),
                );
                match reloaded.await {
                    Ok(()) => {
                        say("the configuration was reloaded; it applies to new clients");
                    }
                    Err(error) => {
                        say(&format!("error: the configuration was not reloaded: {error:#}; correct it and send SIGHUP again"));
                    }
                }
            }
        };
        tokio::select! {
            () = answerback_http::serve(listener, routes, guard, stopped) => {}
            () = reloading => {}
        }
        drop(published);
        service.stop().await.context("the shutdown could not be recorded")
    });
    // A running check cannot be aborted, so the runtime does not wait for it. Its writes are discarded.
    runtime.shutdown_timeout(LAST_WORK);
    if let Some(recorder) = recorder {
        recorder.store().close();
    }
    ended.map(|()| Exit::Good)
}

/// Applies the configuration as it is now. Connected clients keep their settings. The listening address and the ledger
/// do not change.
async fn reload(
    arguments: &Arguments,
    token_file: &Path,
    service: &GatewayService,
    table: &TokenTable,
    (recorder, console): (Option<Recorder>, Option<String>),
    (host, agent_tools): (Option<&Arc<GatewayConsoleHost>>, &AgentTools),
) -> anyhow::Result<()> {
    let location = &arguments.gateway.location;
    let configuration = location.reread_configuration()?;
    let settings = settings(&configuration)?;
    let backends = backends(&configuration, &settings, |name| arguments.gateway.pins(name))?;
    warn_about_missing(&backends);
    let (tokens, _) = arguments.tokens(token_file, &configuration, &settings)?;
    let governance = governance(&configuration)?;
    let gateway =
        arguments.gateway.reloaded_gateway(&configuration, recorder)?.with_console(console);
    let own =
        host.is_some().then(|| agent_tools.backend_unless_name_clash(&settings.servers)).flatten();
    let backends = backends.into_iter().chain(own);
    service.replace(Arc::new(gateway), backends).await?;
    table.replace(tokens);
    if let Some(host) = host {
        let host = Arc::clone(host);
        tokio::task::spawn_blocking(move || host.set_governance(governance)).await??;
    }
    Ok(())
}

impl Arguments {
    /// Creates the console for a store, with its host and its sessions.
    fn console(
        &self,
        store: &Store,
        service: &Arc<GatewayService>,
        governance: ConfiguredGovernance,
        listener: &HttpListener,
        configuration: &Configuration,
    ) -> anyhow::Result<(Arc<Console>, Arc<GatewayConsoleHost>, BrowserSessions)> {
        let location = &self.gateway.location;
        let host =
            Arc::new(GatewayConsoleHost::new(store.clone(), Arc::clone(service), location.path()?));
        host.set_governance(governance)?;
        let folder = location.folder()?;
        let scopes = [Scope::Read, Scope::Decide];
        let sessions = BrowserSessions::stored_in(&folder.join(SESSIONS_FILE), CONSOLE, scopes)?;
        let readers = configuration.config.console.events.readers;
        let folders = configuration.config.console.files.iter();
        let folders = folders.map(|folder| configuration.path(folder));
        let settings = ConsoleSettings::new(listener.address().port())
            .with_folders(folders)
            .with_demo(self.demo)
            .with_readers(usize::try_from(readers).unwrap_or(usize::MAX))
            .with_launcher(LAUNCHER);
        let console = Console::new(store.clone(), sessions.clone(), host.clone(), settings)?;
        Ok((console, host, sessions))
    }

    /// Builds the token table. A user who can read the launcher's token file may create links to the console.
    fn tokens(
        &self,
        file: &Path,
        configuration: &Configuration,
        settings: &ServiceSettings,
    ) -> anyhow::Result<(Tokens, BearerToken)> {
        let (mut tokens, token) = Tokens::from_file_or_new(file, OWN, OWN_SCOPES)?;
        if !self.gateway.no_record {
            let launcher = self.gateway.location.folder()?.join(LAUNCHER_FILE);
            user_folders::create_parent(&launcher)?;
            let (_, launch) = Tokens::from_file_or_new(&launcher, LAUNCHER, Scope::Admin)?;
            tokens = tokens.with(LAUNCHER, &launch, Scope::Admin)?;
        }
        Ok((with_configured_tokens(tokens, configuration, settings)?, token))
    }
}

/// Returns the console's URL. For a public address it is unknown, because the console is behind a proxy.
fn console_of(address: SocketAddr) -> Option<String> {
    address.ip().is_loopback().then(|| format!("http://{address}"))
}

/// Reads the manifest and lock for verifying governed responses.
pub(super) fn governance(configuration: &Configuration) -> anyhow::Result<ConfiguredGovernance> {
    let governance = &configuration.config.governance;
    let (Some(manifest), Some(lock)) = (&governance.manifest, &governance.lock) else {
        return Ok(ConfiguredGovernance::default());
    };
    let files = (configuration.path(manifest), configuration.path(lock));
    let in_force = AuthorityOptions::default().read(configuration, Limits::default())?;
    Ok(ConfiguredGovernance { files: Some(files), in_force: in_force.map(Arc::new) })
}

/// Prints a launch link for the person who started the server. It is printed to a terminal only, because its bearer can
/// decide.
fn print_launch_link(
    listener: &HttpListener,
    sessions: &BrowserSessions,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    // A demo has no real data to protect.
    if arguments.demo || std::io::stderr().is_terminal() {
        let token = sessions.launch()?;
        say(&format!("console  http://{}/#t={}", listener.address(), token.text()));
        let another = command(arguments, "link");
        say(&format!("         (valid once, for five minutes; another: {another})"));
    } else {
        say(&format!("console  {}", command(arguments, "link")));
    }
    Ok(())
}

/// Waits for requests to reload the configuration, which are sent as SIGHUP.
struct ReloadRequest {
    #[cfg(unix)]
    hang_up: Option<tokio::signal::unix::Signal>,
}

impl ReloadRequest {
    fn new() -> Self {
        Self {
            #[cfg(unix)]
            hang_up: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok(),
        }
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(hang_up) = &mut self.hang_up
            && hang_up.recv().await.is_some()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}

/// Reads the tokens and servers of the configuration.
fn settings(configuration: &Configuration) -> anyhow::Result<ServiceSettings> {
    let (settings, warnings) = configuration.service()?;
    for warning in warnings {
        say(&format!("warning: {warning}"));
    }
    Ok(settings)
}

/// Warns about servers whose program is missing, before a client runs into it. The other servers still start.
fn warn_about_missing(backends: &[Backend]) {
    for backend in backends {
        if let Some(program) = backend.missing_program() {
            let (name, program) = (backend.name(), program.to_string_lossy());
            say(&format!(
                "warning: the server {name} cannot be started: there is no executable program {program:?}; install \
                 it, or set its path as gateway.upstreams.{name}.command"
            ));
        }
    }
}

/// Returns the configured servers, or our own tools if there are none.
pub(super) fn backends(
    configuration: &Configuration,
    settings: &ServiceSettings,
    pins: impl Fn(&str) -> anyhow::Result<Option<PathBuf>>,
) -> anyhow::Result<Vec<Backend>> {
    let mut backends = Vec::new();
    for server in &settings.servers {
        backends.push((server.name.as_str(), place(configuration, server)?));
    }
    if backends.is_empty() {
        let program = std::env::current_exe().context("our own program cannot be found")?;
        let program = Program::new(program, ["tools".into()]);
        backends.push(("tools", BackendTransport::Program(program)));
    }
    let secrets = configuration.secret_variables(settings);
    let with_pins = |(name, place): (&str, BackendTransport)| {
        let place = match place {
            BackendTransport::Program(program) => {
                let program = program.without_variables(secrets.clone());
                BackendTransport::Program(program.with_reaper(shared_reaper()))
            }
            place => place,
        };
        let backend = Backend::new(name, place);
        Ok(match pins(name)? {
            Some(file) => backend.with_pins(file),
            None => backend,
        })
    };
    backends.into_iter().map(with_pins).collect()
}

/// Checks the server settings without secrets, programs and connections, which may become available later.
pub(super) fn check_servers(settings: &ServiceSettings) -> anyhow::Result<()> {
    for server in &settings.servers {
        if let TransportSettings::Url { url, headers } = &server.transport {
            let _ = remote(url, headers, |_| Ok(String::new())).with_context(|| name_of(server))?;
        }
    }
    Ok(())
}

/// Returns the path of the server's settings in the configuration.
fn name_of(server: &ServerSettings) -> String {
    format!("gateway.upstreams.{}", server.name)
}

/// Creates a remote server with headers whose secrets `value` resolves.
fn remote(
    url: &str,
    headers: &BTreeMap<String, SecretSource>,
    value: impl Fn(&SecretSource) -> anyhow::Result<String>,
) -> anyhow::Result<Remote> {
    let mut remote = Remote::new(url)?;
    for (name, secret) in headers {
        remote = remote.with_header(name, &value(secret)?)?;
    }
    Ok(remote)
}

fn place(
    configuration: &Configuration,
    server: &ServerSettings,
) -> anyhow::Result<BackendTransport> {
    match &server.transport {
        TransportSettings::Command { command, args, env, folder } => {
            let mut variables = Vec::new();
            for (name, value) in env {
                let value = match value {
                    EnvironmentValue::Text(text) => text.clone(),
                    EnvironmentValue::Secret(it) => secret(configuration, it)
                        .with_context(|| format!("{}.env.{name}", name_of(server)))?,
                    _ => anyhow::bail!("a variable is text or a secret"),
                };
                variables.push((name.into(), value.into()));
            }
            let folder = folder.as_deref().map(|folder| configuration.path(folder));
            let program = Program::new(command, args.iter().map(Into::into));
            Ok(BackendTransport::Program(program.with_variables(variables).with_folder(folder)))
        }
        TransportSettings::Url { url, headers } => {
            let value = |it: &SecretSource| secret(configuration, it);
            remote(url, headers, value)
                .map(BackendTransport::Remote)
                .with_context(|| name_of(server))
        }
        _ => anyhow::bail!("{} is of a kind that is not known", name_of(server)),
    }
}

/// Resolves a secret of the configuration.
fn secret(configuration: &Configuration, secret: &SecretSource) -> anyhow::Result<String> {
    let text = match secret {
        SecretSource::Variable(name) => {
            std::env::var(name).with_context(|| format!("the variable {name} is not set"))?
        }
        SecretSource::File(path) => {
            let path = configuration.path(path);
            fs::read_to_string(&path)
                .with_context(|| format!("cannot read the secret in {}", path.display()))?
        }
        _ => anyhow::bail!("a secret is in a variable or in a file"),
    };
    Ok(text.trim().to_owned())
}

fn health(service: &Arc<GatewayService>) -> HealthChecks {
    let (record, upstreams) = (Arc::clone(service), Arc::clone(service));
    HealthChecks::new()
        .with_part("record", move || record.is_recording())
        .with_part("upstreams", move || upstreams.is_up())
}

/// Prints how to connect. The token is printed to a terminal only, because a log file would keep it.
fn print_endpoint(
    listener: &HttpListener,
    service: &GatewayService,
    arguments: &Arguments,
    token: &BearerToken,
    token_file: &Path,
) {
    let endpoint = format!("http://{}/mcp", listener.address());
    say(&format!("endpoint {endpoint}"));
    say(&format!("servers  {} (each also at /mcp/NAME)", service.servers().join(", ")));
    say(&format!("token    {}", token_file.display()));
    if std::io::stderr().is_terminal() {
        let client = json!({"mcpServers": {"answerback": {
            "type": "http",
            "url": endpoint,
            "headers": {"Authorization": format!("Bearer {}", token.text())},
        }}});
        say("");
        say("For the client's configuration:");
        say(&client.to_string());
        say("");
    }
    if !arguments.gateway.no_record {
        say(&format!("Waiting for you: {}", command(arguments, "inbox list")));
    }
}

/// Returns a command for this server's ledger.
fn command(arguments: &Arguments, words: &str) -> String {
    match arguments.gateway.location.option_anywhere() {
        Some(option) => format!("answerback {words}{option}"),
        // A database's URL may contain a password.
        None => format!("answerback {words}, with the same --store or --config"),
    }
}
