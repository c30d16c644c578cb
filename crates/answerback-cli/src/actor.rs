//! Identifies who decides on the command line: a person at a terminal, or the bearer of a token with the scope
//! `decide`.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use answerback_gateway::DecisionSource;
use answerback_http::{BearerToken, Scope};
use anyhow::bail;

use crate::ledger_location::LedgerLocation;
use crate::shell::file_option;
use crate::tokens;
use crate::user_folders;

/// The environment variable that holds a token. Upstream servers do not inherit it.
const VARIABLE: &str = "ANSWERBACK_TOKEN";

/// The option that authorizes a decision without a terminal.
#[derive(Debug, clap::Args)]
pub(crate) struct ActorOptions {
    /// File with a token that may decide, for decisions without a terminal [default: the token in `$ANSWERBACK_TOKEN`]
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// A caller who may decide.
pub(crate) struct Actor {
    pub(crate) by: String,
    pub(crate) surface: DecisionSource,
}

impl ActorOptions {
    /// Returns the option with which another command decides as the same caller.
    pub(crate) fn options(&self) -> String {
        self.token_file.as_deref().map(|file| file_option("token-file", file)).unwrap_or_default()
    }

    /// Returns the caller who decides, or the reason why the token's principal may not decide.
    ///
    /// A token file takes precedence over the terminal. A token that is only in the environment does not, so that it
    /// cannot override a person.
    pub(crate) fn actor(&self, location: &LedgerLocation) -> anyhow::Result<Result<Actor, String>> {
        let token = match &self.token_file {
            Some(file) => BearerToken::from_file(file)?,
            None if std::io::stdin().is_terminal() => return Ok(Ok(Actor::at_terminal())),
            None if user_folders::path_from_variable(VARIABLE).is_some() => {
                BearerToken::from_variable(VARIABLE)?
            }
            None => bail!(
                "only a person may decide: run this in a terminal, or give a token with the scope decide in \
                 ${VARIABLE} or with --token-file FILE"
            ),
        };
        Actor::from_token(&token, location)
    }
}

impl Actor {
    fn at_terminal() -> Self {
        let user = os_user();
        Self { surface: DecisionSource::from("terminal").with_os_user(&user), by: user }
    }

    fn from_token(
        token: &BearerToken,
        location: &LedgerLocation,
    ) -> anyhow::Result<Result<Self, String>> {
        let tokens = tokens::accepted_tokens(location)?;
        let Some(principal) = tokens.authenticate(token.text()) else {
            return Ok(Err(
                "the token is unknown: it is not in gateway.tokens of the configuration, or was removed; add it there, or use another"
                    .to_owned(),
            ));
        };
        let (name, scopes) = (principal.name(), principal.scopes());
        if !principal.has(Scope::Decide) {
            return Ok(Err(format!(
                "the token of {name} may not decide, because it has only the scopes {scopes}; grant the scope decide in \
                 gateway.tokens of the configuration"
            )));
        }
        Ok(Ok(Self {
            by: name.to_owned(),
            surface: DecisionSource::from("token").with_os_user(os_user()),
        }))
    }
}

/// Returns the user of this process. The system provides it, because the user could set an environment variable to any
/// name.
fn os_user() -> String {
    #[cfg(unix)]
    let id = format!("uid {}", rustix::process::geteuid().as_raw());
    #[cfg(not(unix))]
    let id = "no uid".to_owned();
    match whoami::username() {
        Ok(name) => format!("{name} ({id})"),
        Err(_) => id,
    }
}
