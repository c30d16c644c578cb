use std::fmt;
use std::sync::Arc;

use crate::bearer_token::TokenDigest;
use crate::{Scope, Scopes};

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
    pub(crate) fn into_person(mut self) -> Self {
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
    pub(crate) fn has_same_token(&self, other: &Self) -> bool {
        self.digest.is(&other.digest).into()
    }

    /// An id that differs for every token and cookie, even for the same person in two browsers. The token
    /// cannot be derived from it.
    pub fn id(&self) -> String {
        self.digest.short_name()
    }

    /// The principal's name in the configuration, in logs and in records.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if the principal has this scope.
    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.allow(scope)
    }

    /// The granted scopes.
    pub fn scopes(&self) -> Scopes {
        self.scopes
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Principal({:?}, {})", self.name, self.scopes)
    }
}
