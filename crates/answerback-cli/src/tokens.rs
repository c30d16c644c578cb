//! The tokens of a server: its own, and those of the configuration.

use answerback_gateway::{SecretSource, ServiceSettings, TokenSettings};
use answerback_http::{BearerToken, Scope, Scopes, Tokens};
use anyhow::Context;

use crate::configuration::Configuration;
use crate::ledger_location::LedgerLocation;
use crate::user_folders;

/// The principal of the server's own token.
pub(crate) const OWN: &str = "local";
/// The scopes of the server's own token. The scope `decide` must be granted explicitly.
pub(crate) const OWN_SCOPES: [Scope; 3] = [Scope::Call, Scope::Ingest, Scope::Read];
/// The file with the server's own token, next to the store.
pub(crate) const OWN_FILE: &str = "serve.token";
/// The principal that creates launch links.
pub(crate) const LAUNCHER: &str = "launcher";
/// The file with the launcher's token, next to the store.
pub(crate) const LAUNCHER_FILE: &str = "console.token";

/// Adds the tokens of the configuration. A token file that does not exist is created, readable only by this user.
pub(crate) fn with_configured_tokens(
    mut tokens: Tokens,
    configuration: &Configuration,
    settings: &ServiceSettings,
) -> anyhow::Result<Tokens> {
    for token_settings in &settings.tokens {
        let context = || format!("gateway.tokens.{}", token_settings.name);
        let scopes = scopes(token_settings)?;
        tokens = match &token_settings.secret {
            SecretSource::File(path) => {
                let path = configuration.path(path);
                user_folders::create_parent(&path)?;
                let (_, token) = Tokens::from_file_or_new(&path, &token_settings.name, scopes)
                    .with_context(context)?;
                tokens.with(&token_settings.name, &token, scopes).with_context(context)?
            }
            SecretSource::Variable(variable) => tokens
                .with_variable(&token_settings.name, variable, scopes)
                .with_context(context)?,
            _ => anyhow::bail!("{}: a token is in a variable or in a file", context()),
        };
    }
    Ok(tokens)
}

/// Returns the settings with only the existing tokens, for commands that must not create any.
pub(crate) fn with_existing_tokens_only(
    configuration: &Configuration,
    settings: &ServiceSettings,
    has_variable: impl Fn(&str) -> bool,
) -> ServiceSettings {
    let mut there = settings.clone();
    there.tokens.retain(|token| match &token.secret {
        SecretSource::File(path) => configuration.path(path).exists(),
        SecretSource::Variable(variable) => has_variable(variable),
        _ => true,
    });
    there
}

/// Returns all principals that a server of this store accepts, without contacting a running server.
pub(crate) fn accepted_tokens(location: &LedgerLocation) -> anyhow::Result<Tokens> {
    let configuration = location.configuration()?;
    let (settings, _) = configuration.service()?;
    let folder = location.folder()?;
    let mut tokens = Tokens::new();
    let own =
        [(OWN, OWN_FILE, Scopes::from(OWN_SCOPES)), (LAUNCHER, LAUNCHER_FILE, Scope::Admin.into())];
    for (name, file, scopes) in own {
        let file = folder.join(file);
        if file.exists() {
            tokens = tokens.with(name, &BearerToken::from_file(&file)?, scopes)?;
        }
    }
    // A variable may be set only in the server's environment.
    let is_set = |variable: &str| std::env::var_os(variable).is_some();
    with_configured_tokens(
        tokens,
        configuration,
        &with_existing_tokens_only(configuration, &settings, is_set),
    )
}

/// Checks that the scopes of every token are valid, even if the token does not exist yet.
pub(crate) fn check_scopes(settings: &ServiceSettings) -> anyhow::Result<()> {
    settings.tokens.iter().try_for_each(|token_settings| scopes(token_settings).map(drop))
}

fn scopes(token_settings: &TokenSettings) -> anyhow::Result<Scopes> {
    let read: Result<Scopes, _> =
        token_settings.scopes.iter().map(|word| word.parse::<Scope>()).collect();
    read.with_context(|| format!("gateway.tokens.{}.scopes", token_settings.name))
}
