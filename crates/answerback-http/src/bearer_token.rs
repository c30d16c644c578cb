use std::env;
use std::fmt;
use std::path::Path;

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::{InvalidToken, NoRandomness, TokenSourceError, private_file};

/// The prefix of every token, so that people and secret scanners recognize one.
const PREFIX: &str = "ab_";
const RANDOM_BYTES: usize = 32;

/// A bearer token: `ab_` and 32 random bytes in base64url. It is never printed in debug output, and its memory is wiped
/// when it is dropped.
///
/// Only this form is accepted, even from users who bring their own token, because a self-made secret can be guessed.
#[derive(Clone)]
pub struct BearerToken(Zeroizing<String>);

impl BearerToken {
    /// Creates the token from these random bytes.
    pub fn new(random: &[u8; RANDOM_BYTES]) -> Self {
        let encoded = Zeroizing::new(BASE64URL_NOPAD.encode(random));
        Self(Zeroizing::new(format!("{PREFIX}{}", *encoded)))
    }

    /// Creates a new random token.
    ///
    /// # Errors
    ///
    /// If the operating system provides no random bytes.
    pub fn generate() -> Result<Self, NoRandomness> {
        let mut random = Zeroizing::new([0; RANDOM_BYTES]);
        getrandom::fill(&mut *random).map_err(|_| NoRandomness)?;
        Ok(Self::new(&random))
    }

    /// Parses the text of a token and ignores whitespace around it.
    ///
    /// # Errors
    ///
    /// If the text is not a token. The error does not contain the text, which may be another secret.
    pub fn parse(text: &str) -> Result<Self, InvalidToken> {
        let text = text.trim();
        let decoded = text
            .strip_prefix(PREFIX)
            .and_then(|encoded| BASE64URL_NOPAD.decode(encoded.as_bytes()).ok())
            .map(Zeroizing::new);
        match decoded {
            Some(random) if random.len() == RANDOM_BYTES => {
                Ok(Self(Zeroizing::new(text.to_owned())))
            }
            _ => Err(InvalidToken),
        }
    }

    /// Reads the token from a file that contains nothing else.
    ///
    /// # Errors
    ///
    /// If the file is missing or cannot be used, if others can read or write it, or if it contains no token.
    pub fn from_file(path: &Path) -> Result<Self, TokenSourceError> {
        let missing = || TokenSourceError::FileNotFound(path.to_owned());
        let text = private_file::read(path)?.ok_or_else(missing)?;
        Self::parse(&text)
            .map_err(|source| TokenSourceError::Content { path: path.to_owned(), source })
    }

    /// Reads the token from an environment variable.
    ///
    /// # Errors
    ///
    /// If the variable is not set or contains no token.
    pub fn from_variable(variable: &str) -> Result<Self, TokenSourceError> {
        let text = env::var(variable)
            .map_err(|_| TokenSourceError::VariableNotSet(variable.to_owned()))?;
        let text = Zeroizing::new(text);
        Self::parse(&text)
            .map_err(|source| TokenSourceError::Variable { variable: variable.to_owned(), source })
    }

    /// The text that a client sends. Show it only to the token's owner.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The digest that is stored in place of the token.
    pub(crate) fn digest(&self) -> TokenDigest {
        TokenDigest::of(&self.0)
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BearerToken(…)")
    }
}

/// The SHA-256 of a token's text. A fast hash is enough, because a token has 256 random bits.
#[derive(Clone, Copy)]
pub(crate) struct TokenDigest([u8; 32]);

impl TokenDigest {
    pub(crate) fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    pub(crate) const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A short name for the token's owner. It is too short to find the token from it.
    pub(crate) fn short_name(&self) -> String {
        HEXLOWER.encode(&self.0[..6])
    }

    /// Compares both digests in constant time.
    pub(crate) fn is(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TokenDigest(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reads_back_and_is_not_printed() {
        let token = BearerToken::new(&[7; 32]);
        assert_eq!(token.text(), "ab_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc");
        let read = BearerToken::parse(&format!(" {}\n", token.text())).unwrap();
        assert!(bool::from(read.digest().is(&token.digest())));
        assert_eq!(format!("{token:?} {:?}", token.digest()), "BearerToken(…) TokenDigest(…)");
        assert_ne!(
            BearerToken::generate().unwrap().text(),
            BearerToken::generate().unwrap().text()
        );
    }

    #[test]
    fn other_texts_are_refused() {
        let token = BearerToken::new(&[7; 32]);
        let encoded = token.text().strip_prefix(PREFIX).unwrap();
        let others =
            ["", "ab_", "password", encoded, &token.text()[..45], &format!("{}A", token.text())];
        for other in others {
            assert_eq!(BearerToken::parse(other).unwrap_err(), InvalidToken, "{other}");
        }
        // The last character has two unused bits, and only one spelling of them is valid.
        assert!(BearerToken::parse(&token.text().replace("Bwc", "Bwd")).is_err());
    }
}
