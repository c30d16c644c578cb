use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;

use crate::private_file::{self, PrivateFileError};
use crate::token::{NoRandomness, NotAToken, TokenDigest};
use crate::{Scope, Scopes, Token};

/// Who is asking, known by a token.
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

    /// The principal as a person at a browser.
    pub(crate) fn of_person(mut self) -> Self {
        self.is_person = true;
        self
    }

    /// Whether it is a person at a browser, known by a cookie, and not the bearer of a token.
    pub fn is_person(&self) -> bool {
        self.is_person
    }

    pub(crate) fn digest(&self) -> &TokenDigest {
        &self.digest
    }

    /// Whether both are known by the same token or cookie.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.digest.is(&other.digest).into()
    }

    /// Tells it from all others, people at several browsers too. The token cannot be found by it.
    pub fn id(&self) -> String {
        self.digest.name()
    }

    /// The name it has in the configuration, in logs and in records.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it may do what `scope` stands for.
    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.allow(scope)
    }

    /// The scopes that were granted to it.
    pub fn scopes(&self) -> Scopes {
        self.scopes
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Principal({:?}, {})", self.name, self.scopes)
    }
}

/// Named principals, each known by the SHA-256 of its token.
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
    /// A table without principals: nobody gets in.
    pub fn new() -> Self {
        Self::default()
    }

    /// The token that `path` holds, made on first use, and a table with it alone. The token is given back so that a
    /// program can show it to the person who started it. The folder must be there.
    ///
    /// # Errors
    ///
    /// When the file cannot be used, others can read or write it, or it holds no token.
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

    /// Adds a principal that is known by this token.
    ///
    /// # Errors
    ///
    /// When the name or the token is in the table already.
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
        // Of two names for one token a record could only name one, and it would be the wrong one at times.
        if let Some(other) = self.find(&digest) {
            return Err(TokensError::TokenTwice(other.name().to_owned(), name.to_owned()));
        }
        self.principals.push(Principal::new(name, scopes.into(), digest));
        Ok(self)
    }

    /// Adds a principal whose token stands in a file, and nothing else in it.
    ///
    /// # Errors
    ///
    /// When the file cannot be used, others can read or write it, it holds no token, or as [`Tokens::with`].
    pub fn with_file(
        self,
        name: &str,
        path: &Path,
        scopes: impl Into<Scopes>,
    ) -> Result<Self, TokensError> {
        self.with(name, &Token::from_file(path)?, scopes)
    }

    /// Adds a principal whose token stands in an environment variable.
    ///
    /// # Errors
    ///
    /// When the variable is not set or holds no token, or as [`Tokens::with`].
    pub fn with_variable(
        self,
        name: &str,
        variable: &str,
        scopes: impl Into<Scopes>,
    ) -> Result<Self, TokensError> {
        self.with(name, &Token::from_variable(variable)?, scopes)
    }

    /// The principal that is known by this token.
    pub fn authenticate(&self, bearer: &str) -> Option<&Principal> {
        self.find(&TokenDigest::of(bearer))
    }

    /// The principals, in the order in which they were added.
    pub fn principals(&self) -> impl Iterator<Item = &Principal> {
        self.principals.iter()
    }

    /// Whether the principal's token is here, with the scopes that it had.
    fn stands(&self, principal: &Principal) -> bool {
        self.find(&principal.digest).is_some_and(|found| found.scopes == principal.scopes)
    }

    /// Every entry is compared, found or not, so that the time does not tell which one it was.
    fn find(&self, digest: &TokenDigest) -> Option<&Principal> {
        self.principals.iter().fold(None, |found, principal| {
            if bool::from(principal.digest.is(digest)) { Some(principal) } else { found }
        })
    }
}

/// The tokens that count now. Clones share them, and a reload replaces them for all.
#[derive(Clone, Debug)]
pub struct TokenTable(Arc<watch::Sender<Tokens>>);

impl TokenTable {
    /// Starts with these tokens.
    pub fn new(tokens: Tokens) -> Self {
        Self(Arc::new(watch::Sender::new(tokens)))
    }

    /// Puts other tokens in their place, from the next request on.
    pub fn replace(&self, tokens: Tokens) {
        self.0.send_replace(tokens);
    }

    /// The principal that is known by this token now.
    pub fn authenticate(&self, bearer: &str) -> Option<Principal> {
        self.0.borrow().authenticate(bearer).cloned()
    }

    /// Ends when the principal's token has left the table or its scopes have changed: a stream that it opened ends
    /// then, too.
    pub async fn revoked(&self, principal: &Principal) {
        let mut tokens = self.0.subscribe();
        // The table cannot be dropped while `self` is borrowed, so there is no other way out.
        let _ = tokens.wait_for(|tokens| !tokens.stands(principal)).await;
    }
}

/// Why a table of tokens cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokensError {
    /// A file that cannot be used, or that others can read or write.
    #[error(transparent)]
    File(#[from] PrivateFileError),
    /// A file that is not there.
    #[error("there is no file {}", .0.display())]
    NoFile(PathBuf),
    /// A file that holds something else.
    #[error("{} holds no token", .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What a token looks like.
        source: NotAToken,
    },
    /// A variable that is not set.
    #[error("the environment variable {0} is not set")]
    NoVariable(String),
    /// A variable that holds something else.
    #[error("the environment variable {variable} holds no token")]
    Variable {
        /// The variable.
        variable: String,
        /// What a token looks like.
        source: NotAToken,
    },
    /// A name that stands twice.
    #[error("two tokens have the name {0}; give each its own")]
    NameTwice(String),
    /// A token that stands twice.
    #[error("{0} and {1} have the same token; make one of their own for each")]
    TokenTwice(String, String),
    /// The system gives no randomness.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}
