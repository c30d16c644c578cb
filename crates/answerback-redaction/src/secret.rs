use std::ops::Range;

use serde_json::Value;

/// The kind of a secret.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum SecretKind {
    /// An API key.
    ApiKey,
    /// The value of an `Authorization` header.
    Authorization,
    /// A cookie.
    Cookie,
    /// Several kinds together, such as a user with a password.
    Credentials,
    /// A hashed password, which can be attacked offline.
    PasswordHash,
    /// A password or passphrase.
    Password,
    /// A short number known to one person: PIN, one-time code, card check digits.
    Pin,
    /// A private key.
    PrivateKey,
    /// A shared secret.
    Secret,
    /// A bearer token of any vendor.
    Token,
    /// The rest of a text that was not searched, because the search used up its budget of steps.
    Unsearched,
}

impl SecretKind {
    /// Returns the text that replaces the secret, such as `[redacted: API key]`.
    pub const fn mark(self) -> &'static str {
        match self {
            Self::ApiKey => "[redacted: API key]",
            Self::Authorization => "[redacted: authorization]",
            Self::Cookie => "[redacted: cookie]",
            Self::Credentials => "[redacted: credentials]",
            Self::PasswordHash => "[redacted: password hash]",
            Self::Password => "[redacted: password]",
            Self::Pin => "[redacted: PIN]",
            Self::PrivateKey => "[redacted: private key]",
            Self::Secret => "[redacted: secret]",
            Self::Token => "[redacted: token]",
            Self::Unsearched => "[redacted: not searched]",
        }
    }
}

/// A secret inside a text.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SecretSpan {
    /// The byte range of the secret.
    pub range: Range<usize>,
    /// The kind of the secret.
    pub kind: SecretKind,
}

/// True if a value with the name of a secret must be redacted. `null`, booleans and empty values reveal nothing.
pub fn can_hold_a_secret(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}
