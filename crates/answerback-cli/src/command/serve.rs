//! `answerback serve`: one endpoint in front of several MCP servers.

use std::fs;
use std::io::IsTerminal;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use answerback_gateway::serve::{Backend, Place, Service};
use answerback_gateway::{Listed, Secret, ServerSettings, ServiceSettings};
use answerback_http::{
    Guard, Health, ListenSettings, Listener, Metrics, Scope, Scopes, Token, TokenTable, Tokens,
};
use answerback_mcp::link::{Program, Remote};
use anyhow::Context;
use serde_json::json;

use super::ledger::location::Location;
use super::wrap::{log, pins, stop};
use crate::configuration::Configuration;
use crate::exit::Exit;
use crate::folders;
use crate::output::say;

/// Where clients are listened for when nobody says otherwise.
pub(super) const PORT: u16 = 7311;
/// On whose behalf the bearer of our own token calls.
const PRINCIPAL: &str = "local";

/// Serve several MCP servers behind one endpoint, each call checked, answered and recorded
///
/// Clients speak Streamable HTTP to /mcp, which has the tools of all servers, or to /mcp/NAME, which has those of one.
/// Without a configuration the server behind is `answerback tools`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback serve
  answerback serve --config .agent/config.yml --listen 127.0.0.1:0
  answerback serve --no-record --token-file ./token

The servers stand in the configuration:
  gateway:
    upstreams:
      files: {command: npx, args: [-y, \"@modelcontextprotocol/server-filesystem\", /data]}
      search: {url: \"https://example.org/mcp\", headers: {Authorization: {env: SEARCH_AUTHORIZATION}}}

Every request needs a token: the one in --token-file, made on first use, or one that gateway.tokens names. What waits
for a person is in `answerback inbox` and at /api/cases. /healthz and /readyz need no token, /metrics needs the scope read.
$ANSWERBACK_LOG (error, warn, info, debug) says how much is told on standard error.")]
pub(crate) struct Arguments {
    /// Where to listen; otherwise gateway.listen of the configuration, else 127.0.0.1:7311. Port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,

    /// Allow an address that other machines can reach; put a proxy with TLS in front
    #[arg(long)]
    allow_remote: bool,

    /// The file of our own token, made on first use; otherwise serve.token beside the store
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Check and count, but record nothing
    #[arg(long, conflicts_with_all = ["store", "key", "anchor"])]
    no_record: bool,

    /// Take an unknown field for an error even where its schema allows it
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    location: Location,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    log()?;
    let location = &arguments.location;
    let configuration = location.configuration()?;
    let parsed = json!({ "gateway": configuration.config.gateway });
    let (settings, warnings) = ServiceSettings::from_value("the configuration", &parsed)?;
    for warning in warnings {
        say(&format!("warning: {warning}"));
    }
    let backends = backends(location, arguments.no_record, &settings.servers)?;
    let token_file = match &arguments.token_file {
        Some(file) => file.clone(),
        None => location.folder()?.join("serve.token"),
    };
    folders::make_for(&token_file)?;
    let (tokens, token) = tokens(&token_file, configuration, &settings)?;
    let metrics = Metrics::install()?;
    let gateway =
        crate::gateway::gateway(configuration, location, arguments.strict, arguments.no_record)?;
    let listen = arguments.listen.or(settings.listen);
    let listen = listen.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, PORT).into());
    let listen = ListenSettings::from(listen).with_remote_allowed(arguments.allow_remote);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the gateway")?;
    runtime.block_on(async {
        // The port first: a second copy that cannot have it leaves nothing behind.
        let listener = Listener::bind(listen).await?;
        let service = Service::new(Arc::new(gateway), backends);
        service.start().await.context("nothing can be recorded, so nothing is served")?;
        let routes = service.routes().merge(health(&service).routes()).merge(metrics.routes());
        greet(&listener, &service, arguments, &token, &token_file);
        let guard = Guard::new(TokenTable::new(tokens));
        answerback_http::serve(listener, routes, guard, stop()).await;
        service.stop().await.context("the end could not be recorded")
    })?;
    Ok(Exit::Good)
}

/// The servers of the configuration; our own tools, where there are none.
pub(super) fn backends(
    location: &Location,
    is_unpinned: bool,
    servers: &[ServerSettings],
) -> anyhow::Result<Vec<Backend>> {
    let mut backends = Vec::new();
    for server in servers {
        backends.push((server.name.as_str(), place(location.configuration()?, server)?));
    }
    if backends.is_empty() {
        let program = std::env::current_exe().context("our own program cannot be found")?;
        let program = Program::new(program, ["tools".into()]);
        backends.push(("tools", Place::Program(program)));
    }
    let with_pins = |(name, place): (&str, Place)| {
        let backend = Backend::new(name, place);
        if is_unpinned {
            return Ok(backend);
        }
        Ok(backend.with_pins(pins(location, name)?))
    };
    backends.into_iter().map(with_pins).collect()
}

fn place(configuration: &Configuration, server: &ServerSettings) -> anyhow::Result<Place> {
    match &server.listed {
        Listed::Command { command, args, env, folder } => {
            let variables = env.iter().map(|(name, value)| (name.into(), value.into()));
            let folder = folder.as_deref().map(|folder| configuration.path(folder));
            let program = Program::new(command, args.iter().map(Into::into));
            Ok(Place::Program(program.with_variables(variables).with_folder(folder)))
        }
        Listed::Url { url, headers } => {
            let context = || format!("gateway.upstreams.{}", server.name);
            let mut remote = Remote::new(url).with_context(context)?;
            for (name, value) in headers {
                let value = secret(configuration, value).with_context(context)?;
                remote = remote.with_header(name, &value).with_context(context)?;
            }
            Ok(Place::Remote(remote))
        }
        _ => anyhow::bail!("gateway.upstreams.{} is of a kind that is not known", server.name),
    }
}

/// What a secret of the configuration is.
fn secret(configuration: &Configuration, secret: &Secret) -> anyhow::Result<String> {
    let text = match secret {
        Secret::Variable(name) => {
            std::env::var(name).with_context(|| format!("the variable {name} is not set"))?
        }
        Secret::File(path) => {
            let path = configuration.path(path);
            fs::read_to_string(&path)
                .with_context(|| format!("cannot read the secret in {}", path.display()))?
        }
        _ => anyhow::bail!("a secret is in a variable or in a file"),
    };
    Ok(text.trim().to_owned())
}

/// Who may do what: our own token may call and look, and deciding has to be granted by name.
fn tokens(
    file: &Path,
    configuration: &Configuration,
    settings: &ServiceSettings,
) -> anyhow::Result<(Tokens, Token)> {
    let own = [Scope::Call, Scope::Read];
    let (mut tokens, token) = Tokens::from_file_or_new(file, PRINCIPAL, own)?;
    for named in &settings.tokens {
        let scopes = named.scopes.iter().map(|word| word.parse::<Scope>());
        let scopes: Scopes = scopes
            .collect::<Result<Vec<_>, _>>()
            .with_context(|| format!("gateway.tokens.{}.scopes", named.name))?
            .into_iter()
            .collect();
        let text = secret(configuration, &named.secret)
            .with_context(|| format!("gateway.tokens.{}", named.name))?;
        let token =
            Token::parse(&text).with_context(|| format!("gateway.tokens.{}", named.name))?;
        tokens = tokens.with(&named.name, &token, scopes)?;
    }
    Ok((tokens, token))
}

fn health(service: &Arc<Service>) -> Health {
    let store = Arc::clone(service);
    let health = Health::new().with_part("record", move || store.is_recording());
    service.backends().iter().enumerate().fold(health, |health, (index, backend)| {
        let service = Arc::clone(service);
        health.with_part(&format!("upstream {}", backend.name()), move || {
            let backend = &service.backends()[index];
            // A server that nobody asked for anything yet is not started.
            if backend.health().starts() == 0 || backend.health().is_up() {
                Ok(())
            } else {
                Err("it ended, and is started again".to_owned())
            }
        })
    })
}

/// What a newcomer needs. The token is shown to a person only, and not to a file that keeps what is said.
fn greet(
    listener: &Listener,
    service: &Service,
    arguments: &Arguments,
    token: &Token,
    token_file: &Path,
) {
    let endpoint = format!("http://{}/mcp", listener.address());
    let names: Vec<&str> = service.backends().iter().map(Backend::name).collect();
    say(&format!("endpoint {endpoint}"));
    say(&format!("servers  {} (each also at /mcp/NAME)", names.join(", ")));
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
    if !arguments.no_record {
        say("What waits for a person: answerback inbox list");
    }
}
