use std::fmt;
use std::str::FromStr;

/// A permission of a token.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Scope {
    /// Allows calls of tools through the gateway.
    Call,
    /// Allows submitting replies and publishing to live streams.
    Ingest,
    /// Allows reading everything that was recorded.
    Read,
    /// Allows deciding cases.
    Decide,
    /// Allows operating the server: reload, settings and sessions.
    Admin,
}

impl Scope {
    /// Every scope, in the order in which sets are printed.
    pub const ALL: [Self; 5] = [Self::Call, Self::Ingest, Self::Read, Self::Decide, Self::Admin];

    /// The name of the scope in configurations and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Ingest => "ingest",
            Self::Read => "read",
            Self::Decide => "decide",
            Self::Admin => "admin",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(name: &str) -> Result<Self, UnknownScope> {
        let scope = Self::ALL.into_iter().find(|scope| scope.as_str() == name);
        scope.ok_or_else(|| UnknownScope(name.chars().take(32).collect()))
    }
}

/// A set of granted scopes.
///
/// ```
/// use answerback_http::{Scope, Scopes};
///
/// let scopes: Scopes = "read, decide".parse()?;
/// assert!(scopes.allow(Scope::Decide) && !scopes.allow(Scope::Call));
/// assert!(!Scopes::from(Scope::Admin).allow(Scope::Decide));
/// # Ok::<(), answerback_http::UnknownScope>(())
/// ```
#[derive(Clone, Copy, Default, Eq, PartialEq)]
pub struct Scopes(u8);

impl Scopes {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Adds a scope to the set.
    #[must_use]
    pub const fn with(self, scope: Scope) -> Self {
        Self(self.0 | scope.bit())
    }

    /// True if the set allows this scope.
    ///
    /// `admin` allows everything but decisions. A decision is recorded in a person's name, so that right must be
    /// granted explicitly. Operating the server does not include speaking for its users.
    pub const fn allow(self, scope: Scope) -> bool {
        let admin = !matches!(scope, Scope::Decide) && self.0 & Scope::Admin.bit() != 0;
        admin || self.0 & scope.bit() != 0
    }

    /// Iterates over the scopes that were granted explicitly.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.0 & scope.bit() != 0)
    }
}

impl From<Scope> for Scopes {
    fn from(scope: Scope) -> Self {
        Self::NONE.with(scope)
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        scopes.into_iter().fold(Self::NONE, Self::with)
    }
}

impl<const N: usize> From<[Scope; N]> for Scopes {
    fn from(scopes: [Scope; N]) -> Self {
        scopes.into_iter().collect()
    }
}

impl FromStr for Scopes {
    type Err = UnknownScope;

    /// Parses names that are separated by commas or spaces.
    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        let words = text.split([',', ' ']).filter(|word| !word.is_empty());
        words.map(str::parse).collect()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, scope) in self.iter().enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            write!(formatter, "{separator}{scope}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Scopes({self})")
    }
}

/// A name that is not a scope.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("unknown scope {0:?}; a scope is call, ingest, read, decide or admin")]
pub struct UnknownScope(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for scope in Scope::ALL {
            assert_eq!(scope.to_string().parse(), Ok(scope));
        }
        let scopes: Scopes = "decide read,,call".parse().unwrap();
        assert_eq!(scopes.to_string(), "call, read, decide");
        assert_eq!(scopes.to_string().parse(), Ok(scopes));
        assert_eq!("".parse(), Ok(Scopes::NONE));
        insta::assert_snapshot!(
            "read, root".parse::<Scopes>().unwrap_err(),
            @r#"unknown scope "root"; a scope is call, ingest, read, decide or admin"#
        );
    }

    #[test]
    fn each_scope_allows_its_own_requests() {
        let table: Vec<String> = Scope::ALL
            .into_iter()
            .map(|granted| {
                let allowed =
                    Scope::ALL.into_iter().filter(|asked| Scopes::from(granted).allow(*asked));
                format!("{granted}: {}", allowed.collect::<Scopes>())
            })
            .collect();
        insta::assert_snapshot!(table.join("\n"), @r"
        call: call
        ingest: ingest
        read: read
        decide: decide
        admin: call, ingest, read, admin
        ");
        assert!(Scopes::from([Scope::Admin, Scope::Decide]).allow(Scope::Decide));
        assert!(Scope::ALL.into_iter().all(|scope| !Scopes::NONE.allow(scope)));
    }
}
