//! Checks each request before a handler sees it, in this order: host, origin, site, token, scope, size.
//!
//! The host comes first because of DNS rebinding. For the browser, a page whose name was rebound to our address has our
//! origin. Its reads have no `Origin` and are not cross-site, so only the host reveals them.

use std::net::SocketAddr;

use answerback::contract::atdf::ErrorBuilder;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use crate::auth_failure_delay::AuthFailureDelay;
use crate::not_found_page::NotFoundPage;
use crate::{BrowserSessions, Principal, Problem, ProblemKind, Scope, TokenTable};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The rule that says which callers may use a route.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access {
    /// Every client that can reach the server.
    Open,
    /// Every client with a token, and browsers without one that request a page.
    AnyToken(Option<NotFoundPage>),
    /// Every client whose token has the scope.
    Scope(Scope),
}

impl Access {
    /// True if this request needs no token.
    fn is_open_to(self, parts: &Parts) -> bool {
        match self {
            Self::Open => true,
            Self::AnyToken(page) => page.is_some_and(|page| page.applies_to(parts)),
            Self::Scope(_) => false,
        }
    }
}

/// Holds the hosts, origins and tokens that the server accepts.
///
/// By default it accepts the loopback names and the listening address, each with its port, and pages of these hosts.
/// Behind a proxy, add the public name: `with_host("answers.example")?.with_origin("https://answers.example")?`.
#[derive(Debug)]
#[must_use]
pub struct Guard {
    pub(crate) tokens: TokenTable,
    pub(crate) sessions: Option<BrowserSessions>,
    cookie: String,
    hosts: Vec<String>,
    origins: Vec<String>,
    failure_delay: AuthFailureDelay,
}

impl Guard {
    /// Creates a guard that accepts these tokens.
    pub fn new(tokens: TokenTable) -> Self {
        let failure_delay = AuthFailureDelay::default();
        let (sessions, cookie, hosts, origins) = (None, String::new(), Vec::new(), Vec::new());
        Self { tokens, sessions, cookie, hosts, origins, failure_delay }
    }

    /// Also accepts the cookies of these sessions.
    pub fn with_sessions(mut self, sessions: BrowserSessions) -> Self {
        self.sessions = Some(sessions);
        self
    }

    /// Also accepts requests for this host: `name` or `name:port`, exactly as clients send it.
    ///
    /// # Errors
    ///
    /// If the text is not a host.
    pub fn with_host(mut self, host: &str) -> Result<Self, GuardError> {
        let is_host =
            host.parse::<Authority>().is_ok_and(|authority| !authority.as_str().contains('@'));
        if !is_host {
            return Err(GuardError::Host(host.to_owned()));
        }
        self.hosts.push(host.to_owned());
        Ok(self)
    }

    /// Also accepts requests from pages of this origin, such as `https://answers.example`.
    ///
    /// # Errors
    ///
    /// If the text is not an origin. An origin has no path, no slash at the end and no `*`.
    pub fn with_origin(mut self, origin: &str) -> Result<Self, GuardError> {
        let is_origin = origin.split_once("://").is_some_and(|(scheme, authority)| {
            matches!(scheme, "http" | "https")
                && authority.parse::<Authority>().is_ok()
                && !authority.contains(['@', '*'])
        });
        if !is_origin {
            return Err(GuardError::Origin(origin.to_owned()));
        }
        self.origins.push(origin.to_owned());
        Ok(self)
    }

    /// Accepts requests for the listening address, and for the loopback names with its port.
    pub(crate) fn listening_on(mut self, address: SocketAddr) -> Self {
        let port = address.port();
        self.cookie = cookie_name(port);
        let mut names = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned).to_vec();
        // Clients cannot send requests to `0.0.0.0` or `[::]`.
        if !address.ip().is_unspecified() && !address.ip().is_loopback() {
            names.push(match address {
                SocketAddr::V4(address) => address.ip().to_string(),
                SocketAddr::V6(address) => format!("[{}]", address.ip()),
            });
        }
        for name in names {
            self.hosts.push(format!("{name}:{port}"));
            // Clients omit the default port.
            if port == 80 {
                self.hosts.push(name);
            }
        }
        self
    }

    /// Checks the request and returns its principal. Returns `None` if the route needs no token.
    pub(crate) async fn admit(
        &self,
        parts: &Parts,
        access: Access,
    ) -> Result<Option<Principal>, Problem> {
        let host = self.check_host(parts)?;
        self.check_origin(&parts.headers, host)?;
        self.check_site(parts, access)?;
        if access.is_open_to(parts) {
            return Ok(None);
        }
        check_encoding(&parts.headers)?;
        let scope = match access {
            Access::Scope(scope) => Some(scope),
            Access::Open | Access::AnyToken(_) => None,
        };
        let principal = self.authenticate(&parts.headers).await?;
        match scope {
            Some(scope) if !principal.has(scope) => Err(scope_missing(scope)),
            _ => Ok(Some(principal)),
        }
    }

    /// Checks that the request is for one of our hosts.
    /// The response is 421, which means that this server does not answer for that host (RFC 9110, 15.5.20). MCP
    /// requires 403 for a wrong origin but leaves the host to us. Its SDKs answer 421, too.
    fn check_host<'p>(&self, parts: &'p Parts) -> Result<&'p str, Problem> {
        let host = single_header(&parts.headers, header::HOST)
            .ok_or_else(|| Problem::new(ProblemKind::BadRequest))?;
        // In `GET http://other/ HTTP/1.1` the target counts and the header does not (RFC 9112, 3.2.2). Both must be
        // ours, so that no later code needs to know the rule.
        let target = parts.uri.authority().map(Authority::as_str);
        let is_ours = |host: &str| self.hosts.iter().any(|ours| ours.eq_ignore_ascii_case(host));
        if is_ours(host) && target.is_none_or(is_ours) {
            Ok(host)
        } else {
            Err(Problem::new(ProblemKind::Misdirected))
        }
    }

    fn check_origin(&self, headers: &HeaderMap, host: &str) -> Result<(), Problem> {
        // Clients that are not browsers send no origin. They still need a token.
        if !headers.contains_key(header::ORIGIN) {
            return Ok(());
        }
        let is_same = |origin: &str| {
            origin.strip_prefix("http://").is_some_and(|origin| origin.eq_ignore_ascii_case(host))
        };
        let is_allowed = single_header(headers, header::ORIGIN)
            .is_some_and(|origin| is_same(origin) || self.is_configured(origin));
        if is_allowed { Ok(()) } else { Err(origin_not_allowed()) }
    }

    /// Rejects requests from other sites.
    /// Browsers send `Sec-Fetch-Site` even where they send no origin: for images, scripts, forms and links. A foreign
    /// page may link to an open page and do nothing else. A page on another port of this machine is foreign, too,
    /// although browsers call it the same site.
    fn check_site(&self, parts: &Parts, access: Access) -> Result<(), Problem> {
        let is_ours = match single_header(&parts.headers, SEC_FETCH_SITE) {
            Some(site) => matches!(site, "same-origin" | "none"),
            None => !parts.headers.contains_key(SEC_FETCH_SITE),
        };
        let is_link = access.is_open_to(parts)
            && matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS);
        let is_configured = single_header(&parts.headers, header::ORIGIN)
            .is_some_and(|origin| self.is_configured(origin));
        if is_ours || is_link || is_configured { Ok(()) } else { Err(cross_site()) }
    }

    fn is_configured(&self, origin: &str) -> bool {
        self.origins.iter().any(|ours| ours.eq_ignore_ascii_case(origin))
    }

    async fn authenticate(&self, headers: &HeaderMap) -> Result<Principal, Problem> {
        let principal = if headers.contains_key(header::AUTHORIZATION) {
            bearer(headers).and_then(|text| self.tokens.authenticate(text))
        } else if let Some((sessions, text)) =
            self.sessions.as_ref().zip(cookie(headers, &self.cookie))
        {
            sessions.authenticate(text)
        } else {
            // A request without a token is not a guess, so it gets its response without delay.
            return Err(unauthenticated("Bearer"));
        };
        if let Some(principal) = principal {
            return Ok(principal);
        }
        if self.failure_delay.wait().await {
            Err(unauthenticated("Bearer error=\"invalid_token\""))
        } else {
            Err(Problem::new(ProblemKind::TooManyRequests).with_retry_after(1))
        }
    }
}

/// Rejects a compressed body. Handlers cannot decompress it, so they would report it as malformed.
fn check_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    let is_identity = |value: &HeaderValue| {
        let names = value.to_str().map(|names| names.split(',').map(str::trim));
        names.is_ok_and(|mut names| {
            names.all(|name| name.is_empty() || name.eq_ignore_ascii_case("identity"))
        })
    };
    if codings.all(is_identity) {
        return Ok(());
    }
    let error = ErrorBuilder::new(
        "UNSUPPORTED_MEDIA_TYPE",
        "The body has a content coding that is not supported",
        "Content-Encoding",
    )
    .condition("The header Content-Encoding is absent or identity")
    .solution("Send the body without compression");
    let problem = Problem::from_error(ProblemKind::UnsupportedMediaType, error);
    // Names the encoding that the server accepts (RFC 9110, 15.5.16).
    Err(problem.with_header(header::ACCEPT_ENCODING, HeaderValue::from_static("identity")))
}

/// Reads a header as text. The result is `None` unless the header occurs exactly once.
fn single_header(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() { None } else { value.to_str().ok() }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = single_header(headers, header::AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Names the session cookie of a server. Browsers share cookies between all ports of a host, so the name
/// contains the port.
pub fn cookie_name(port: u16) -> String {
    format!("answerback_{port}")
}

/// Reads the cookie with this name. The result is `None` if there are two, because a browser sends only one.
fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut values = lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(found, _)| *found == name)
        .map(|(_, value)| value);
    let value = values.next()?;
    if values.next().is_some() { None } else { Some(value) }
}

fn unauthenticated(challenge: &'static str) -> Problem {
    Problem::new(ProblemKind::Unauthenticated)
        .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
}

fn origin_not_allowed() -> Problem {
    let error = ErrorBuilder::new(
        "ORIGIN_NOT_ALLOWED",
        "Pages of this origin may not send requests here",
        "Origin",
    )
    .condition("The header Origin is absent, the server's own, or one that was configured")
    .solution("Open the server's own pages, or ask the operator to configure the origin");
    Problem::from_error(ProblemKind::Forbidden, error)
}

fn cross_site() -> Problem {
    let error = ErrorBuilder::new(
        "CROSS_SITE",
        "Pages of other sites may not send requests here",
        "Sec-Fetch-Site",
    )
    .condition("The header Sec-Fetch-Site is absent, same-origin or none")
    .solution("Open the server's own pages, or use a program that is not a browser");
    Problem::from_error(ProblemKind::Forbidden, error)
}

fn scope_missing(scope: Scope) -> Problem {
    let error = ErrorBuilder::new(
        "SCOPE_MISSING",
        format!("The token lacks the scope {scope}"),
        "Authorization",
    )
    .condition(format!("The token has the scope {scope}"))
    .constraint("scope", scope.as_str())
    .solution(format!("Use a token that was granted {scope}, or ask the operator to grant it"));
    let problem = Problem::from_error(ProblemKind::Forbidden, error);
    let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
    match HeaderValue::try_from(challenge) {
        Ok(challenge) => problem.with_header(header::WWW_AUTHENTICATE, challenge),
        Err(_) => problem,
    }
}

/// A setting that a [`Guard`] rejects.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// The text is not a host.
    #[error(
        "{0:?} is not a host; write a name, or a name and a port, such as answers.example:8443"
    )]
    Host(String),
    /// The text is not an origin.
    #[error(
        "{0:?} is not an origin; write a scheme and a host without a path, such as https://answers.example"
    )]
    Origin(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tokens;

    fn guard() -> Guard {
        Guard::new(TokenTable::new(Tokens::new()))
    }

    #[test]
    fn the_hosts_of_an_address() {
        let hosts = |address: &str| guard().listening_on(address.parse().unwrap()).hosts.join(" ");
        assert_eq!(hosts("127.0.0.1:8080"), "127.0.0.1:8080 localhost:8080 [::1]:8080");
        assert_eq!(hosts("0.0.0.0:8080"), hosts("127.0.0.1:8080"));
        assert_eq!(
            hosts("[fd00::7]:8080"),
            "127.0.0.1:8080 localhost:8080 [::1]:8080 [fd00::7]:8080"
        );
        assert_eq!(
            hosts("127.0.0.1:80"),
            "127.0.0.1:80 127.0.0.1 localhost:80 localhost [::1]:80 [::1]"
        );
    }

    #[test]
    fn invalid_hosts_and_origins_are_rejected() {
        for host in ["", "a b", "http://a.example", "user@a.example", "a.example/"] {
            assert_eq!(guard().with_host(host).unwrap_err(), GuardError::Host(host.into()));
        }
        let origins =
            ["", "*", "null", "a.example", "https://", "https://a.example/", "ftp://a.example"];
        for origin in origins.into_iter().chain(["https://*.example", "https://u@a.example"]) {
            assert_eq!(guard().with_origin(origin).unwrap_err(), GuardError::Origin(origin.into()));
        }
        assert!(
            guard().with_host("a.example:8443").unwrap().with_origin("https://a.example").is_ok()
        );
    }
}
