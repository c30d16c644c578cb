use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;

use crate::private_file::{self, PrivateFileError};
use crate::token::{NoRandomness, NotAToken, TokenDigest};
use crate::{Scope, Scopes, Token};

/// The caller of a request, identified by a token or a cookie.
#[derive(Clone)]
pub struct Principal {
    name: Arc<str>,
    scopes: Scopes,
    digest: TokenDigest,
    is_person: bool,
}

impl Principal {
    pub(crate) fn new(name: &str, scopes: Scopes, digest: TokenDigest) -> Self {
        Self { name: name.into(), scopes, digest, is_person: false }
    }

    /// Marks the principal as a person in a browser.
    pub(crate) fn of_person(mut self) -> Self {
        self.is_person = true;
        self
    }

    /// True if the principal is a person in a browser with a cookie. False for the bearer of a token.
    pub fn is_person(&self) -> bool {
        self.is_person
    }

    pub(crate) fn digest(&self) -> &TokenDigest {
        &self.digest
    }

    /// True if both have the same token or cookie.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.digest.is(&other.digest).into()
    }

    /// Returns an id that differs for every token and cookie, even for the same person in two browsers. The token
    /// cannot be derived from it.
    pub fn id(&self) -> String {
        self.digest.name()
    }

    /// Returns the principal's name in the configuration, in logs and in records.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if the principal has this scope.
    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.allow(scope)
    }

    /// Returns the granted scopes.
    pub fn scopes(&self) -> Scopes {
        self.scopes
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Principal({:?}, {})", self.name, self.scopes)
    }
}

/// Named principals, each identified by the SHA-256 of its token.
///
/// ```
/// use answerback_http::{Scope, Token, Tokens};
///
/// let token = Token::fresh()?;
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
    ) -> Result<(Self, Token), TokensError> {
        if private_file::read(path)?.is_none() {
            let token = Token::fresh()?;
            private_file::create(path, &format!("{}\n", token.text()))?;
        }
        let token = Token::from_file(path)?;
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
        token: &Token,
        scopes: impl Into<Scopes>,
    ) -> Result<Self, TokensError> {
        let digest = token.digest();
        if self.principals.iter().any(|principal| *principal.name == *name) {
            return Err(TokensError::NameTwice(name.to_owned()));
        }
        // If two names shared a token, a record could contain only one of them, and sometimes the wrong one.
        if let Some(other) = self.find(&digest) {
            return Err(TokensError::TokenTwice(other.name().to_owned(), name.to_owned()));
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
    ) -> Result<Self, TokensError> {
        self.with(name, &Token::from_file(path)?, scopes)
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
    ) -> Result<Self, TokensError> {
        self.with(name, &Token::from_variable(variable)?, scopes)
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
    fn stands(&self, principal: &Principal) -> bool {
        self.find(&principal.digest).is_some_and(|found| found.scopes == principal.scopes)
    }

    /// Finds a principal by its digest. It compares every entry, so that the time does not reveal which one matched.
    fn find(&self, digest: &TokenDigest) -> Option<&Principal> {
        self.principals.iter().fold(None, |found, principal| {
            if bool::from(principal.digest.is(digest)) { Some(principal) } else { found }
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
        let _ = tokens.wait_for(|tokens| !tokens.stands(principal)).await;
    }
}

/// The reason why a table of tokens cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokensError {
    /// The file cannot be used, or others can read or write it.
    #[error(transparent)]
    File(#[from] PrivateFileError),
    /// The file does not exist.
    #[error("there is no file {}", .0.display())]
    NoFile(PathBuf),
    /// The file contains no token.
    #[error("{} holds no token", .path.display())]
    Content {
        /// The path of the file.
        path: PathBuf,
        /// The parse error, which describes the form of a token.
        source: NotAToken,
    },
    /// The environment variable is not set.
    #[error("the environment variable {0} is not set")]
    NoVariable(String),
    /// The environment variable contains no token.
    #[error("the environment variable {variable} holds no token")]
    Variable {
        /// The name of the variable.
        variable: String,
        /// The parse error, which describes the form of a token.
        source: NotAToken,
    },
    /// Two tokens have the same name.
    #[error("two tokens have the name {0}; give each its own")]
    NameTwice(String),
    /// Two names have the same token.
    #[error("{0} and {1} have the same token; make one of their own for each")]
    TokenTwice(String, String),
    /// The operating system provides no random bytes.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}
