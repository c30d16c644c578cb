//! Describes a server that is reached over HTTP.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Uri, uri::Scheme};

use super::connection_pool::{ConnectionPool, SendError};
use super::dialer::Dialer;
use super::direct_requests::HttpDirectSender;
use super::http_upstream::HttpUpstream;
use super::link_task;
use crate::link::{DirectPath, Link, ServerEnd};

/// Describes a server by its URL, headers and timeouts.
#[derive(Clone)]
#[must_use]
pub struct Remote {
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) timeouts: Timeouts,
    url: String,
    dial: Dialer,
}

/// Limits the waits for a server over HTTP.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "there is nothing else to wait for")]
pub struct Timeouts {
    /// The longest wait for a connection: DNS, TCP and TLS together.
    pub connect: Duration,
    /// The longest wait for the next bytes of a response. Streams for messages from the server are exempt.
    pub idle: Duration,
}

impl Default for Timeouts {
    /// Allows ten seconds to connect and five minutes of silence. A long call need not send anything while it
    /// runs.
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), idle: Duration::from_mins(5) }
    }
}

/// Reports why a server over HTTP cannot be configured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The text is not a URL.
    #[error("not a URL: {0}")]
    NotUrl(#[source] http::uri::InvalidUri),
    /// The URL's scheme is neither http nor https.
    #[error("the URL of a server begins with http:// or https://")]
    Scheme,
    /// The URL contains a user or a password, which logs and other programs could read.
    #[error("a URL with a user or password in it is not taken: use a header")]
    Credentials,
    /// The URL needs TLS, but this program was built without it.
    #[error("this program was built without TLS, which https needs")]
    NoTls,
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    /// HTTP does not allow the header's name or value. The error does not contain the value.
    #[error("HTTP does not allow the header {0:?}, or its value")]
    Header(String),
    /// The transport sets this header itself.
    #[error("the header {0} is set by the transport")]
    OwnHeader(HeaderName),
}

impl Remote {
    /// Creates a server with this URL.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL is not http or https, or contains a user or a password.
    pub fn new(url: &str) -> Result<Self, RemoteError> {
        let uri: Uri = url.parse().map_err(RemoteError::NotUrl)?;
        let is_secure = uri.scheme() == Some(&Scheme::HTTPS);
        if !is_secure && uri.scheme() != Some(&Scheme::HTTP) {
            return Err(RemoteError::Scheme);
        }
        let authority = uri.authority().ok_or(RemoteError::Scheme)?;
        if authority.as_str().contains('@') {
            return Err(RemoteError::Credentials);
        }
        if is_secure && cfg!(not(feature = "tls")) {
            return Err(RemoteError::NoTls);
        }
        let scheme = if is_secure { "https" } else { "http" };
        let url = format!("{scheme}://{authority}{}", uri.path());
        let (headers, timeouts) = (HeaderMap::new(), Timeouts::default());
        Ok(Self { uri, headers, timeouts, url, dial: Dialer::new()? })
    }

    /// Adds this header to every request. Its value is treated as a secret.
    ///
    /// # Errors
    ///
    /// Returns an error if HTTP does not allow the name or the value, or if the transport sets the header itself.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, RemoteError> {
        let refused = || RemoteError::Header(name.to_owned());
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| refused())?;
        if is_transport_header(&header) {
            return Err(RemoteError::OwnHeader(header));
        }
        value.set_sensitive(true);
        self.headers.insert(header, value);
        Ok(self)
    }

    /// Sets the timeouts.
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Returns the URL without its query, which may hold a secret. It is safe to display.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Posts a JSON document that is not an MCP message. Returns the status of the response and ignores its body.
    ///
    /// # Errors
    ///
    /// Returns the reason if there was no response.
    pub async fn post(&self, json: String) -> Result<http::StatusCode, String> {
        let mut request = http::Request::new(http_body_util::Full::new(bytes::Bytes::from(json)));
        *request.method_mut() = http::Method::POST;
        *request.headers_mut() = self.headers.clone();
        let kind = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, kind);
        match self.connection_pool().send(request).await {
            Ok(answer) => Ok(answer.status()),
            Err(SendError::Unreached(error)) => Err(error.to_string()),
            Err(SendError::Broke(error)) => Err(error.to_string()),
        }
    }

    fn connection_pool(&self) -> ConnectionPool {
        ConnectionPool::new(self.dial.within(self.timeouts.connect), &self.uri)
    }

    /// Opens a link. A connection is made when there is something to send. If the server cannot be reached, each
    /// request is answered with an error. Messages of the server may have at most `max_bytes` bytes.
    ///
    /// The link ends by itself when the server no longer knows the session.
    ///
    /// This must be called within a tokio runtime.
    pub fn connect(&self, name: &str, max_bytes: usize) -> Link {
        let (mut link, ServerEnd { from_client, to_client }) = Link::pair();
        let server = Arc::new(HttpUpstream::new(
            name,
            self.clone(),
            self.connection_pool(),
            max_bytes,
            to_client,
        ));
        let direct_requests = Arc::default();
        link.direct = DirectPath::new(HttpDirectSender {
            server: Arc::downgrade(&server),
            requests: Arc::clone(&direct_requests),
        });
        tokio::spawn(link_task::run(server, from_client, direct_requests));
        link
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.keys().map(HeaderName::as_str).collect();
        let mut debug = formatter.debug_struct("Remote");
        debug.field("url", &self.url).field("headers", &headers);
        debug.field("timeouts", &self.timeouts).finish_non_exhaustive()
    }
}

/// Returns true if the transport sets this header itself.
fn is_transport_header(name: &HeaderName) -> bool {
    let transport_headers = [
        header::ACCEPT,
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::CONTENT_TYPE,
        header::HOST,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
    ];
    transport_headers.contains(name) || name == "last-event-id" || name.as_str().starts_with("mcp-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_are_taken() {
        for (url, debug) in [
            ("http://localhost:8000/mcp", "http://localhost:8000/mcp"),
            ("http://[::1]:80", "http://[::1]:80/"),
            ("HTTP://localhost/mcp?token=s3cret#part", "http://localhost/mcp"),
        ] {
            assert_eq!(Remote::new(url).unwrap().url(), debug);
        }
        assert_eq!(Remote::new("https://localhost/mcp").is_ok(), cfg!(feature = "tls"));
    }

    #[test]
    fn urls_that_are_refused() {
        let output: String = [
            "",
            "/mcp",
            "localhost:80",
            "ftp://localhost/",
            "http://u:p4ss@localhost/",
            "http://a b/",
        ]
        .into_iter()
        .map(|url| format!("{url}: {}\n", Remote::new(url).unwrap_err()))
        .collect();
        insta::assert_snapshot!(output, @r#"
        : not a URL: empty string
        /mcp: the URL of a server begins with http:// or https://
        localhost:80: the URL of a server begins with http:// or https://
        ftp://localhost/: the URL of a server begins with http:// or https://
        http://u:p4ss@localhost/: a URL with a user or password in it is not taken: use a header
        http://a b/: not a URL: invalid uri character
        "#);
    }

    #[test]
    fn headers_are_checked_and_their_values_never_shown() {
        let remote = || Remote::new("http://localhost/mcp?key=s3cret").unwrap();
        let with = remote().with_header("Authorization", "Bearer s3cret").unwrap();
        insta::assert_snapshot!(format!("{with:?}"), @r#"Remote { url: "http://localhost/mcp", headers: ["authorization"], timeouts: Timeouts { connect: 10s, idle: 300s }, .. }"#);
        let output: String = [
            ("a b", "s3cret"),
            ("X-Key", "s3cret\n"),
            ("Mcp-Session-Id", "s3cret"),
            ("host", "s3cret"),
        ]
        .into_iter()
        .map(|(name, value)| format!("{}\n", remote().with_header(name, value).unwrap_err()))
        .collect();
        insta::assert_snapshot!(output, @r#"
        HTTP does not allow the header "a b", or its value
        HTTP does not allow the header "X-Key", or its value
        the header mcp-session-id is set by the transport
        the header host is set by the transport
        "#);
    }
}
