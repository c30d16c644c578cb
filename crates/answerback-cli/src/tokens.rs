//! The tokens of a server: our own, and those that the configuration names.

use answerback_gateway::{Secret, ServiceSettings, TokenSettings};
use answerback_http::{Scope, Scopes, Token, Tokens};
use anyhow::Context;

use crate::command::ledger::location::Location;
use crate::configuration::Configuration;
use crate::folders;

/// On whose behalf the bearer of our own token calls.
pub(crate) const OWN: &str = "local";
/// What the bearer of our own token may do; deciding has to be granted by name.
pub(crate) const OWN_SCOPES: [Scope; 3] = [Scope::Call, Scope::Ingest, Scope::Read];
/// Our own token, beside the store.
pub(crate) const OWN_FILE: &str = "serve.token";
/// Who makes links into the console.
pub(crate) const LAUNCHER: &str = "launcher";
/// The token that makes links, beside the store.
pub(crate) const LAUNCHER_FILE: &str = "console.token";

/// Adds the tokens that the configuration names. One that stands in a file is made on first use, and for this user
/// alone.
pub(crate) fn with_named(
    mut tokens: Tokens,
    configuration: &Configuration,
    settings: &ServiceSettings,
) -> anyhow::Result<Tokens> {
    for named in &settings.tokens {
        let context = || format!("gateway.tokens.{}", named.name);
        let scopes = scopes(named)?;
        tokens = match &named.secret {
            Secret::File(path) => {
                let path = configuration.path(path);
                folders::make_for(&path)?;
                let (_, token) =
                    Tokens::from_file_or_new(&path, &named.name, scopes).with_context(context)?;
                tokens.with(&named.name, &token, scopes).with_context(context)?
            }
            Secret::Variable(variable) => {
                tokens.with_variable(&named.name, variable, scopes).with_context(context)?
            }
            _ => anyhow::bail!("{}: a token is in a variable or in a file", context()),
        };
    }
    Ok(tokens)
}

/// The settings with those tokens only that are there: who only looks makes none.
pub(crate) fn that_are_there(
    configuration: &Configuration,
    settings: &ServiceSettings,
    has_variable: impl Fn(&str) -> bool,
) -> ServiceSettings {
    let mut there = settings.clone();
    there.tokens.retain(|token| match &token.secret {
        Secret::File(path) => configuration.path(path).exists(),
        Secret::Variable(variable) => has_variable(variable),
        _ => true,
    });
    there
}

/// Everybody whom a server at this store knows by a token, without asking one that runs.
pub(crate) fn known(location: &Location) -> anyhow::Result<Tokens> {
    let configuration = location.configuration()?;
    let (settings, _) = configuration.service()?;
    let folder = location.folder()?;
    let mut tokens = Tokens::new();
    let own =
        [(OWN, OWN_FILE, Scopes::from(OWN_SCOPES)), (LAUNCHER, LAUNCHER_FILE, Scope::Admin.into())];
    for (name, file, scopes) in own {
        let file = folder.join(file);
        if file.exists() {
            tokens = tokens.with(name, &Token::from_file(&file)?, scopes)?;
        }
    }
    // A variable may be set for the server alone.
    let is_set = |variable: &str| std::env::var_os(variable).is_some();
    with_named(tokens, configuration, &that_are_there(configuration, &settings, is_set))
}

/// Whether every token may do what there is, whether it is there or not.
pub(crate) fn check_scopes(settings: &ServiceSettings) -> anyhow::Result<()> {
    settings.tokens.iter().try_for_each(|named| scopes(named).map(drop))
}

fn scopes(named: &TokenSettings) -> anyhow::Result<Scopes> {
    let read: Result<Scopes, _> = named.scopes.iter().map(|word| word.parse::<Scope>()).collect();
    read.with_context(|| format!("gateway.tokens.{}.scopes", named.name))
}
