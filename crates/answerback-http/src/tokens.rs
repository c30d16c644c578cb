use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;

use crate::bearer_token::TokenDigest;
use crate::{BearerToken, Principal, Scopes, TokenSourceError, private_file};

/// Named principals, each identified by the SHA-256 of its token.
///
/// ```
/// use answerback_http::{Scope, BearerToken, Tokens};
///
/// let token = BearerToken::generate()?;
/// let tokens = Tokens::new().with("editor", &token, Scope::Call)?;
/// assert_eq!(tokens.authenticate(token.text()).unwrap().name(), "editor");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    principals: Vec<Principal>,
}

impl Tokens {
    /// Creates an empty table, which rejects every caller.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the token from `path`, or creates the file on first use. Returns a table with that token alone, and the
    /// token itself, so that a program can show it to its user. The folder must exist.
    ///
    /// # Errors
    ///
    /// If the file cannot be used, if others can read or write it, or if it contains no token.
    pub fn from_file_or_new(
        path: &Path,
        name: &str,
        scopes: impl Into<Scopes>,
    ) -> Result<(Self, BearerToken), TokenSourceError> {
        if private_file::read(path)?.is_none() {
            let token = BearerToken::generate()?;
            private_file::create(path, &format!("{}\n", token.text()))?;
        }
        let token = BearerToken::from_file(path)?;
        let tokens = Self::new().with(name, &token, scopes)?;
        Ok((tokens, token))
    }

    /// Adds a principal with this token.
    ///
    /// # Errors
    ///
    /// If the table already has the name or the token.
    pub fn with(
        mut self,
        name: &str,
        token: &BearerToken,
        scopes: impl Into<Scopes>,
    ) -> Result<Self, TokenSourceError> {
        let digest = token.digest();
        if self.principals.iter().any(|principal| principal.name() == name) {
            return Err(TokenSourceError::DuplicateName(name.to_owned()));
        }
        // If two names shared a token, a record could contain only one of them, and sometimes the wrong one.
        if let Some(other) = self.find(&digest) {
            return Err(TokenSourceError::DuplicateToken(other.name().to_owned(), name.to_owned()));
        }
        self.principals.push(Principal::new(name, scopes.into(), digest));
        Ok(self)
    }

    /// Adds a principal whose token is in a file that contains nothing else.
    ///
    /// # Errors
    ///
    /// If the file cannot be used, if others can read or write it, or if it contains no token. Also the errors of
    /// [`Tokens::with`].
    pub fn with_file(
        self,
        name: &str,
        path: &Path,
        scopes: impl Into<Scopes>,
    ) -> Result<Self, TokenSourceError> {
        self.with(name, &BearerToken::from_file(path)?, scopes)
    }

    /// Adds a principal whose token is in an environment variable.
    ///
    /// # Errors
    ///
    /// If the variable is not set or contains no token. Also the errors of [`Tokens::with`].
    pub fn with_variable(
        self,
        name: &str,
        variable: &str,
        scopes: impl Into<Scopes>,
    ) -> Result<Self, TokenSourceError> {
        self.with(name, &BearerToken::from_variable(variable)?, scopes)
    }

    /// Returns the principal with this token.
    pub fn authenticate(&self, bearer: &str) -> Option<&Principal> {
        self.find(&TokenDigest::of(bearer))
    }

    /// Returns the principals in the order in which they were added.
    pub fn principals(&self) -> impl Iterator<Item = &Principal> {
        self.principals.iter()
    }

    /// True if the principal's token is still in the table with the same scopes.
    fn is_valid(&self, principal: &Principal) -> bool {
        self.find(principal.digest()).is_some_and(|found| found.scopes() == principal.scopes())
    }

    /// Finds a principal by its digest. It compares every entry, so that the time does not reveal which one matched.
    fn find(&self, digest: &TokenDigest) -> Option<&Principal> {
        self.principals.iter().fold(None, |found, principal| {
            if bool::from(principal.digest().is(digest)) { Some(principal) } else { found }
        })
    }
}

/// The tokens that are valid now. Clones share them, and a reload replaces them for all.
#[derive(Clone, Debug)]
pub struct TokenTable(Arc<watch::Sender<Tokens>>);

impl TokenTable {
    /// Creates a table with these tokens.
    pub fn new(tokens: Tokens) -> Self {
        Self(Arc::new(watch::Sender::new(tokens)))
    }

    /// Replaces all tokens, from the next request on.
    pub fn replace(&self, tokens: Tokens) {
        self.0.send_replace(tokens);
    }

    /// Returns the principal that has this token now.
    pub fn authenticate(&self, bearer: &str) -> Option<Principal> {
        self.0.borrow().authenticate(bearer).cloned()
    }

    /// Resolves when the principal's token was removed or its scopes changed. A stream that the principal opened must
    /// then end, too.
    pub async fn revoked(&self, principal: &Principal) {
        let mut tokens = self.0.subscribe();
        // Waiting cannot fail, because the sender lives as long as `self` is borrowed.
        let _ = tokens.wait_for(|tokens| !tokens.is_valid(principal)).await;
    }
}
